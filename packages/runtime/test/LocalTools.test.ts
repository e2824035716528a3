import { assert, describe, it } from "@effect/vitest"
import { make as makeClient, Tool, ToolAnswer } from "@errand/client"
import { Limits } from "@errand/protocol"
import { AgentRunner, Conversation, HistoryCheck, type Message } from "@errand/runtime"
import { TestServer } from "@errand/testing"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { calls, flushed, Listening, scripted } from "./RunnerRig.ts"

const NotFound = Schema.TaggedStruct("NotFound", { record_id: Schema.String, message: Schema.String })

class Records extends Context.Service<Records, { readonly titleOf: (id: string) => string }>()("test/Records") {}
class Clerk extends Context.Service<Clerk, { readonly name: string }>()("test/Clerk") {}

const lookup = Tool.make("lookup", {
  description: "Looks up a record.",
  parameters: Schema.Struct({ record_id: Schema.String }),
  success: Schema.Struct({ title: Schema.String }),
  failure: NotFound
}).handle(({ record_id }) =>
  record_id === "0"
    ? Effect.fail({ _tag: "NotFound" as const, record_id, message: "no such record" })
    : Effect.succeed({ title: `record ${record_id}` })
)

/** A tool without parameters that does what it is made of. */
const quick = <R = never>(
  name: string,
  run: () => Effect.Effect<Tool.ToolValue, Tool.PlainFailure, R>,
  timeoutMs = 1000
) => Tool.make(name, { description: "Quick.", timeoutMs }).handle(run)

const echo = Tool.raw("echo", { description: "Echoes.", parameters: { type: "object" } }).handle((args) =>
  Effect.succeed(ToolAnswer.structuredText(args))
)

const everything = [
  lookup,
  echo,
  quick("slow", () => Effect.never),
  quick("late", () => Effect.delay(Effect.succeed("too late"), 1000)),
  quick("soon", () => Effect.delay(Effect.succeed("just in time"), 999)),
  quick("dies", () => Effect.die(new Error("a bug"))),
  quick("throws", () => {
    throw new Error("thrown")
  }),
  quick("interrupts", () => Effect.interrupt),
  quick("promises", () => Promise.resolve("text") as never),
  { declaration: quick("broken", () => Effect.void).declaration, answer: () => undefined as never },
  quick("large", () => Effect.succeed("x".repeat(Limits.defaults.clientTools.result_bytes + 1))),
  quick("secret", () => Effect.succeed({ password: "hunter2", note: "Bearer abcdefghijklmnop" })),
  quick("clash", () => Effect.succeed({ a: 1, "a\u0007": 1, "a\u0008": 2 })),
  quick("surrogate", () => Effect.succeed("\ud83d")),
  quick("nothing", () => Effect.void),
  quick("null", () => Effect.succeed(null))
]

const script = [
  calls(
    ["client__lookup", { record_id: "7" }],
    ["client__lookup", { record_id: "0" }],
    ["client__lookup", { record_id: 7 }],
    ["client__echo", `{"n":9007199254740993000000001,"z":-0,"__proto__":1e2}`],
    ["client__slow"],
    ["client__late"],
    ["client__soon"],
    ["client__dies"],
    ["client__throws"],
    ["client__interrupts"],
    ["client__large"],
    ["client__secret"],
    ["client__clash"],
    ["client__surrogate"],
    ["client__nothing"],
    ["client__null"]
  ),
  calls(
    ["client__none", {}, "m0"],
    ["client__promises", {}, "n0"],
    ["client__broken", {}, "n1"],
    ["lookup", {}, "m1"],
    ["client__echo", "[1]", "m2"],
    ["client__echo", "", "m3"],
    ["client__echo", `{"a":"${"x".repeat(20_000)}"}`, "m4"],
    ["client__echo", `{"a":${"[".repeat(40)}${"]".repeat(40)}}`, "m5"]
  ),
  calls(...Array.from({ length: 18 }, (_, i) => ["client__slow", {}, `b${i}`] as const)),
  { text: "done" }
]

/** Moves virtual time until a fiber has ended. */
const waited = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function*() {
    for (let i = 0; i < 100 && fiber.pollUnsafe() === undefined; i++) {
      for (let turn = 0; turn < 5; turn++) yield* flushed
      yield* TestClock.adjust(fiber.pollUnsafe() === undefined ? 333 : 0)
    }
    return yield* Fiber.join(fiber)
  })

const inProcess = Effect.gen(function*() {
  const model = new Listening(scripted(...script))
  const history = yield* Conversation.memory()
  const fiber = yield* Effect.forkChild(
    AgentRunner.turn(history, "go").pipe(
      Effect.provide(AgentRunner.layerOf(everything)),
      Effect.provide(model.layer)
    )
  )
  const end = yield* waited(fiber)
  return { asked: model.asked, text: end.text, history }
})

const overTheWire = Effect.gen(function*() {
  const model = new Listening(scripted(...script))
  const client = yield* makeClient({ server: TestServer.transport({ model: model.layer }), tools: everything })
  const session = yield* client.createSession
  const text = yield* waited(yield* Effect.forkChild(session.ask("go")))
  return { asked: model.asked, text }
})

const resultsOf = (messages: ReadonlyArray<Message>, id: string) =>
  messages.flatMap((message) => message.role === "tool" ? message.results : []).find((result) => result.id === id)

describe("8.2 client tools in process", () => {
  it.effect("PRK-1 a model is told the same, word by word, whether handlers run here or behind a wire", () =>
    Effect.gen(function*() {
      const wire = yield* overTheWire
      const local = yield* inProcess
      assert.deepStrictEqual(local.asked, wire.asked)
      assert.deepStrictEqual([local.text, wire.text], ["done", "done"])
      assert.lengthOf(local.asked, 4)
      assert.deepStrictEqual(HistoryCheck.check(local.history.messages), [])
      const told = (id: string) => resultsOf(local.history.messages, id)
      assert.strictEqual(told("k0")?.content, `{"text":"","structured":{"title":"record 7"}}`)
      assert.strictEqual(told("k1")?.outcome, "failure")
      assert.include(told("k2")?.content, "record_id")
      assert.include(told("k3")?.content, `{"n":9007199254740993000000001,"z":-0,"__proto__":1e2}`)
      assert.include(told("k4")?.content, "client_tool_timeout")
      assert.include(told("k5")?.content, "client_tool_timeout")
      assert.strictEqual(told("k6")?.content, `{"text":"just in time"}`)
      assert.include(told("n0")?.content, "The tool's handler returned no Effect.")
      assert.include(told("n1")?.content, "The tool failed.")
      assert.include(told("k11")?.content, "[redacted]")
      assert.include(told("k12")?.content, "client_tool_result_rejected")
      assert.include(told("b15")?.content, "client_tool_timeout")
      assert.include(told("b16")?.content, "client_tool_busy")
    }))

  it.effect("SES-11 results stand in call order, in whatever order the handlers end", () =>
    Effect.gen(function*() {
      const tools = [3, 1, 2].map((seconds) =>
        quick(`wait_${seconds}`, () => Effect.delay(Effect.succeed(`after ${seconds}`), `${seconds} seconds`), 30_000)
      )
      const history = yield* Conversation.memory()
      const run = AgentRunner.turn(history, "go").pipe(
        Effect.provide(AgentRunner.layerOf(tools)),
        Effect.provide(scripted(calls(["client__wait_3"], ["client__wait_1"], ["client__wait_2"]), { text: "" }))
      )
      yield* waited(yield* Effect.forkChild(run))
      const results = history.messages.flatMap((message) => message.role === "tool" ? message.results : [])
      assert.deepStrictEqual(results.map(({ content }) => content), [
        `{"text":"after 3"}`,
        `{"text":"after 1"}`,
        `{"text":"after 2"}`
      ])
    }))

  it.effect("CAN-2 interrupting the run interrupts its handlers and waits for what they clean up", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const trail: Array<string> = []
      const tool = quick("hold", () =>
        Effect.andThen(Deferred.succeed(began, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.yieldNow, Effect.sync(() => trail.push("cleaned up"))))
        ))
      const history = yield* Conversation.memory()
      const run = AgentRunner.turn(history, "go").pipe(
        Effect.provide(AgentRunner.layerOf([tool])),
        Effect.provide(scripted(calls(["client__hold"]), { text: "" }))
      )
      const fiber = yield* Effect.forkChild(run)
      yield* Deferred.await(began)
      yield* Fiber.interrupt(fiber)
      trail.push("interrupted")
      assert.deepStrictEqual(trail, ["cleaned up", "interrupted"])
      assert.deepStrictEqual(HistoryCheck.check(history.messages), [])
      assert.deepInclude(resultsOf(history.messages, "k0"), { outcome: "cancelled" })
    }))

  it.effect("CAL-6 a handler that does not stop holds no run, and is gone when the layer closes", () =>
    Effect.gen(function*() {
      let stopped = false
      const stubborn = quick("stubborn", () =>
        Effect.uninterruptible(Effect.delay(
          Effect.sync(() => {
            stopped = true
          }),
          60_000
        )))
      const history = yield* Conversation.memory()
      const fiber = yield* Effect.forkChild(Effect.scoped(Effect.gen(function*() {
        const context = yield* Layer.build(
          AgentRunner.layerOf([stubborn]).pipe(Layer.provide(scripted(calls(["client__stubborn"]), { text: "on" })))
        )
        const end = yield* Effect.provide(AgentRunner.turn(history, "go"), context)
        return [end.text, stopped]
      })))
      yield* flushed
      yield* TestClock.adjust(1000)
      yield* flushed
      assert.include(resultsOf(history.messages, "k0")?.content, "client_tool_timeout")
      assert.strictEqual(history.messages.at(-1)?.role, "assistant")
      yield* TestClock.adjust(59_000)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["on", false])
      assert.isTrue(stopped)
    }))

  it.effect("CAL-5 a pending call counts until its outcome is known, over all runs of the layer", () =>
    Effect.gen(function*() {
      const hold = quick("hold", () => Effect.never)
      const one = yield* Conversation.memory()
      const other = yield* Conversation.memory()
      const both = Effect.all([AgentRunner.turn(one, "go"), AgentRunner.turn(other, "go")], {
        concurrency: "unbounded"
      }).pipe(
        Effect.provide(AgentRunner.layerOf([hold])),
        Effect.provide(
          scripted(
            calls(...Array.from({ length: 16 }, (_, i) => ["client__hold", {}, `a${i}`] as const)),
            calls(["client__hold", {}, "b0"]),
            { text: "", times: 2 }
          )
        )
      )
      yield* waited(yield* Effect.forkChild(both))
      assert.include(resultsOf(one.messages, "a15")?.content, "client_tool_timeout")
      assert.include(resultsOf(other.messages, "b0")?.content, "client_tool_busy")
    }))

  it.effect("CLT-3 tools that no server would register are a defect that says which", () =>
    Effect.gen(function*() {
      const twice = [quick("a", () => Effect.void), quick("a", () => Effect.void)]
      const exit = yield* Effect.exit(
        Effect.scoped(Layer.build(AgentRunner.layerOf(twice).pipe(Layer.provide(scripted({ text: "" })))))
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.include(String(exit), "client_tools[1].name")
    }))

  it.effect("CLI-2 each call is told its identity and gets what its handler needs from the layer", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const needy = Tool.make("needy", { description: "d", timeoutMs: 2000 }).handle((_, call) =>
        Effect.map(Records, (records) => {
          seen.push(call)
          return records.titleOf("7")
        })
      )
      const history = yield* Conversation.memory("here")
      yield* AgentRunner.turn(history, "go").pipe(
        Effect.provide(AgentRunner.layerOf([needy])),
        Effect.provideService(Records, { titleOf: (id) => `title of ${id}` }),
        Effect.provide(scripted(calls(["client__needy", {}]), { text: "" }))
      )
      assert.deepInclude(seen[0], {
        name: "client__needy",
        sessionId: "here",
        taskId: null,
        subagentId: null,
        timeoutMs: 2000,
        argumentsText: "{}"
      })
      assert.strictEqual(resultsOf(history.messages, "k0")?.content, `{"text":"title of 7"}`)
    }))
})

/** Never runs: the compiler is the test, and an expected error that is none fails it. */
export const composition = () => {
  const needsRecords = quick("a", () => Effect.map(Records, (records) => records.titleOf("7")))
  const needsClerk = quick("b", () => Effect.map(Clerk, (clerk) => clerk.name))
  const ask = Effect.flatMap(Conversation.memory(), (history) => AgentRunner.turn(history, "go"))
  const model = scripted({ text: "" })
  const records = Layer.succeed(Records, { titleOf: (id) => id })
  const clerk = Layer.succeed(Clerk, { name: "Ada" })
  const agent = AgentRunner.layerOf([lookup, needsRecords, needsClerk])

  Effect.runPromise(ask.pipe(Effect.provide(agent), Effect.provide([model, records, clerk])))
  Effect.runPromise(ask.pipe(Effect.provide(AgentRunner.layerOf([])), Effect.provide(model)))
  // @ts-expect-error without a model there is no agent
  Effect.runPromise(ask.pipe(Effect.provide(agent), Effect.provide([records, clerk])))
  // @ts-expect-error what one handler needs is missing
  Effect.runPromise(ask.pipe(Effect.provide(agent), Effect.provide([model, records])))
  // @ts-expect-error what the other handler needs is missing
  Effect.runPromise(ask.pipe(Effect.provide(agent), Effect.provide([model, clerk])))
  // @ts-expect-error without an agent nothing runs
  Effect.runPromise(ask.pipe(Effect.provide([model, records, clerk])))
  // @ts-expect-error a tool without its handler is no tool yet
  AgentRunner.layerOf([Tool.make("c", { description: "d" })])
  const typed = Tool.make("d", { description: "d", success: Schema.Struct({ n: Schema.Int }) })
  // @ts-expect-error a result of a wrong type is a compile error
  typed.handle(() => Effect.succeed({ n: "1" }))
}
