/** A run that is recovered executes nothing twice, whatever executes the tools of its program. */
import { assert, describe, it } from "@effect/vitest"
import {
  Broker,
  CallStart,
  Deferral,
  type ExecutionOutcome,
  ModelTurn,
  Outbox,
  Router,
  ToolExecutor,
  type ToolInvocation
} from "@errand/runtime"
import { AgentDefinition, ClientTool, ClientToolset, Harness, Resumes, type State } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { live } from "../RouterRig.ts"
import { ok } from "./Fixture.ts"
import { call, completed, FakeModel, free, suspended } from "./Rig.ts"

const toolset = ok(ClientToolset.make("here", [
  free,
  ok(ClientTool.raw({ name: "client__tool", description: "Does something once.", parameters: { type: "object" } }))
]))
const agent = AgentDefinition.make({ clientTools: ok(ClientToolset.spec({ defaultToolsets: [toolset] })) })

/** Executes for ever, and tells that it began. */
class Endless {
  readonly ran: Array<string> = []
  readonly execute = ({ callId, name }: ToolInvocation): Effect.Effect<ExecutionOutcome> =>
    Effect.suspend(() => {
      this.ran.push(`${name} ${callId}`)
      return Effect.never
    })
  /** Takes what the wire publishes. */
  readonly outbox = Outbox.layerSink(({ data, event }) => {
    if (event === "client.tool.call") this.ran.push(data.name)
  })
}

const broker = (endless: Endless) => Layer.provide(Broker.layerNoDeps, endless.outbox)

const executors: ReadonlyArray<[string, (endless: Endless) => Layer.Layer<ToolExecutor>]> = [
  [
    "a handler of the router",
    (endless) =>
      Layer.orDie(Layer.provide(Router.layer({ handlers: { client__tool: endless.execute } }), broker(endless)))
  ],
  [
    "a route of a router made by hand",
    ({ execute }) =>
      Layer.succeed(ToolExecutor, { execute: Router.make(new Map([["client__tool", execute]]), Deferral.execute) })
  ],
  [
    "the live route",
    (endless) => Layer.orDie(Layer.provide(Router.layer({ live: [live("client__tool")] }), broker(endless)))
  ],
  [
    "an executor of the program",
    ({ execute }) =>
      Layer.succeed(ToolExecutor, {
        execute: (call) => call.name === "client__tool" ? CallStart.marked(call, execute) : Deferral.execute(call)
      })
  ]
]

describe("harness 8: recovery, whoever executes", () => {
  it.effect.each(executors)(
    "RSM-9 RSM-7 PRK-1 what began before a crash does not begin again after it: %s",
    ([, layerOf]) =>
      Effect.gen(function*() {
        const endless = new Endless()
        const states: Array<State.State> = []
        const harnessWith = (model: FakeModel) =>
          Harness.make(agent).pipe(
            Effect.provideService(ModelTurn, model.service),
            Effect.provide(Layer.merge(layerOf(endless), Deferral.layerApprovals)),
            Effect.provideService(Resumes.Ledger, new Resumes.Resumes())
          )
        const results = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const
        const harness = yield* harnessWith(
          new FakeModel([{ calls: [call("c1", "free_form")] }, { calls: [call("t", "client__tool")] }])
        )
        const first = suspended(yield* harness.run({ prompt: "go" }))
        const resume = harness.resume(first.suspension, results, {
          checkpoint: (state) => Effect.sync(() => states.push(state))
        })
        const dying = yield* Effect.forkChild(resume, { startImmediately: true })
        assert.strictEqual(endless.ran.length, 1)
        const crashed = JSON.parse(JSON.stringify(states.at(-1))) as State.State
        yield* Fiber.interrupt(dying)
        assert.deepStrictEqual(crashed.calls.map(({ call_id, status }) => `${call_id} ${status}`), ["t started"])

        const fresh = new FakeModel([{ text: "done" }])
        completed(yield* Effect.flatMap(harnessWith(fresh), (next) => next.recover(first.suspension, results, crashed)))
        assert.strictEqual(endless.ran.length, 1)
        assert.include(JSON.stringify(fresh.requests[0]!.messages), "It may have executed")
      })
  )

  it.effect("RSM-9 a call that is deferred has not begun, and no state says so", () =>
    Effect.gen(function*() {
      const states: Array<State.State> = []
      const model = new FakeModel([{ calls: [call("t", "client__tool")] }])
      const harness = yield* Harness.make(agent).pipe(
        Effect.provideService(ModelTurn, model.service),
        Effect.provide(Deferral.layer)
      )
      suspended(yield* harness.run({ prompt: "go", checkpoint: (state) => Effect.sync(() => states.push(state)) }))
      assert.deepStrictEqual(states, [])
    }))
})
