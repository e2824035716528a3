/** Runs that are interrupted or cancelled at every moment there is: fibers yield after each few operations. */
import { assert, describe, it } from "@effect/vitest"
import { HistoryCheck } from "@errand/runtime"
import { type Harness, type RunResult, State } from "@errand/runtime/suspend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import { ok } from "./Fixture.ts"
import { call, completed, Counted, definition, FakeModel, harnessOf, stored, suspended } from "./Rig.ts"

const results = {
  calls: { c1: { status: "success", value: "ONE" } },
  approvals: { c2: { allow: true } }
} as const

/** A suspension of an answer and an approval, after whose resume the model calls a tool, defers a call, and is done. */
const rig = Effect.gen(function*() {
  const tools = new Counted()
  const model = new FakeModel(({ messages }) => {
    const step = messages.filter(({ role }) => role === "assistant").length
    if (step === 0) return { calls: [call("c0", "read_file"), call("c1", "free_form"), call("c2", "write_file")] }
    return step === 1 ? { calls: [call("d0", "read_file", { path: "b" }), call("d1", "free_form")] } : { text: "done" }
  })
  const harness = yield* harnessOf(definition([tools.tool("read_file"), tools.tool("write_file", "ask")]), model)
  const suspension = stored(suspended(yield* harness.run({ prompt: "go" })))
  return { tools, harness, suspension }
})

const slowly = Effect.provideService(References.MaxOpsBeforeYield, 3)

/** Lets other fibers come to their next yield, `count` times. */
const moments = (count: number) => Effect.repeat(Effect.yieldNow, { times: count })

const historyOf = (state: State.State | null) => {
  assert.isNotNull(state)
  assert.deepStrictEqual(state!.calls, [])
  const messages = ok(State.messages(state!))
  assert.deepStrictEqual(HistoryCheck.check(messages), [])
  return messages
}

const outcomes = (state: State.State | null): ReadonlyArray<string> =>
  historyOf(state).flatMap((message) =>
    message.role === "tool" ? message.results.map(({ content, id }) => `${id} ${content}`) : []
  )

type Resume = Harness.Harness<string, never>["resume"]

describe("harness 5: every moment of a resume", () => {
  it.effect.each([false, true])(
    "RSM-6 RSM-7 interrupted at any moment it has its outcome or is recovered (with a checkpoint: %s)",
    (checkpoints) =>
      Effect.gen(function*() {
        const input = "and thanks"
        for (let moment = 0;; moment++) {
          const { harness, suspension, tools } = yield* rig
          let later: unknown = null
          const checkpoint = (state: State.State) => Effect.sync(() => later = JSON.parse(JSON.stringify(state)))
          const resume = harness.resume(suspension, results, { input, ...checkpoints ? { checkpoint } : {} })
          const fiber = yield* Effect.forkChild(slowly(resume))
          yield* moments(moment)
          yield* Fiber.interrupt(fiber)
          const exit = yield* Fiber.await(fiber)
          const recovered = yield* Effect.exit(harness.recover(suspension, results, later, { input }))
          const next = Exit.isSuccess(recovered)
            ? recovered.value
            // the run had ended when it was interrupted
            : suspended(yield* harness.resume(suspension, results, { input }))
          if (next._tag === "Suspended" && next.suspension.requests.approvals.length === 0) {
            assert.deepStrictEqual(next.suspension.requests.calls.map(({ call_id }) => call_id), ["d1"])
          }
          assert.isAtMost(tools.ran.filter((ran) => ran === "write_file").length, 1, `moment ${moment}`)
          if (Exit.isSuccess(exit)) return assert.isAbove(moment, 50)
        }
      })
  )

  it.effect("RUN-1 RSM-2, faults D6 D7 cancelled at any moment its state is closed, holds the answer, and goes on", () =>
    Effect.gen(function*() {
      const resumed = Effect.fnUntraced(function*(resume: Resume, suspension: unknown, moment: number) {
        const cancel = yield* Deferred.make<void>()
        const bindings = { cancelled: Deferred.await(cancel) }
        const fiber = yield* Effect.forkChild(slowly(resume(suspension, results, bindings)))
        yield* moments(moment)
        yield* Deferred.succeed(cancel, undefined)
        return yield* Fiber.join(fiber)
      })
      for (let moment = 0;; moment++) {
        const { harness, suspension, tools } = yield* rig
        const result: RunResult.RunResult<string> = yield* resumed(harness.resume, suspension, moment)
        assert.isAtMost(tools.ran.filter((ran) => ran === "write_file").length, 1, `moment ${moment}`)
        if (result._tag === "Suspended") return assert.isAbove(moment, 50)
        if (result._tag !== "Cancelled") return assert.fail(`moment ${moment}: ${JSON.stringify(result)}`)
        assert.include(outcomes(result.state), "c1 {\"text\":\"\",\"structured\":\"ONE\"}", `moment ${moment}`)
        const next = yield* harness.run({ prompt: "again", state: JSON.parse(JSON.stringify(result.state)) as unknown })
        assert.include(["Completed", "Suspended"], next._tag)
      }
    }))
})

describe("harness 3: a run that is cancelled", () => {
  it.effect("RUN-1 HRN-D29 a run that is cancelled before it begins asks nobody and executes nothing", () =>
    Effect.gen(function*() {
      const { harness, suspension, tools } = yield* rig
      const ran = tools.ran.length
      const result = yield* harness.resume(suspension, results, { cancelled: Effect.void })
      assert.deepInclude(result, { _tag: "Cancelled", usage: { ...result.usage, modelRequests: 0 } } as never)
      assert.strictEqual(tools.ran.length, ran)
      const [, answer, approved] = outcomes(result._tag === "Cancelled" ? result.state : null)
      assert.strictEqual(answer, "c1 {\"text\":\"\",\"structured\":\"ONE\"}")
      assert.match(approved!, /^c2 .*not executed/)
      assert.strictEqual((yield* harness.run({ prompt: "go", cancelled: Effect.void }))._tag, "Cancelled")
    }))

  it.effect.each<[string, Effect.Effect<unknown>]>([
    ["fails", Effect.fail("no") as never],
    ["dies", Effect.die(new Error("no"))],
    ["interrupts itself", Effect.interrupt],
    ["is no Effect", Promise.resolve() as never]
  ])("HRN-D29 one whose signal %s is not cancelled by that", ([, cancelled]) =>
    Effect.gen(function*() {
      const tools = new Counted()
      const model = new FakeModel([{ calls: [call("r", "read_file")] }, { text: "done" }])
      const harness = yield* harnessOf(definition([tools.tool("read_file")]), model)
      completed(yield* slowly(harness.run({ prompt: "go", cancelled })))
      assert.deepStrictEqual(tools.ran, ["read_file"])
    }))
})
