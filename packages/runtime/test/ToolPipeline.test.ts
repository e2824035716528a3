/** The order of the steps that every call takes, and what each of them sees of the ones before (PRM-1). */
import { assert, describe, it } from "@effect/vitest"
import { Tool, ToolAnswer } from "@errand/client"
import { type Events, type JsonText, Limits } from "@errand/protocol"
import {
  AgentRunner,
  Approvals,
  Conversation,
  HistoryCheck,
  type HookedCall,
  type HookedResult,
  LocalTools,
  Outbox,
  Permissions,
  ToolHooks,
  type ToolHooksService
} from "@errand/runtime"
import { Effect, Layer, Queue } from "effect"
import { calls, scripted } from "./RunnerRig.ts"

interface Setting {
  readonly args?: unknown
  readonly hooks?: Partial<ToolHooksService>
  readonly permission?: boolean | "ask"
  readonly verdict?: "allowed" | "denied" | "expired"
  readonly ask?: Approvals["Service"]["ask"]
  readonly summary?: () => string
  readonly answer?: ToolAnswer.ToolAnswer
}

/** Runs one call of `client__t` and tells which steps were taken with what, and what the model was told. */
const one = (setting: Setting) =>
  Effect.gen(function*() {
    const trail: Array<readonly [step: string, seen: string]> = []
    const saw = (step: string, seen: string) => Effect.sync(() => trail.push([step, seen]))
    const { answer = ToolAnswer.text("fine"), args = { a: 1 }, hooks = {}, permission = "ask", verdict = "allowed" } =
      setting
    const { ask = () => Effect.succeed(verdict), summary } = setting
    const tool = Tool.raw("t", { description: "d", parameters: { type: "object" } }).handle((text) =>
      Effect.as(saw("execute", text), answer)
    )
    const allow: ToolHooksService["before"] = () => Effect.succeed({ allow: true })
    const service: ToolHooksService = {
      before: (call) => {
        trail.push(["before", call.arguments])
        return (hooks.before ?? allow)(call)
      },
      after: (call, result) => {
        trail.push(["after", `${call.arguments} ${result.text}`])
        return (hooks.after ?? (() => Effect.undefined))(call, result)
      }
    }
    const history = yield* Conversation.memory()
    const events: Array<Events.ServerEvent> = []
    const end = yield* AgentRunner.turn({
      ...history,
      append: (records) =>
        Effect.andThen(
          Effect.forEach(records, (record) => record.kind === "result" ? saw("record", record.outcome) : Effect.void),
          history.append(records)
        )
    }, "go").pipe(
      Effect.provide(AgentRunner.layer.pipe(
        Layer.provide(Layer.unwrap(Effect.map(
          LocalTools.ofHandlers([tool]),
          (tools) => LocalTools.layer(tools.map((one) => summary === undefined ? one : { ...one, summary }))
        ))),
        Layer.provide(Layer.succeed(Approvals, {
          ask: (question) => {
            trail.push(["approve", question.summary])
            return ask(question)
          },
          answer: () => false,
          pending: () => 0
        })),
        Layer.provide(Outbox.layerSink((event) => events.push(event))),
        Layer.provide(scripted(calls(["client__t", args]), { text: "{{results}}" }))
      )),
      Effect.provideService(ToolHooks, service),
      Effect.provideService(Permissions, [{ tool: "client__t", allow: permission }])
    )
    assert.deepStrictEqual(HistoryCheck.check(history.messages), [])
    const [told] = JSON.parse(end.text!) as ReadonlyArray<
      { outcome: string; result: { text?: string; structured?: unknown; error?: { code: string; message: string } } }
    >
    return { trail, steps: trail.map(([step]) => step), told: told! }
  })

describe("12. one call through the pipeline", () => {
  it.effect("PRM-1 the steps are hooks, approval, execution, hooks, record, each once and in this order", () =>
    Effect.gen(function*() {
      const { told, trail } = yield* one({})
      assert.deepStrictEqual(trail, [
        ["before", `{"a":1}`],
        ["approve", `client__t {"a":1}`],
        ["execute", `{"a":1}`],
        ["after", `{"a":1} fine`],
        ["record", "success"]
      ])
      assert.deepStrictEqual(told.result, { text: "fine" })
    }))

  it.effect("PRM-1 HKS-1 a rule that denies comes before everything else", () =>
    Effect.gen(function*() {
      const { steps, told } = yield* one({ permission: false })
      assert.deepStrictEqual(steps, ["record"])
      assert.deepStrictEqual([told.outcome, told.result.error?.code], ["denied", "client_tool_denied"])
    }))

  it.effect("HKS-2 a hook that denies: nobody is asked, nothing executes, and its words are protected", () =>
    Effect.gen(function*() {
      const { steps, told } = yield* one({
        hooks: { before: () => Effect.succeed({ allow: false, reason: "password=hunter2 is in it." }) }
      })
      assert.deepStrictEqual(steps, ["before", "record"])
      assert.strictEqual(told.outcome, "denied")
      assert.include(told.result.error?.message, "password=[redacted]")
    }))

  it.effect("CAL-4 HKS-2 arguments that a hook changed are what is bounded, asked for, executed and told", () =>
    Effect.gen(function*() {
      const changed = (args: string) => ({
        before: () => Effect.succeed({ allow: true as const, arguments: args as JsonText })
      })
      const fine = yield* one({ hooks: changed(`{"a": 9007199254740993}`) })
      assert.deepStrictEqual(fine.trail.map(([, seen]) => seen), [
        `{"a":1}`,
        `client__t {"a":9007199254740993}`,
        `{"a":9007199254740993}`,
        `{"a":9007199254740993} fine`,
        "success"
      ])
      for (
        const [args, code] of [
          [`[]`, "client_tool_invalid_arguments"],
          [
            JSON.stringify({ a: "x".repeat(Limits.defaults.clientTools.arguments_bytes) }),
            "client_tool_payload_limit"
          ]
        ] as const
      ) {
        const { steps, told } = yield* one({ hooks: changed(args) })
        assert.deepStrictEqual(steps, ["before", "record"])
        assert.strictEqual(told.result.error?.code, code)
      }
    }))

  for (const verdict of ["denied", "expired"] as const) {
    it.effect(`TRN-8 a question that is ${verdict} executes nothing`, () =>
      Effect.gen(function*() {
        const { steps, told } = yield* one({ verdict })
        assert.deepStrictEqual(steps, ["before", "approve", "record"])
        assert.deepStrictEqual([told.outcome, told.result.error?.code], ["denied", "client_tool_denied"])
        assert.include(told.result.error?.message, "not executed")
      }))
  }

  it.effect("PRO-1 HKS-2 a hook sees a protected result, and what it makes of it is protected and bounded again", () =>
    Effect.gen(function*() {
      const seen: Array<readonly [HookedCall, HookedResult]> = []
      const replacing = (text: string) =>
        one({
          answer: ToolAnswer.text("password=hunter2"),
          hooks: {
            after: (call, result) => {
              seen.push([call, result])
              return Effect.succeed({ status: "success" as const, text })
            }
          }
        })
      assert.deepStrictEqual((yield* replacing("secret=abc")).told.result, { text: "secret=[redacted]" })
      assert.strictEqual(seen[0]?.[1].text, "password=[redacted]")
      const most = Limits.defaults.clientTools.result_bytes
      assert.strictEqual((yield* replacing("x".repeat(most))).told.outcome, "success")
      assert.strictEqual(
        (yield* replacing("x".repeat(most + 1))).told.result.error?.code,
        "client_tool_result_rejected"
      )
    }))

  it.effect("HKS-2 a hook that fails denies before a call and rejects after it", () =>
    Effect.gen(function*() {
      const before = yield* one({ hooks: { before: () => Effect.die(new Error("a bug")) } })
      assert.deepStrictEqual([before.steps, before.told.outcome], [["before", "record"], "denied"])
      const after = yield* one({ hooks: { after: () => Effect.die(new Error("a bug")) } })
      assert.deepStrictEqual(after.steps, ["before", "approve", "execute", "after", "record"])
      assert.strictEqual(after.told.result.error?.code, "client_tool_result_rejected")
      assert.notInclude(JSON.stringify([before.told, after.told]), "a bug")
    }))

  it.effect("HKS-2 SES-11 what a hook puts in the place of a result must be one, else it rejects", () =>
    Effect.gen(function*() {
      const after = (replaced: object) => one({ hooks: { after: () => Effect.succeed(replaced as HookedResult) } })
      const good = yield* after({ status: "success", text: "t", structured: ` {"n": 9007199254740993} ` })
      assert.deepStrictEqual(good.told.result, { text: "t", structured: { n: 9007199254740992 } })
      for (
        const wrong of [
          { status: "success", text: "t", structured: "plain" },
          { status: "success", text: "t", structured: `{"a":1` },
          { status: "success", text: "t", structured: `{"a":1,"a":2}` },
          { status: "success", text: "t", structured: { a: 1 } },
          { status: "success", text: "t", structured: null },
          { status: "success" },
          { status: "success", text: 7 },
          { text: "t" },
          "text"
        ]
      ) {
        const { steps, told } = yield* after(wrong as object)
        assert.strictEqual(steps.at(-1), "record")
        assert.strictEqual(told.result.error?.code, "client_tool_result_rejected", JSON.stringify(wrong))
      }
    }))

  it.effect("HKS-2 what a hook says before a call must be a verdict, else it denies", () =>
    Effect.gen(function*() {
      for (const wrong of [undefined, null, "yes", {}, { allow: "yes" }, { allow: true, arguments: { a: 1 } }]) {
        const { steps, told } = yield* one({ hooks: { before: () => Effect.succeed(wrong as never) } })
        assert.deepStrictEqual(steps, ["before", "record"])
        assert.strictEqual(told.result.error?.code, "client_tool_denied", JSON.stringify(wrong))
      }
    }))

  const faults: ReadonlyArray<readonly [how: string, fails: () => Effect.Effect<never>]> = [
    ["throws", () => {
      throw new Error("a bug")
    }],
    ["dies", () => Effect.die(new Error("a bug"))],
    ["interrupts itself", () => Effect.interrupt],
    ["gives no effect", () => undefined as never],
    ["gives a promise", () => Promise.resolve({ allow: true }) as never],
    ["waits for what is shut down", () =>
      Effect.flatMap(
        Queue.unbounded<never>(),
        (queue) => Effect.andThen(Queue.shutdown(queue), Queue.take(queue))
      )]
  ]

  for (const [how, fails] of faults) {
    it.effect(`HKS-2 a hook that ${how} denies before a call and rejects after it, and the run goes on`, () =>
      Effect.gen(function*() {
        const before = yield* one({ hooks: { before: fails } })
        assert.deepStrictEqual(before.steps, ["before", "record"])
        assert.deepStrictEqual([before.told.outcome, before.told.result.error?.code], ["denied", "client_tool_denied"])
        assert.include(before.told.result.error?.message, "not executed")
        const after = yield* one({ hooks: { after: fails } })
        assert.deepStrictEqual(after.steps, ["before", "approve", "execute", "after", "record"])
        assert.strictEqual(after.told.result.error?.code, "client_tool_result_rejected")
        assert.include(after.told.result.error?.message, "executed")
      }))

    it.effect(`TRN-8 WIR-16 a question whose asking ${how} is a no, and the run goes on`, () =>
      Effect.gen(function*() {
        const { steps, told } = yield* one({ ask: fails })
        assert.deepStrictEqual(steps, ["before", "approve", "record"])
        assert.deepStrictEqual([told.outcome, told.result.error?.code], ["denied", "client_tool_denied"])
        assert.include(told.result.error?.message, "not executed")
      }))
  }

  it.effect("WIR-16 what fails before the tool is started is not told as something that may have executed", () =>
    Effect.gen(function*() {
      const { steps, told } = yield* one({
        summary: () => {
          throw new Error("a bug")
        }
      })
      assert.deepStrictEqual(steps, ["before", "record"])
      assert.deepStrictEqual([told.outcome, told.result.error?.code], ["failure", "internal_error"])
      assert.include(told.result.error?.message, "not executed")
    }))
})
