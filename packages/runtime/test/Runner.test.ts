import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@errand/client"
import type { Events, Ids } from "@errand/protocol"
import {
  AgentRunner,
  Approvals,
  Broker,
  Catalog,
  clientTool,
  Conversation,
  type History,
  HistoryCheck,
  LocalTools,
  type ModelEvent,
  ModelTurn,
  Outbox,
  type RunEnd,
  RunSettings,
  TurnLimit
} from "@errand/runtime"
import { Arbitrary, Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { calls, failing, flushed, Listening, scripted, watched } from "./RunnerRig.ts"

const tool = (name: string, run: Effect.Effect<string>) => Tool.make(name, { description: "d" }).handle(() => run)
const a = tool("a", Effect.succeed("from a"))
const held = tool("b", Effect.never)

/** Whether a run's events are framed as TRN-5 says, and how it ended. */
const framed = (events: ReadonlyArray<Events.ServerEvent>) => {
  const names = events.map(({ event }) => event)
  assert.strictEqual(names[0], "run.started")
  assert.strictEqual(names.lastIndexOf("run.started"), 0)
  assert.strictEqual(names.indexOf("run.finished"), names.length - 1)
  const last = events.at(-1)!
  assert.isTrue(last.event === "run.finished")
  return last.event === "run.finished" ? last.data : assert.fail()
}

/** An agent whose client is far away: it answers the tool `a` when it is told to, and no other. */
const remote = (model: Layer.Layer<ModelTurn>, events: Array<Events.ServerEvent>) =>
  AgentRunner.layer.pipe(
    Layer.provideMerge(Broker.layerExecutor.pipe(Layer.provideMerge(Broker.layerNoDeps))),
    Layer.provide(Catalog.layerOf([a, held].map(({ declaration }) => clientTool(declaration)))),
    Layer.provide(Approvals.layerDeny),
    Layer.provide(Outbox.layerSink((event) => events.push(event))),
    Layer.provide(model)
  )

describe("5. turns", () => {
  it.effect("TRN-3 TRN-5 a run begins with run.started, ends with run.finished, and counts what it used", () =>
    Effect.gen(function*() {
      const events: Array<Events.ServerEvent> = []
      const history = yield* Conversation.memory()
      const end = yield* AgentRunner.turn(history, "go").pipe(
        Effect.provide(watched([a], scripted({ text: "one", ...calls(["client__a"]) }, { text: "two" }), events))
      )
      assert.deepStrictEqual([end.status, end.text, end.error], ["completed", "two", null])
      const finished = framed(events)
      assert.deepStrictEqual(finished.usage, { input_tokens: 0, output_tokens: 0, model_requests: 2, tool_calls: 1 })
      assert.deepStrictEqual(events.map(({ event }) => event), [
        "run.started",
        "message.delta",
        "message.reconcile",
        "tool.activity",
        "tool.activity",
        "message.delta",
        "message.reconcile",
        "run.finished"
      ])
      assert.strictEqual(finished.history_revision, history.revision())
    }))

  const speaking = (...texts: ReadonlyArray<string>): Layer.Layer<ModelTurn> => {
    const deltas = texts.map((text): ModelEvent => ({ _tag: "TextDelta", text }))
    const usage = { inputTokens: 0, outputTokens: 0 }
    const turn = () => Stream.fromIterable<ModelEvent>([...deltas, { _tag: "Finish", usage }]).pipe(Stream.rechunk(1))
    return Layer.succeed(ModelTurn, { provider: "p", name: "n", turn })
  }
  const shown = (events: ReadonlyArray<Events.ServerEvent>): ReadonlyArray<string> =>
    events.flatMap((event) => event.event === "message.delta" ? [event.data.text] : [])

  it.effect("faults E1 TRN-4 a surrogate pair that comes in two deltas is shown in one, and a lone half at the end", () =>
    Effect.gen(function*() {
      const events: Array<Events.ServerEvent> = []
      const end = yield* AgentRunner.turn(yield* Conversation.memory(), "go").pipe(
        Effect.provide(watched([], speaking("a\ud83d", "\ude00b", "\ud83d", "", "\ude00", "\ud83d", "c\ud83d"), events))
      )
      assert.strictEqual(end.text, "a😀b😀\ufffdc\ufffd")
      assert.deepStrictEqual(shown(events), ["a", "😀b", "😀", "\ufffdc", "\ufffd"])
    }))

  it.effect("faults E1 TRN-4 deltas that are lost in a full queue take no half of a pair with them", () =>
    Effect.gen(function*() {
      const events: Array<Events.ServerEvent> = []
      let offers = 0
      const outbox = Layer.succeed(Outbox, {
        enqueue: () => undefined,
        offer: (event) => offers++ > 0 && events.push(event) > 0
      })
      yield* AgentRunner.turn(yield* Conversation.memory(), "go").pipe(
        Effect.provide(AgentRunner.layer.pipe(
          Layer.provide(LocalTools.layerOf([])),
          Layer.provide(Approvals.layerNoDeps),
          Layer.provide(outbox),
          Layer.provide(speaking(`${"x".repeat(16_384)}\ud83d`, "\ude00b"))
        ))
      )
      assert.deepStrictEqual(shown(events), ["😀b"])
    }))

  for (const [limit, status, code] of [[3, "failed", "turn_limit"], [4, "completed", undefined]] as const) {
    it.effect(`TRN-6 a run that needs 4 model requests is ${status} with a limit of ${limit}`, () =>
      Effect.gen(function*() {
        const history = yield* Conversation.memory()
        const end = yield* AgentRunner.turn(history, "go").pipe(
          Effect.provide(AgentRunner.layerOf([a])),
          Effect.provide(scripted({ ...calls(["client__a"]), times: 3 }, { text: "done" })),
          Effect.provideService(TurnLimit, limit)
        )
        assert.deepStrictEqual([end.status, end.error?.code], [status, code])
        assert.strictEqual(end.usage.modelRequests, limit)
        assert.deepStrictEqual(HistoryCheck.check(history.messages), [])
      }))
  }

  it.effect("SES-11, faults E1 a prompt with half a surrogate pair is mended, and the conversation goes on", () =>
    Effect.gen(function*() {
      const history = yield* Conversation.memory()
      const turn = (prompt: string) =>
        AgentRunner.turn(history, prompt).pipe(
          Effect.provide(AgentRunner.layerOf([a])),
          Effect.provide(scripted({ text: "done", times: 2 }))
        )
      assert.strictEqual((yield* turn("a\ud83db")).status, "completed")
      assert.deepStrictEqual(history.messages[0], { role: "user", text: "a\ufffdb" })
      assert.strictEqual((yield* turn("again")).status, "completed")
    }))

  it.effect("SES-11 a conversation that was found damaged is not sent in any later turn either", () =>
    Effect.gen(function*() {
      const listening = new Listening(scripted({ text: "done", times: 3 }))
      const inner = yield* Conversation.memory()
      const damaged: History = {
        ...inner,
        append: (records) =>
          inner.append(
            records.map((one) => one.kind === "user" && one.text === "half" ? { ...one, text: "a\ud83db" } : one)
          )
      }
      for (const prompt of ["half", "whole", "whole"]) {
        const end = yield* AgentRunner.turn(damaged, prompt).pipe(
          Effect.provide(AgentRunner.layerOf([a])),
          Effect.provide(listening.layer)
        )
        assert.include(end.error?.message, "damaged")
      }
      assert.deepStrictEqual(listening.asked, [])
    }))

  it.effect("SES-11, faults E1 half a surrogate pair in the instructions is mended", () =>
    Effect.gen(function*() {
      let told: string | null = null
      const model = Layer.succeed(ModelTurn, {
        provider: "p",
        name: "n",
        turn: ({ instructions }) =>
          Stream.suspend(() => {
            told = instructions
            return Stream.make({ _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } } as const)
          })
      })
      yield* AgentRunner.turn(yield* Conversation.memory(), "go").pipe(
        Effect.provide(AgentRunner.layerOf([a])),
        Effect.provide(model),
        Effect.provideService(RunSettings, { instructions: "x\ud83d", timeoutMs: null })
      )
      assert.strictEqual(told, "x\ufffd")
    }))

  it.effect("SES-11 of two turns at once in one conversation the second is refused and leaves no trace", () =>
    Effect.gen(function*() {
      const listening = new Listening(scripted(calls(["client__gate"]), { text: "done" }, { text: "again" }))
      const gate = yield* Deferred.make<string>()
      const events: Array<Events.ServerEvent> = []
      const history = yield* Conversation.memory()
      const agent = watched([tool("gate", Deferred.await(gate))], listening.layer, events)
      const [one, two, three] = yield* Effect.gen(function*() {
        const second = Effect.tap(AgentRunner.turn(history, "two"), Deferred.succeed(gate, "open"))
        const both = yield* Effect.all([AgentRunner.turn(history, "one"), second], { concurrency: 2 })
        return [...both, yield* AgentRunner.turn(history, "three")] as const
      }).pipe(Effect.provide(agent))
      assert.deepStrictEqual([one.status, two.status, three.status], ["completed", "failed", "completed"])
      assert.strictEqual(two.error?.code, "run_active")
      assert.deepStrictEqual(HistoryCheck.check(history.messages), [])
      const said = history.messages.flatMap((message) => message.role === "user" ? [message.text] : [])
      assert.deepStrictEqual(said, ["one", "three"])
      assert.strictEqual(events.filter(({ event }) => event === "run.started").length, 2)
      assert.strictEqual(listening.asked.length, 3)
    }))

  it.effect("SES-11 a turn that a tool makes in the conversation of its own run is refused, and does not wait for itself", () =>
    Effect.gen(function*() {
      const history = yield* Conversation.memory()
      const inner = Tool.make("inner", { description: "d" }).handle(() =>
        Effect.map(AgentRunner.turn(history, "inner"), ({ error }) => error?.code ?? "")
      )
      const outer = AgentRunner.layerOf([inner]).pipe(Layer.provide(AgentRunner.layerOf([a])))
      const model = scripted(calls(["client__inner"]), { text: "{{results}}" })
      const end = yield* AgentRunner.turn(history, "go").pipe(Effect.provide(outer), Effect.provide(model))
      assert.include(end.text, "run_active")
    }))

  it.effect("PRK-1 two agents of one program have each their own tools, also where one is a tool of the other", () =>
    Effect.gen(function*() {
      const listening = new Listening(
        scripted(calls(["client__delegate"]), calls(["client__a"]), { text: "{{results}}" }, { text: "{{results}}" })
      )
      const delegate = Tool.make("delegate", { description: "d" }).handle(() =>
        Effect.flatMap(
          Conversation.memory(),
          (other) => Effect.map(AgentRunner.turn(other, "inner"), ({ text }) => `inner: ${text}`)
        )
      )
      const both = AgentRunner.layerOf([delegate]).pipe(Layer.provide(AgentRunner.layerOf([a])))
      const end = yield* AgentRunner.turn(yield* Conversation.memory(), "go").pipe(
        Effect.provide(both),
        Effect.provide(listening.layer)
      )
      assert.include(end.text, "inner: ")
      assert.include(end.text, "from a")
    }))

  it.effect("SES-11 a turn that was interrupted leaves its conversation free", () =>
    Effect.gen(function*() {
      const history = yield* Conversation.memory()
      const agent = AgentRunner.layerOf([held]).pipe(Layer.provide(scripted(calls(["client__b"]), { text: "done" })))
      const ended = yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(AgentRunner.turn(history, "one"))
        yield* flushed
        yield* Fiber.interrupt(fiber)
        return yield* AgentRunner.turn(history, "two")
      }).pipe(Effect.provide(agent))
      assert.strictEqual(ended.status, "completed")
    }))

  it.effect("TRN-7 a tool that dies is an uncertain result that the model reads; the run goes on", () =>
    Effect.gen(function*() {
      const local = (name: string, execute: LocalTools.Execute): LocalTools.LocalTool => ({
        ...clientTool({ ...a.declaration, name }),
        kind: "builtin",
        execute
      })
      const history = yield* Conversation.memory()
      const end = yield* AgentRunner.turn(history, "go").pipe(
        Effect.provide(AgentRunner.layer.pipe(
          Layer.provide(LocalTools.layer([
            local("dies", () => Effect.die(new Error("a bug with a stack"))),
            local("throws", () => {
              throw new Error("a bug with a stack")
            }),
            local("fine", () => Effect.succeed({ _tag: "Success", text: "fine" }))
          ])),
          Layer.provide([Outbox.layerDiscard, Approvals.layerDeny]),
          Layer.provide(scripted(calls(["dies"], ["throws"], ["fine"]), { text: "{{results}}" }))
        ))
      )
      const results = JSON.parse(end.text!) as ReadonlyArray<{ outcome: string; result: { error?: { code: string } } }>
      assert.deepStrictEqual(results.map(({ outcome, result }) => [outcome, result.error?.code]), [
        ["failure", "internal_error"],
        ["failure", "internal_error"],
        ["success", undefined]
      ])
      assert.notInclude(end.text, "a bug")
    }))

  it.effect.each(
    [
      ["dies", Stream.die(new Error("a bug"))],
      ["interrupts itself", Stream.fromEffect(Effect.interrupt)]
    ] as const
  )(
    "TRN-7 a model that %s fails the run with internal_error and says nothing of itself",
    ([, turn]) =>
      Effect.gen(function*() {
        const events: Array<Events.ServerEvent> = []
        const model = Layer.succeed(ModelTurn, { provider: "p", name: "n", turn: () => turn })
        const history = yield* Conversation.memory()
        const end = yield* AgentRunner.turn(history, "go").pipe(Effect.provide(watched([], model, events)))
        assert.strictEqual(end.error?.code, "internal_error")
        assert.notInclude(end.error?.message, "a bug")
        assert.strictEqual(framed(events).status, "failed")
      })
  )

  it.effect("TRN-9 a run that takes longer than it may fails with run_timeout, and its calls are closed", () =>
    Effect.gen(function*() {
      const history = yield* Conversation.memory()
      const fiber = yield* Effect.forkChild(
        AgentRunner.turn(history, "go").pipe(
          Effect.provide(AgentRunner.layerOf([held])),
          Effect.provide(scripted(calls(["client__b"]))),
          Effect.provideService(RunSettings, { instructions: null, timeoutMs: 5000 })
        )
      )
      yield* flushed
      yield* TestClock.adjust(4999)
      yield* flushed
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      const end = yield* Fiber.join(fiber)
      assert.strictEqual(end.error?.code, "run_timeout")
      assert.deepStrictEqual(HistoryCheck.check(history.messages), [])
    }))
})

describe("4. sessions: an append that fails", () => {
  const script = [calls(["client__a"], ["client__b", {}, "k1"]), { text: "done" }]

  /** Runs with appends that fail; `a` answers at once, `b` only to the end of its run. */
  const run = Effect.fnUntraced(function*(fails: (append: number) => boolean) {
    const events: Array<Events.ServerEvent> = []
    const store = yield* failing(fails)
    const runId = "run" as Ids.RunId
    const sessionId = store.history.sessionId as Ids.SessionId
    const scope = { sessionId, runId, ending: "cancelled" as const }
    const end = yield* Effect.gen(function*() {
      const runner = yield* AgentRunner
      const broker = yield* Broker
      const fiber = yield* Effect.forkChild(runner.run({ run: scope, history: store.history, prompt: "go" }))
      const answer = Effect.sync(() => {
        for (const { data, event } of events) {
          if (event !== "client.tool.call" || (data.name === "client__b" && store.appends() < 3)) continue
          const { call_id, run_id, session_id, subagent_id, task_id } = data
          const identity = { call_id, run_id, session_id, subagent_id, task_id }
          broker.accept({ ...identity, status: "success", text: "fine" }, () => {})
        }
      })
      for (let i = 0; i < 10 && fiber.pollUnsafe() === undefined; i++) yield* Effect.andThen(flushed, answer)
      return yield* Fiber.join(fiber)
    }).pipe(Effect.provide(remote(scripted(...script), events)))
    return { end, events, ...store }
  })

  const complete = Effect.map(run(() => false), ({ appends, end }) => {
    assert.strictEqual(end.status, "completed")
    return appends()
  })

  it.effect("SES-9 SES-11 whichever append fails, the run fails with storage_failed and no call has two results", () =>
    Effect.gen(function*() {
      const appends = yield* complete
      assert.strictEqual(appends, 6)
      for (let n = 1; n <= appends; n++) {
        const { end, events, history } = yield* run((append) => append === n)
        assert.deepStrictEqual([end.status, end.error?.code], ["failed", "storage_failed"], `append ${n}`)
        assert.strictEqual(framed(events).error?.code, "storage_failed")
        assert.deepStrictEqual(HistoryCheck.check(history.messages), [], `append ${n}`)
      }
    }))

  it.effect("SES-9 SES-11 when storage stays broken, history ends before what could not be recorded", () =>
    Effect.gen(function*() {
      const appends = yield* complete
      for (let n = 1; n <= appends; n++) {
        const { end, events, history } = yield* run((append) => append >= n)
        assert.strictEqual(end.error?.code, "storage_failed")
        framed(events)
        const broken = HistoryCheck.check(history.messages)
        const last = history.messages.length - 1
        assert.isTrue(
          broken.every(({ message, rule }) => rule === "missing_results" && message === last),
          `append ${n}`
        )
      }
    }))

  it.effect("CAN-2 the calls beside the one that cannot be recorded are cancelled as run_finished", () =>
    Effect.gen(function*() {
      // The prompt, the message with both calls, the result of `a`.
      const { events, history } = yield* run((append) => append === 3)
      const cancels = events.flatMap((one) => one.event === "client.tool.cancel" ? [one.data] : [])
      assert.deepStrictEqual(cancels.map(({ reason }) => reason), ["run_finished"])
      const results = history.messages.flatMap((message) => message.role === "tool" ? message.results : [])
      assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["cancelled", "cancelled"])
    }))
})

describe("12. interruption at every point", () => {
  const Yields = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  const paused = (times: number): Effect.Effect<void> =>
    times === 0 ? Effect.void : Effect.andThen(Effect.yieldNow, paused(times - 1))

  /** Conversations whose appends take a while on both sides of the fact. */
  const slow = (inner: History, times: number): History => ({
    ...inner,
    append: (records) => Effect.andThen(Effect.andThen(paused(times), inner.append(records)), paused(times))
  })

  it.effect.prop(
    "TRN-5 SES-11 CAN-2 wherever a run is interrupted, its history is valid and run.finished is the last event",
    {
      handlers: Arbitrary.array(Arbitrary.schema(Yields), { minLength: 1, maxLength: 3 }),
      model: Arbitrary.schema(Yields),
      store: Arbitrary.schema(Yields)
    },
    ({ handlers, model, store }) =>
      Effect.gen(function*() {
        const tools = handlers.map((times, i) => tool(`t${i}`, Effect.as(paused(times), `done ${i}`)))
        const steps = scripted(calls(...handlers.map((_, i) => [`client__t${i}`] as const)), { text: "done" })
        const slowModel = Layer.effect(
          ModelTurn,
          Effect.map(ModelTurn, (inner) => ({
            ...inner,
            turn: (request: Parameters<typeof inner.turn>[0]) =>
              Stream.unwrap(Effect.as(paused(model), inner.turn(request)))
          }))
        ).pipe(Layer.provide(steps))
        const seen = new Set<RunEnd["status"]>()
        for (let n = 0; !seen.has("completed"); n++) {
          assert.isBelow(n, 200)
          const events: Array<Events.ServerEvent> = []
          const history = slow(yield* Conversation.memory(), store)
          const records: Array<string> = []
          const kept: History = {
            ...history,
            append: (batch) =>
              Effect.tap(history.append(batch), () => {
                records.push(...batch.map(({ kind }) => kind))
                return Effect.void
              })
          }
          const ready = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            Effect.andThen(Deferred.succeed(ready, undefined), AgentRunner.turn(kept, "go")).pipe(
              Effect.provide(watched(tools, slowModel, events), { local: true })
            )
          )
          yield* Deferred.await(ready)
          yield* paused(n)
          yield* Fiber.interrupt(fiber)
          const exit = fiber.pollUnsafe()!
          assert.deepStrictEqual(HistoryCheck.check(history.messages), [], `after ${n} yields`)
          if (events.length === 0) continue
          const { status } = framed(events)
          assert.include(["cancelled", "completed"], status)
          assert.strictEqual(records.at(-1), "run")
          assert.strictEqual(records.filter((kind) => kind === "run").length, 1)
          const activities = events.flatMap((one) => one.event === "tool.activity" ? [one.data] : [])
          const open = new Set<string>()
          for (const { activity_id, status } of activities) {
            if (status === "running") open.add(activity_id)
            else open.delete(activity_id)
          }
          assert.strictEqual(open.size, 0, "every call that was shown as running was shown as ended")
          seen.add(Exit.isSuccess(exit) ? exit.value.status : "cancelled")
        }
        // a run that nowhere pauses is over before anybody can interrupt it
        const pauses = [...handlers, model, store].some((times) => times > 0)
        assert.isTrue(seen.has("cancelled") || !pauses)
      }),
    { arbitrary: { runs: 12 } }
  )
})
