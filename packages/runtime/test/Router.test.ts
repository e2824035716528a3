import { assert, describe, it } from "@effect/vitest"
import { type Ids, Limits } from "@errand/protocol"
import { Broker, Deferral, Outbox, Router, ToolExecutor } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { invocation, live } from "./RouterRig.ts"

describe("harness 8: one call, two lives", () => {
  it.effect("PRK-1 a tool goes where its route says: over the wire, to a handler, or to a later run", () =>
    Effect.gen(function*() {
      const events: Array<{ readonly name: string; readonly call_id: Ids.CallId }> = []
      const outbox = Outbox.layerSink(({ data, event }) => {
        if (event === "client.tool.call") events.push(data)
      })
      const layer = Router.layer({
        live: [live("client__live")],
        handlers: { here: () => Effect.succeed({ _tag: "Success", text: "handled" }) }
      }).pipe(Layer.provideMerge(Broker.layerNoDeps), Layer.provide(outbox))
      yield* Effect.gen(function*() {
        const { execute } = yield* ToolExecutor
        const broker = yield* Broker
        const waiting = yield* Effect.forkChild(execute(invocation("client__live")), { startImmediately: true })
        assert.deepStrictEqual(yield* execute(invocation("here")), { _tag: "Success", text: "handled" })
        assert.deepStrictEqual(yield* execute(invocation("elsewhere", "{\"a\":1}")), {
          _tag: "Deferred",
          category: "call",
          arguments: "{\"a\":1}"
        } as never)
        assert.deepStrictEqual(events.map(({ name }) => name), ["client__live"])
        const { agent } = invocation("client__live")
        broker.accept({
          session_id: agent.run.sessionId,
          run_id: agent.run.runId,
          call_id: events[0]!.call_id,
          task_id: null,
          subagent_id: null,
          status: "success",
          text: "from afar"
        }, () => {})
        assert.deepStrictEqual(yield* Fiber.join(waiting), { _tag: "Success", text: "from afar" })
      }).pipe(Effect.provide(layer))
    }))

  it.effect.each<[string, Partial<Router.LiveTool>, string]>([
    ["a name of the process", { name: "lookup_record" }, "client_tools[1].name"],
    ["a name that is too long", { name: `client__${"x".repeat(57)}` }, "client_tools[1].name"],
    ["a description that is too long", { description: "x".repeat(2049) }, "client_tools[1].description"],
    ["a time-out that is too short", { timeoutMs: 999 }, "client_tools[1].timeout_ms"],
    [
      "a schema the wire does not know",
      { parameters: "{\"type\":\"object\",\"oneOf\":[]}" as never },
      "client_tools[1]"
    ]
  ])(
    "PRK-1 HRN-D41 what is legal only in process is refused when the layer is built: %s",
    ([, wrong, path]) =>
      Effect.gen(function*() {
        const routes = { live: [live("client__fine"), { ...live("client__other"), ...wrong }] }
        const layer = Router.layer(routes).pipe(
          Layer.provide(Broker.layerNoDeps),
          Layer.provide(Outbox.layerDiscard)
        )
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        assert.deepInclude(error, { code: "live_tool_unsupported", tool: routes.live[1]!.name })
        assert.isTrue(error.path.startsWith(path), error.message)
        assert.notStrictEqual(error.rule, "")
      })
  )

  it.effect("PRK-1 HRN-D41 arguments that no frame can carry are refused by the live route alone", () =>
    Effect.gen(function*() {
      const layer = Router.layer({ live: [live("client__live")] }).pipe(
        Layer.provide(Broker.layerNoDeps),
        Layer.provide(Outbox.layerDiscard)
      )
      const { execute } = yield* ToolExecutor.pipe(Effect.provide(layer))
      const large = JSON.stringify({ a: "x".repeat(Limits.defaults.clientTools.arguments_bytes) })
      assert.deepInclude(yield* execute(invocation("client__live", large)), {
        _tag: "Refused",
        code: "client_tool_payload_limit"
      })
      assert.deepInclude(yield* execute(invocation("elsewhere", large)), { _tag: "Deferred" })
    }))

  it.effect("PRK-1 the deferring executor answers nobody and asks nobody", () =>
    Effect.gen(function*() {
      const { execute } = yield* ToolExecutor
      assert.deepStrictEqual(yield* execute(invocation("any")), {
        _tag: "Deferred",
        category: "call",
        arguments: "{}"
      } as never)
    }).pipe(Effect.provide(Deferral.layer)))
})
