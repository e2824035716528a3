/**
 * The strict reader against `JSON.parse` and `JSON.stringify`, as ratios of medians (below 1 is faster than native).
 *
 * Run by hand: `node --conditions=@errand/source packages/protocol/bench/json.ts`.
 */
import { Frame, Json, Requests, Wire } from "@errand/protocol"
import * as Result from "effect/Result"

const identity = Array.from({ length: 4 }, () => crypto.randomUUID())

const frame = (text: string, structured?: unknown): string =>
  JSON.stringify({
    id: "result-17",
    method: "client.tool.result",
    params: {
      instance_id: identity[0],
      session_id: identity[1],
      run_id: identity[2],
      call_id: identity[3],
      task_id: null,
      subagent_id: null,
      status: "success",
      text,
      ...(structured === undefined ? {} : { structured })
    }
  })

const prose = (bytes: number): string =>
  "The quick brown fox jumps over the lazy dog, twice.\n".repeat(bytes / 52 + 1).slice(0, bytes)

const records = (bytes: number): ReadonlyArray<unknown> => {
  const rows: Array<unknown> = []
  for (let size = 0; size < bytes; size += JSON.stringify(rows.at(-1)).length + 1) {
    const i = rows.length
    rows.push({ id: i, name: `record ${i}`, price: i * 1.25, tags: ["a", "b"], active: i % 2 === 0, parent: null })
  }
  return rows
}

const inputs: Record<string, string> = {
  "200 B text": frame("ok"),
  "4 KiB text": frame(prose(3700)),
  "4 KiB records": frame("ok", records(3700)),
  "32 KiB text": frame(prose(32_000)),
  "32 KiB records": frame("ok", records(32_000)),
  "32 KiB é text": frame("Größe é ".repeat(3500))
}

const options = { opaque: Wire.inRequests }

const decoder = new Frame.FrameDecoder(65_536)

const subjects: Record<string, (text: string, bytes: Uint8Array) => unknown> = {
  "native": (text) => JSON.parse(text),
  "parse": (text) => Json.parse(text, options),
  "parse (all built)": (text) => Json.parse(text),
  "read": (text) => Json.read(text),
  "compact": (text) => Json.compact(text),
  "frame to params": (_, bytes) => {
    decoder.push(bytes)
    const item = decoder.next()
    if (item?._tag !== "Frame") throw new Error("no frame")
    const request = Wire.decodeRequest(Result.getOrThrow(Json.parse(item.text, options)))
    return Requests.decodeParams("client.tool.result", Result.getOrThrow(request).params)
  }
}

const encoder = new TextEncoder()

/** Text as a decoder makes it: flat, and not yet hashed. */
const measure = (run: (text: string, bytes: Uint8Array) => unknown, text: string, rounds: number): number => {
  const bytes = encoder.encode(`${text}\n`)
  const flat = new TextDecoder().decode(bytes.subarray(0, -1))
  const begin = process.hrtime.bigint()
  for (let i = 0; i < rounds; i++) run(flat, bytes)
  return Number(process.hrtime.bigint() - begin) / rounds / 1000
}

const median = (values: Array<number>): number => values.sort((a, b) => a - b)[values.length >> 1]!

const lines = Object.entries(inputs).map(([name, text]) => {
  const rounds = Math.ceil(4_000_000 / text.length / 4)
  const times = new Map<string, Array<number>>(Object.keys(subjects).map((subject) => [subject, []]))
  for (let round = 0; round < 9; round++) {
    for (const [subject, run] of Object.entries(subjects)) {
      const time = measure(run, text, rounds)
      if (round >= 2) times.get(subject)!.push(time)
    }
  }
  const native = median(times.get("native")!)
  const ratios = Object.keys(subjects).slice(1).map((subject) =>
    `${subject} ${(median(times.get(subject)!) / native).toFixed(2)}`
  )
  return `${name.padEnd(16)} native ${native.toFixed(1)} us; ${ratios.join(", ")}`
})
process.stdout.write(`${lines.join("\n")}\n`)
