/** What the compiler refuses: each expected error is a misuse that would otherwise be found by the preflight (DCL-2). */
import { assert, describe, it } from "@effect/vitest"
import { Deferral, ModelTurn } from "@errand/runtime"
import {
  AgentDefinition,
  ClientTool,
  ClientToolset,
  Harness,
  type Pending,
  type RunResult
} from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ok } from "./Fixture.ts"
import { call, clientTools, FakeModel, free, harnessOf, suspended } from "./Rig.ts"

const agent = AgentDefinition.make({ clientTools, output: Schema.Struct({ answer: Schema.Int }) })

type Output<H> = H extends Harness.Harness<infer O, infer _> ? O : never

describe("harness 1: types on both sides", () => {
  it.effect("DCL-2 answers have the type of their tool, and a wrong category or type does not compile", () =>
    Effect.gen(function*() {
      const harness = yield* harnessOf(
        agent,
        new FakeModel([{ calls: [call("c1", "lookup_record", { record_id: "7" })] }])
      )
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const [one] = ok(harness.pending(first.suspension)).calls
      if (one?.toolName !== "lookup_record") return assert.fail("another tool")
      const record: string = ok(one.arguments).record_id
      assert.strictEqual(record, "7")
      const right: Pending.Given = one.succeed({ title: "Seven" })
      assert.strictEqual(right._tag, "Answer")
      // @ts-expect-error the success schema says text
      const wrongType = one.succeed({ title: 7 })
      // @ts-expect-error the success schema says an object with a title
      const missing = one.succeed({})
      // @ts-expect-error the failure schema says why
      const wrongFailure = one.fail("no", { reason: 7 })
      assert.strictEqual(wrongFailure._tag, "Answer")
      const code = (given: Harness.GivenResults) =>
        Effect.map(Effect.flip(harness.resume(first.suspension, given)), (error) => error.code)
      assert.strictEqual(yield* code([wrongType]), "deferred_results_invalid")
      assert.strictEqual(yield* code([missing]), "deferred_results_invalid")
      assert.strictEqual(yield* code([right, right]), "deferred_results_invalid")
      // @ts-expect-error a decision is no answer
      assert.strictEqual(yield* code({ calls: { c1: { allow: true } }, approvals: {} }), "deferred_results_invalid")
      // @ts-expect-error an answer is no decision
      const misplaced = yield* code({ calls: {}, approvals: { c1: { status: "success", value: 1 } } })
      assert.strictEqual(misplaced, "deferred_results_incomplete")
      // @ts-expect-error an external call is not allowed or denied
      assert.isUndefined(one.allow)
      // @ts-expect-error no tool of this name is declared
      assert.isFalse(one.toolName === "other_tool")
    }))

  it.effect("DCL-3 DCL-4 toolsets of different tools are declared together, and each answer keeps its type", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ x: Schema.String })
      const text = ok(ClientTool.make({ name: "text", description: "d", parameters, success: Schema.String }))
      const flag = ok(ClientTool.make({ name: "flag", description: "d", parameters, success: Schema.Boolean }))
      const plain = ok(ClientTool.raw({ name: "plain", description: "d", parameters: { type: "object" } }))
      const spec = ok(ClientToolset.spec({
        defaultToolsets: [
          ok(ClientToolset.make("one", [text])),
          ok(ClientToolset.make("two", [flag, plain])),
          ok(ClientToolset.make("three", [free]))
        ]
      }))
      const calls = [call("c1", "text", { x: "" }), call("c2", "flag", { x: "" }), call("c3", "plain")]
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools: spec }), new FakeModel([{ calls }]))
      const first = suspended(yield* harness.run({ prompt: "go" }))
      for (const one of ok(harness.pending(first.suspension)).calls) {
        switch (one.toolName) {
          case "text":
            // @ts-expect-error the success schema of this one says text
            assert.deepInclude(one.succeed(true), { callId: "c1" })
            break
          case "flag":
            // @ts-expect-error the success schema of this one says a boolean
            assert.deepInclude(one.succeed(""), { callId: "c2" })
            break
          case "plain":
          case "free_form":
            assert.deepInclude(one.succeed(1), { callId: "c3" })
        }
        // @ts-expect-error no tool of this name is declared
        assert.isFalse(one.toolName === "other_tool")
      }
    }))

  it("PRK-1 a harness without a model, an executor or approvals does not compile", () => {
    const made = Harness.make(agent)
    const program = Effect.flatMap(made, (harness) => harness.run({ prompt: "go" }))
    const provided = Effect.provide(program, Deferral.layer)
    // @ts-expect-error a model is missing
    const noModel: Effect.Effect<unknown, unknown> = provided
    // @ts-expect-error an executor and approvals are missing
    const noExecutor: Effect.Effect<unknown, unknown> = Effect.provideService(
      program,
      ModelTurn,
      new FakeModel([]).service
    )
    const whole: Effect.Effect<RunResult.RunResult<{ readonly answer: number }>, Harness.RunRefused> = Effect
      .provideService(
        provided,
        ModelTurn,
        new FakeModel([]).service
      )
    assert.strictEqual([noModel, noExecutor, whole].every(Effect.isEffect), true)
  })

  it("RUN-7 the output has the type of its schema", () => {
    const output = (result: RunResult.RunResult<Output<Harness.Harness<{ readonly answer: number }, never>>>) =>
      result._tag === "Completed" ? result.output.answer : null
    assert.isNull(output({ _tag: "Cancelled" } as never))
    // @ts-expect-error only a completed run has an output
    const none = (result: RunResult.RunResult<string>) => result.output
    assert.isUndefined(none({ _tag: "Cancelled" } as never))
    // @ts-expect-error only a suspended run has a suspension
    const state = (result: RunResult.Completed<string>) => result.suspension
    assert.isUndefined(state({ _tag: "Completed" } as never))
  })
})
