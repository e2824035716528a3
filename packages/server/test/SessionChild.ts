/**
 * Another process with the sessions of a home directory, for tests and the crash harness: `node SessionChild.ts HOME
 * MODE …`. It tells what it did in lines on stdout.
 *
 * - `hold ID`: opens the session, tells `held REVISION` and waits for the end of stdin; or tells why it cannot.
 * - `fill`: makes a session and tells its id, then appends prompts of 32,000 bytes: `stored N` after each, `refused N`
 *   at the first that fails; after a line on stdin it goes on, for 3 more.
 * - `crash ID SEED`: opens the session (`new`: makes one), tells its id, and plays stories of runs with parallel results
 *   for ever: `next RECORD` before an append and `stored N` after it, N being the number of that `next` in this process.
 */
import type { Record } from "@errand/runtime"
import * as Effect from "effect/Effect"
import { writeSync } from "node:fs"
import * as readline from "node:readline"
import { SessionStore } from "../src/SessionStore.ts"
import { finish, root, tell, user } from "./RecordStory.ts"

const [home, mode, ...args] = process.argv.slice(2)
const say = (...words: ReadonlyArray<string | number>) => Effect.sync(() => writeSync(1, `${words.join(" ")}\n`))
const lines = readline.createInterface({ input: process.stdin })
const line = Effect.promise(() => new Promise<void>((resolve) => lines.once("line", () => resolve())))
const ended = Effect.promise(() => new Promise<void>((resolve) => lines.once("close", () => resolve())))

const hold = Effect.gen(function*() {
  const session = yield* (yield* SessionStore).open(args[0]!)
  yield* say("held", session.history.revision())
  yield* ended
}).pipe(Effect.catch((error) => say(error._tag)))

const fill = Effect.gen(function*() {
  const { history, sessionId } = yield* (yield* SessionStore).create
  yield* say(sessionId)
  const append = (n: number) =>
    history.append([user(root(`run-${n}`), `${n} ${"x".repeat(32_000)}`)]).pipe(
      Effect.andThen(say("stored", n)),
      Effect.as(true),
      Effect.catchTag("StorageFailed", () => Effect.as(say("refused", n), false))
    )
  let n = 0
  while (n < 200 && (yield* append(n))) n++
  yield* line
  for (let more = 1; more <= 3; more++) yield* append(n + more)
})

/** Numbers that look random and are the same for the same seed. */
const numbers = function*(seed: number) {
  for (let state = seed >>> 0;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    yield (state >>> 8) % 10_000
  }
}

const crash = Effect.gen(function*() {
  const store = yield* SessionStore
  const [id, seed] = args
  const { history, sessionId } = yield* id === "new" ? store.create : store.open(id!)
  yield* say(sessionId)
  const draw = numbers(Number(seed))
  const append = (records: ReadonlyArray<Record>) => {
    const n = ++count
    return say("next", JSON.stringify(records)).pipe(
      Effect.andThen(history.append(records)),
      Effect.andThen(say("stored", n))
    )
  }
  let count = 0
  for (let story = 0;; story++) {
    const told = tell(Array.from({ length: 40 }, () => draw.next().value!))
    const records = [...told, ...finish(told)].map((record): Record =>
      JSON.parse(JSON.stringify(record).replace(/"(run|task|message|activity|call)-/g, `"$1-${seed}-${story}-`))
    )
    // results of parallel calls go out together, everything else one by one
    for (let i = 0; i < records.length;) {
      let j = i + 1
      while (records[i]!.kind === "result" && records[j]?.kind === "result") j++
      yield* Effect.forEach(records.slice(i, j), (record) => append([record]), { concurrency: "unbounded" })
      i = j
    }
  }
})

const program = { hold, fill, crash }[mode as "hold" | "fill" | "crash"]
await Effect.runPromise(Effect.scoped(program.pipe(Effect.provide(SessionStore.layerSqlite(home!))))).finally(() =>
  lines.close()
)
