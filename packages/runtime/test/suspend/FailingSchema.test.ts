/** Schemas of a program that throw or wait: what they do not take is told like any other misfit, and throws at nobody. */
import { assert, describe, it } from "@effect/vitest"
import { AgentDefinition, ClientTool, ClientToolset, HostTool } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { failed, ok } from "./Fixture.ts"
import { call, completed, failedRun, FakeModel, harnessOf, suspended } from "./Rig.ts"

const getter = (fails: () => never) => ({
  decode: SchemaGetter.transform(fails),
  encode: SchemaGetter.transform(fails)
})

const throwing = Schema.String.pipe(Schema.decodeTo(
  Schema.String,
  getter(() => {
    throw new Error("boom")
  })
))
const waiting = Schema.String.pipe(Schema.decodeTo(Schema.String, {
  decode: SchemaGetter.transformEffect((text: string) => Effect.promise(() => Promise.resolve(text))),
  encode: SchemaGetter.transformEffect((text: string) => Effect.promise(() => Promise.resolve(text)))
}))

const schemas = [["throws", throwing], ["waits", waiting]] as const

const failing = /^cannot be told, since its schema failed/

describe("harness 1: schemas that fail", () => {
  it.effect.each(schemas)(
    "DCL-2 RUN-4 a schema that %s tells the model that its arguments do not fit, a bounded number of times",
    ([, schema]) =>
      Effect.gen(function*() {
        const parameters = Schema.Struct({ a: schema })
        const tool = ok(ClientTool.make({ name: "t", description: "d", parameters }))
        const host = ok(HostTool.make({ name: "h", description: "d", parameters, execute: () => Effect.succeed("") }))
        const clientTools = ok(ClientToolset.spec({ defaultToolsets: [ok(ClientToolset.make("x", [tool]))] }))
        const model = new FakeModel((_, count) => ({
          calls: [call(`c${count}`, "t", { a: "1" }), call(`h${count}`, "h", { a: "1" })]
        }))
        const harness = yield* harnessOf(AgentDefinition.make({ clientTools, tools: [host] }), model)
        const result = failedRun(yield* harness.run({ prompt: "go" }))
        assert.strictEqual(result.failure.code, "retry_limit_exceeded")
        const told = result.messages[2]
        assert.strictEqual(told?.role, "tool")
        for (const { content } of told?.role === "tool" ? told.results : []) {
          assert.match(content, /invalid_arguments.*arguments cannot be told/)
        }
      })
  )

  it.effect.each(schemas)(
    "DCL-2 5 a schema that %s is told to the host with the path, in each place",
    ([, schema]) =>
      Effect.gen(function*() {
        const tool = ok(ClientTool.make({
          name: "t",
          description: "d",
          parameters: Schema.Struct({ a: schema }),
          success: schema,
          failure: schema
        }))
        const clientTools = ok(ClientToolset.spec({ defaultToolsets: [ok(ClientToolset.make("x", [tool]))] }))
        const agent = AgentDefinition.make({ clientTools, validateArguments: "object" })
        const harness = yield* harnessOf(agent, new FakeModel([{ calls: [call("c1", "t", { a: "1" })] }]))
        const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
        const [one] = ok(harness.pending(suspension)).calls
        assert.match(failed(one!.arguments).rule, failing)
        for (const [given, path] of [[one!.succeed("x"), "value"], [one!.fail("no", "x"), "content"]] as const) {
          const error = yield* Effect.flip(harness.resume(suspension, [given]))
          assert.strictEqual(error.code, "deferred_results_invalid")
          const { callId, path: where, rule } = error.details as { callId: string; path: string; rule: string }
          assert.deepStrictEqual([callId, where], ["c1", `results.calls.c1.${path}`])
          assert.match(rule, failing)
        }
        completed(yield* harness.resume(suspension, [one!.fail("no")]))
      })
  )

  it.effect.each(schemas)(
    "RUN-7 an output schema that %s asks again, a bounded number of times",
    ([, schema]) =>
      Effect.gen(function*() {
        const model = new FakeModel(() => ({ text: "\"x\"" }))
        const harness = yield* harnessOf(AgentDefinition.make({ output: schema }), model)
        assert.strictEqual(failedRun(yield* harness.run({ prompt: "go" })).failure.code, "output_invalid")
        assert.strictEqual(model.requests.length, 4)
      })
  )
})
