/** A host whose store refuses, and runs that end before all accepted answers are recorded: nothing known is lost. */
import { assert, describe, it } from "@effect/vitest"
import { type Message, ToolHooks, type ToolHooksService } from "@errand/runtime"
import type { Thread } from "@errand/runtime/suspend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { call, completed, Counted, definition, failedRun, FakeModel, harnessOf, type Says, suspended } from "./Rig.ts"

const rig = Effect.fnUntraced(function*(...says: ReadonlyArray<Says>) {
  const tools = new Counted()
  const model = new FakeModel(says)
  const harness = yield* harnessOf(definition([tools.tool("read_file"), tools.tool("write_file", "ask")]), model)
  return { tools, model, harness }
})

/** Refuses the writes of these numbers, from 1. */
const refusing = (...refused: ReadonlyArray<number>): Thread.Checkpoint => {
  let writes = 0
  return () => Effect.suspend(() => refused.includes(++writes) ? Effect.fail("disk full") : Effect.void)
}

const told = (messages: ReadonlyArray<Message>) =>
  messages.flatMap((message) =>
    message.role === "tool" ? message.results.map(({ content, id, outcome }) => `${id} ${outcome} ${content}`) : []
  )

const twoAnswers = {
  calls: { c1: { status: "success", value: "ONE" }, c2: { status: "success", value: "TWO" } },
  approvals: {}
} as const
const bothTold = [
  "c1 success {\"text\":\"\",\"structured\":\"ONE\"}",
  "c2 success {\"text\":\"\",\"structured\":\"TWO\"}"
]
const twoCalls = { calls: [call("c1", "free_form"), call("c2", "free_form")] }

describe("harness 5: a store that refuses", () => {
  it.effect("RUN-1 SES-11 a result whose checkpoint fails is in the state once, and the next run goes on", () =>
    Effect.gen(function*() {
      const { harness, tools } = yield* rig({ calls: [call("r", "read_file")] }, { text: "done" })
      const result = failedRun(yield* harness.run({ prompt: "go", checkpoint: refusing(2) }))
      assert.strictEqual(result.failure.code, "storage_failed")
      assert.deepStrictEqual(tools.ran, ["read_file"])
      assert.deepStrictEqual(told(result.messages), ["r success {\"text\":\"read_file did it\"}"])
      assert.strictEqual(result.messages.length, 3)
      const stored = JSON.parse(JSON.stringify(result.state)) as unknown
      completed(yield* harness.run({ prompt: "again", state: stored }))
    }))

  it.effect.each([[[1]], [[2]], [[1, 2, 3]]])(
    "RUN-1, faults D7 a checkpoint that fails at write %j loses no accepted answer",
    ([refused]) =>
      Effect.gen(function*() {
        const { harness } = yield* rig(twoCalls, { text: "done" })
        const first = suspended(yield* harness.run({ prompt: "go" }))
        const result = failedRun(
          yield* harness.resume(first.suspension, twoAnswers, { checkpoint: refusing(...refused!) })
        )
        assert.strictEqual(result.failure.code, "storage_failed")
        assert.deepStrictEqual(told(result.messages), bothTold)
        completed(yield* harness.run({ prompt: "again", state: result.state }))
      })
  )

  it.effect("RUN-1, faults D7 a resume that is cancelled while a hook looks keeps what was answered and denied", () =>
    Effect.gen(function*() {
      const cancel = yield* Deferred.make<void>()
      const hooks: ToolHooksService = {
        before: () => Effect.succeed({ allow: true }),
        after: () => Effect.andThen(Deferred.succeed(cancel, undefined), Effect.never)
      }
      const run = Effect.gen(function*() {
        const { harness } = yield* rig({ calls: [call("c1", "free_form"), call("w1", "write_file")] })
        const first = suspended(yield* harness.run({ prompt: "go" }))
        const decided = {
          calls: { c1: { status: "success", value: "ONE" } },
          approvals: { w1: { allow: false, message: "not now" } }
        } as const
        return yield* harness.resume(first.suspension, decided, { cancelled: Deferred.await(cancel) })
      })
      const result = yield* Effect.provideService(run, ToolHooks, hooks)
      assert.strictEqual(result._tag, "Cancelled")
      const [one, two] = told(result.messages)
      assert.strictEqual(one, bothTold[0])
      assert.match(two!, /^w1 denied .*not now/)
    }))

  it.effect.each<[string, Thread.Checkpoint]>([
    ["fails", () => Effect.fail("disk full")],
    ["dies", () => Effect.die(new Error("disk full"))],
    ["rejects", () => Effect.promise(() => Promise.reject(new Error("disk full")))],
    ["interrupts itself", () => Effect.interrupt],
    ["gives no Effect", (() => Promise.resolve()) as never],
    ["throws", () => {
      throw new Error("disk full")
    }]
  ])(
    "HRN-D38 a checkpoint that %s keeps its call from starting and ends the run with storage_failed",
    ([, checkpoint]) =>
      Effect.gen(function*() {
        const { harness, tools } = yield* rig(
          { calls: [call("r", "read_file")] },
          { calls: [call("c1", "free_form"), call("r", "read_file")] }
        )
        const plain = failedRun(yield* harness.run({ prompt: "go", checkpoint }))
        assert.strictEqual(plain.failure.code, "storage_failed")
        const beside = failedRun(yield* harness.run({ prompt: "go", checkpoint }))
        assert.strictEqual(beside.failure.code, "storage_failed")
        assert.deepStrictEqual(beside.state?.calls, [])
        assert.deepStrictEqual(tools.ran, [])
      })
  )
})
