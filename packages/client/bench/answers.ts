/**
 * What one answered call costs in the client, without pipes: this client's typed and raw tools beside a client that only
 * splits lines, parses and stringifies. Run: `node --conditions=@errand/source packages/client/bench/answers.ts`.
 */
import { Effect, Schema } from "effect"
import { make, Tool } from "../src/index.ts"
import type * as Transport from "../src/Transport.ts"
import { callData, FakeServer } from "../test/FakeServer.ts"

const calls = 2000
const inFlight = 16

const args = (bytes: number) => JSON.stringify({ record_id: "7", filler: "x".repeat(bytes) })

/** A client without an envelope check, a schema or a fiber. */
const bare = (write: (text: string) => void) => {
  const decoder = new TextDecoder()
  let id = 0
  return (chunk: Uint8Array) => {
    let out = ""
    for (const line of decoder.decode(chunk).split("\n")) {
      if (line === "") continue
      const frame = JSON.parse(line)
      if (frame.event !== "client.tool.call") continue
      const { arguments: given, name: _name, timeout_ms: _timeout, ...identity } = frame.data
      const params = { instance_id: frame.instance_id, ...identity, status: "success", text: "", structured: given }
      out += `${JSON.stringify({ id: `e${++id}`, method: "client.tool.result", params })}\n`
    }
    if (out !== "") write(out)
  }
}

/** Sends batches of calls, acknowledges the answers, and gives the microseconds that the client took for each call. */
const measure = (
  deliver: (chunk: Uint8Array) => void,
  taken: () => ReadonlyArray<string>,
  size: number,
  seq: () => number
) => {
  const body = args(size)
  let spent = 0
  const timed = (text: string) => {
    const chunk = Buffer.from(text)
    const begun = performance.now()
    deliver(chunk)
    spent += performance.now() - begun
  }
  for (let done = 0; done < calls; done += inFlight) {
    let chunk = ""
    for (let i = 0; i < inFlight; i++) {
      const data = callData(`c-${done + i}`, "client__echo", body)
      chunk += `{"event":"client.tool.call","instance_id":"i-1","seq":${seq()},"data":${data}}\n`
    }
    timed(chunk)
    const ids = taken().flatMap((text) => [...text.matchAll(/^\{"id":"(e\d+)"/gm)].map((match) => match[1]!))
    if (ids.length !== inFlight) throw new Error(`${ids.length} answers`)
    timed(ids.map((id) => `{"id":"${id}","instance_id":"i-1","result":{"accepted":true}}\n`).join(""))
  }
  return spent * 1000 / calls
}

const schema = Schema.Struct({ record_id: Schema.String, filler: Schema.String })
const typed = Tool.make("echo", { description: "d", parameters: schema, success: schema }).handle((value) =>
  Effect.succeed(value)
)
const raw = Tool.raw("echo", { description: "d", parameters: { type: "object" } }).handle((text) =>
  Effect.succeed(text)
)

const ours = (tool: typeof typed | typeof raw, size: number) =>
  Effect.gen(function*() {
    const fake = new FakeServer({ limits: { request_ids: 1_000_000 } })
    const writes: Array<string> = []
    let server: Transport.MemoryServer | undefined
    let initialized = false
    const source = fake.source
    const tapped = Effect.map(source, (transport): Transport.Transport => ({
      ...transport,
      write: (text) => initialized ? void writes.push(text) : transport.write(text),
      start: (receiver) => {
        server = { send: (chunk) => receiver.received(chunk as Uint8Array), exit: () => {} }
        transport.start(receiver)
      }
    }))
    yield* make({ server: tapped, tools: [tool] })
    yield* Effect.sleep(1)
    initialized = true
    let seq = 0
    const taken = () => writes.splice(0)
    return () => measure((chunk) => server!.send(chunk), taken, size, () => ++seq)
  })

await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  for (const size of [100, 4000, 15_000]) {
    const writes: Array<string> = []
    let seq = 0
    const deliver = bare((text) => writes.push(text))
    const runs = {
      bare: () => measure(deliver, () => writes.splice(0), size, () => ++seq),
      raw: yield* ours(raw, size),
      typed: yield* ours(typed, size)
    }
    const rows = Object.entries(runs).map(([name, run]) =>
      [name, Math.min(...Array.from({ length: 15 }, run))] as const
    )
    process.stdout.write(`${size} B: ${rows.map(([name, us]) => `${name} ${us.toFixed(1)} us`).join(", ")}\n`)
  }
})))
