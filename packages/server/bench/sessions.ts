/**
 * What stored sessions cost: opening a long one against reading and parsing the same texts from a plain file, appends
 * alone and sixteen at a time, pages and lists. `node --conditions=@errand/source packages/server/bench/sessions.ts`
 */
import type { JsonText } from "@errand/protocol"
import type { Record } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { SessionStore } from "../src/SessionStore.ts"

const ENTRIES = 10_000
const ROUNDS = 9

const home = fs.mkdtempSync(Path.join(tmpdir(), "errand-bench-"))
const show = (what: string, values: Array<number>, unit = "ms") => {
  const sorted = values.sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(2)
  process.stdout.write(`${what.padEnd(58)} p50 ${at(0.5)} p99 ${at(0.99)} ${unit}\n`)
}
const clock = () => performance.now()
const timed = <A, E, R>(values: Array<number>, effect: Effect.Effect<A, E, R>, now = clock) =>
  Effect.suspend(() => {
    const from = now()
    return Effect.tap(effect, () => Effect.sync(() => values.push(now() - from)))
  })

/** Processor time, which other load on the machine changes less than the clock's. */
const processor = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

/** One turn: a prompt, two calls with results of some length, an answer, an end; six entries. */
const turn = (i: number): Array<Array<Record>> => {
  const run = { runId: `run-${i}`, taskId: null, subagentId: null }
  const messageId = `message-${i}`
  const calls = ["a", "b"].map((name) => ({ id: `${name}${i}`, name: `client__${name}`, arguments: `{"n":${i}}` }))
  return [
    [{ kind: "user", ...run, text: `prompt ${i} ${"word ".repeat(40)}` }],
    [{ kind: "assistant", ...run, messageId, text: "I look it up.", toolCalls: calls }],
    calls.map((call, index): Record => ({
      kind: "result",
      ...run,
      messageId,
      index,
      activityId: `activity-${call.id}`,
      id: call.id,
      name: call.name,
      outcome: "success",
      content: JSON.stringify({ text: `line of "text" ${i}\n`.repeat(40) }) as JsonText
    })),
    [{ kind: "assistant", ...run, messageId: `end-${i}`, text: `It is so. ${"word ".repeat(60)}`, toolCalls: [] }],
    [{ kind: "run", ...run, status: "completed", error: null }]
  ]
}

const program = Effect.gen(function*() {
  const store = yield* SessionStore
  const session = yield* store.create
  const plain = Path.join(home, "plain.jsonl")
  const descriptor = fs.openSync(plain, "w")
  for (let i = 0; session.entries() < ENTRIES; i++) {
    const records = turn(i).flat()
    yield* session.history.append(records)
    for (const record of records) fs.writeSync(descriptor, `${JSON.stringify(record)}\n`)
  }
  fs.closeSync(descriptor)
  yield* session.close
  show("session of 10,000 entries, as plain text", [fs.statSync(plain).size / 1e6], "MB")

  const [opens, reads, ratios]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    const read = Effect.sync(() => fs.readFileSync(plain, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)))
    yield* timed(reads, read, processor)
    const opened = yield* timed(opens, store.open(session.sessionId), processor)
    yield* opened.close
    ratios.push(opens.at(-1)! / reads.at(-1)!)
  }
  show("read and parse the plain file, processor time", reads)
  show("open the session, processor time", opens)
  show("ratio, at most 3", ratios, "x")

  const pages: Array<number> = []
  let page = yield* timed(pages, store.page({ sessionId: session.sessionId }))
  while (page.nextCursor !== null) {
    const from = { revision: page.revision, cursor: page.nextCursor }
    page = yield* timed(pages, store.page({ sessionId: session.sessionId, from }))
  }
  show(`one of ${pages.length} pages`, pages)

  const live = yield* store.create
  const [alone, together, creates, lists]: [Array<number>, Array<number>, Array<number>, Array<number>] = [
    [],
    [],
    [],
    []
  ]
  for (let i = 0; i < 200; i++) for (const records of turn(i)) yield* timed(alone, live.history.append(records))
  show("append", alone)
  for (let i = 0; i < 100; i++) {
    const records = turn(i).flat()
    const sixteen = Array.from({ length: 16 }, (_, i) => records[i % records.length]!)
    const append = (record: Record) => live.history.append([record])
    yield* timed(together, Effect.forEach(sixteen, append, { concurrency: "unbounded", discard: true }))
  }
  show("16 appends at once", together)
  for (let i = 0; i < 100; i++) yield* Effect.flatMap(timed(creates, store.create), (one) => one.close)
  show("create a session", creates)
  for (let i = 0; i < ROUNDS; i++) yield* timed(lists, store.list({ limit: 100 }))
  show("list 100 sessions", lists)
})

await Effect.runPromise(program.pipe(Effect.provide(SessionStore.layerSqlite(home)), Effect.scoped)).finally(() =>
  fs.rmSync(home, { recursive: true })
)

const memory = Effect.gen(function*() {
  const { history } = yield* (yield* SessionStore).create
  const turns = Array.from({ length: 20_000 }, (_, i) => turn(i))
  const halves: Array<number> = []
  for (const part of [turns.slice(0, 10_000), turns.slice(10_000)]) {
    yield* timed(
      halves,
      Effect.forEach(part.flat(), (records) => history.append(records), { discard: true }),
      processor
    )
  }
  show("append in memory, halves of 100,000, processor time", halves.map((ms) => ms * 1000 / 50_000), "us")
})
await Effect.runPromise(memory.pipe(Effect.provide(SessionStore.layerMemory)))
