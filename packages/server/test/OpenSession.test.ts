import { assert, describe, it } from "@effect/vitest"
import { type Record, StorageFailed } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as OpenSession from "../src/OpenSession.ts"
import type * as SessionFold from "../src/SessionFold.ts"
import { assistant, result, root, user } from "./RecordStory.ts"

const run = root("r")
const at = "2026-01-02T03:04:05.006Z"
const refused = new StorageFailed({ message: "the disk is full" })

/** A session over a keeper that refuses while `full`, and notes what it took. */
const session = (records: ReadonlyArray<Record> = []) => {
  const state = { full: false, released: 0, commits: [] as Array<ReadonlyArray<string>> }
  const rows = records.map((record, i): SessionFold.Row => ({ seq: i + 1, at, record }))
  const keeper: OpenSession.Keeper = {
    grouped: true,
    commit: (step) => {
      if (state.full) return refused
      state.commits.push(step.rows.map(({ record }) => record.kind))
      return null
    },
    recordsOf: () => Effect.fail(refused),
    release: Effect.sync(() => state.released++)
  }
  const open = Effect.suspend(() => OpenSession.make("s", OpenSession.find(rows, 0), keeper, () => "fresh"))
  return { state, open }
}

describe("section 4: an open session", () => {
  it.effect("SES-9 appends made at the same time share one commit, and all of them fail when it does", () =>
    Effect.gen(function*() {
      const { open, state } = session()
      const { history } = yield* open
      const ids = ["a", "b", "c"]
      yield* history.append([user(run, "x"), assistant(run, "m", "", ids)])
      const results = Effect.forEach(
        ids,
        (id, i) => Effect.exit(history.append([result(run, "m", i, id)])),
        { concurrency: "unbounded" }
      )
      state.full = true
      assert.deepStrictEqual((yield* results).map((exit) => exit._tag), ["Failure", "Failure", "Failure"])
      assert.deepStrictEqual(history.messages.map((message) => message.role), ["user", "assistant"])
      assert.strictEqual(history.revision(), "2")
      state.full = false
      assert.deepStrictEqual((yield* results).map((exit) => exit._tag), ["Success", "Success", "Success"])
      assert.deepStrictEqual(state.commits, [["user", "assistant"], ["result", "result", "result"]])
      assert.deepStrictEqual(history.messages.map((message) => message.role), ["user", "assistant", "tool"])
    }))

  it.effect("SES-9 SES-11 after results were refused the next prompt finds a valid conversation", () =>
    Effect.gen(function*() {
      const { open, state } = session()
      const { entries, history } = yield* open
      yield* history.append([user(run, "x"), assistant(run, "m", "", ["a", "b"])])
      yield* history.append([result(run, "m", 1, "b")])
      state.full = true
      assert.strictEqual(yield* Effect.flip(history.append([result(run, "m", 0, "a")])), refused)
      state.full = false
      yield* history.append([user(root("r2"), "again")])
      assert.deepStrictEqual(state.commits.at(-1), ["result", "run", "user"])
      const tool = history.messages[2]!
      assert.deepStrictEqual(tool.role === "tool" && tool.results.map((one) => one.outcome), ["unknown", "success"])
      assert.strictEqual(entries(), 5)
    }))

  it.effect("SES-10 when the repair cannot be stored, the session is not open and not held", () =>
    Effect.gen(function*() {
      const { open, state } = session([user(run, "x")])
      state.full = true
      assert.strictEqual(yield* Effect.flip(open), refused)
      assert.strictEqual(state.released, 1)
      state.full = false
      yield* (yield* open).close
      assert.deepStrictEqual(state.commits, [["run"]])
      assert.strictEqual(state.released, 2)
    }))

  it.effect("SES-9 closing stores what was appended before it", () =>
    Effect.gen(function*() {
      const { open, state } = session()
      const { close, history } = yield* open
      const appended = yield* Effect.forkChild(history.append([user(run, "x")]), { startImmediately: true })
      yield* close
      yield* Fiber.join(appended)
      assert.deepStrictEqual(state.commits, [["user"]])
      assert.strictEqual(
        yield* Effect.map(Effect.flip(history.append([])), (error) => error.message),
        "session s is closed"
      )
    }))

  it.effect("SES-8 a task whose records cannot be read fails, and a task that is new needs no reading", () =>
    Effect.gen(function*() {
      const delegated = { runId: "r", taskId: "t", subagentId: "s" }
      const { open } = session([user(run, "x"), user(delegated, "inner"), user(run, "y")])
      const { taskHistory } = yield* open
      assert.strictEqual(yield* Effect.flip(taskHistory("t", "s2")), refused)
      assert.deepStrictEqual((yield* taskHistory("new", "s3")).messages, [])
    }))
})
