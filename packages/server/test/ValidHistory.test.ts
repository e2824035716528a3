/**
 * Whatever models, clients, people, storage and crashes do, every model request is one that any provider accepts
 * (SES-11): whole servers over one store, each case a list of turns that is played to its end.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import {
  HistoryCheck,
  type ModelEvent,
  ModelFailed,
  type ModelRequest,
  ModelTurn,
  StorageFailed,
  Tasks
} from "@errand/runtime"
import { type OpenSession, SessionStore } from "@errand/server"
import { type Peer, TestServer } from "@errand/testing"
import { Arbitrary, Context, Effect, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"

const Call = Schema.Struct({
  what: Schema.Literals([
    "plain",
    "asked",
    "denied",
    "unknown",
    "illegal name",
    "no object",
    "no JSON",
    "blank",
    "too large",
    "too deep",
    "surrogate",
    "task",
    "resume"
  ]),
  id: Schema.Literals(["fresh", "fresh", "repeated", "illegal", "empty"])
})
const listOf = <S extends Schema.Top>(item: S, least: number, most: number) =>
  Schema.Array(item).check(Schema.isMinLength(least), Schema.isMaxLength(most))

const Step = Schema.Struct({
  text: Schema.Literals(["plain", "empty", "surrogate", "cut pair"]),
  calls: listOf(Call, 1, 5),
  fails: Schema.Literals([false, false, false, true])
})
type Step = typeof Step.Type
const Reaction = Schema.Literals([
  "answer",
  "answer",
  "answer",
  "answer",
  "error",
  "wrong",
  "silence",
  "cancel",
  "kill",
  "refuse"
])
const Turn = Schema.Struct({
  steps: listOf(Step, 0, 3),
  reactions: listOf(Reaction, 0, 8),
  end: Schema.Literals(["stay", "stay", "reopen", "kill"])
})
type Turn = typeof Turn.Type
const Turns = Arbitrary.array(Arbitrary.schema(Turn), { minLength: 1, maxLength: 5 })

/** How often what happened, so that a property of nothing is told. */
const seen = new Map<string, number>()
const expected = [
  ...["success", "failure", "cancelled", "denied", "unknown"].map((outcome) => `result ${outcome}`),
  ...["completed", "cancelled", "model_failed", "storage_failed"].map((end) => `run ${end}`),
  ...["timeout", "unavailable", "invalid_arguments", "payload_limit"].map((code) => `code client_tool_${code}`),
  "code unknown_tool",
  "code interrupted",
  "killed",
  "closed",
  "resumed"
]
const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

const deep = `{"a":${"[".repeat(31)}${"]".repeat(31)}}`
const names = {
  asked: "client__asked",
  denied: "client__denied",
  unknown: "client__nope",
  "illegal name": "bad é\ud800!"
}
const texts = { plain: "text", empty: "", surrogate: "a\ud800b", "cut pair": "😀" }
const ids = { fresh: () => crypto.randomUUID(), repeated: () => "same", illegal: () => "no id \udc00", empty: () => "" }
const delegated = { description: "d", prompt: "p", profile: "general" }
const args: Readonly<Record<string, string>> = {
  "no object": "[1]",
  "no JSON": "{broken",
  "blank": " ",
  "too large": JSON.stringify({ a: "x".repeat(17_000) }),
  "too deep": deep,
  "surrogate": "{\"a\":\"\\ud800\"}",
  "task": JSON.stringify(delegated)
}

/** A model that says what the turn holds for it, and looks at every request. */
const makeModel = () => {
  const state = { steps: [] as Array<Step>, broken: [] as Array<unknown>, task: "none" }
  const answer = (request: ModelRequest): Stream.Stream<ModelEvent, ModelFailed> => {
    count("request")
    if (request.agent !== null && request.messages.filter(({ role }) => role === "user").length > 1) count("resumed")
    const violations = HistoryCheck.check(request.messages)
    if (violations.length > 0) state.broken.push({ violations, messages: structuredClone(request.messages) })
    for (const message of request.messages.slice(-2)) {
      if (message.role === "tool") {
        for (const { content, outcome } of message.results) {
          count(`result ${outcome}`)
          count(`code ${JSON.parse(content).error?.code}`)
        }
      }
    }
    const next = request.agent === null
      ? state.steps.shift()
      : request.messages.at(-1)?.role === "user"
      ? inTask
      : undefined
    if (next === undefined) return Stream.fromArray<ModelEvent>([{ _tag: "TextDelta", text: "end" }, finish])
    const text = texts[next.text]
    const told: Array<ModelEvent> = next.text === "cut pair"
      ? [{ _tag: "TextDelta", text: text.slice(0, 1) }, { _tag: "TextDelta", text: text.slice(1) }]
      : [{ _tag: "TextDelta", text }]
    for (const { id, what } of next.calls) {
      told.push({
        _tag: "ToolCall",
        call: {
          id: ids[id](),
          name: what === "task" || what === "resume"
            ? "task"
            : (names as Readonly<Record<string, string>>)[what] ?? "client__a",
          arguments: what === "resume" ? JSON.stringify({ ...delegated, resume: state.task }) : args[what] ?? "{}"
        }
      })
    }
    return next.fails
      ? Stream.concat(Stream.fromArray(told), Stream.fail(new ModelFailed({ code: "model_failed", message: "no" })))
      : Stream.fromArray<ModelEvent>([...told, { _tag: "Provider", provider: "{\"a\":1}" as JsonText }, finish])
  }
  return {
    state,
    layer: Layer.succeed(ModelTurn, {
      provider: "test",
      name: "test",
      turn: (request) => Stream.suspend(() => answer(request))
    })
  }
}

const finish: ModelEvent = { _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } }
const inTask: Step = {
  text: "plain",
  fails: false,
  calls: [{ what: "plain", id: "repeated" }, { what: "unknown", id: "repeated" }]
}

/** A store whose next append can be refused, and that keeps nothing of what comes after a kill. */
const makeStore = Effect.gen(function*() {
  const store = yield* SessionStore
  const state = { dead: false, refuse: false }
  const open = new Set<OpenSession>()
  const guarded = <H extends OpenSession["history"]>(history: H): H => ({
    ...history,
    append: (records) =>
      Effect.suspend(() => {
        if (!state.dead && !state.refuse) return history.append(records)
        state.refuse = false
        return new StorageFailed({ message: "the disk is full" })
      })
  })
  const mortal = (session: OpenSession): OpenSession => {
    open.add(session)
    return {
      ...session,
      history: guarded(session.history),
      taskHistory: (taskId, subagentId) => Effect.map(session.taskHistory(taskId, subagentId), guarded)
    }
  }
  return {
    state,
    layer: Layer.succeed(SessionStore, {
      ...store,
      create: Effect.map(store.create, mortal),
      open: (id) => Effect.map(store.open(id), mortal)
    }),
    /** What a process leaves when it is killed: what was appended, and no lock. */
    bury: Effect.suspend(() => Effect.forEach(open, (session) => session.close, { discard: true }))
  }
}).pipe(Effect.provide(SessionStore.layerMemory))

const tools = ["client__a", "client__asked", "client__denied"].map((name) => TestServer.tool(name))

const play = (turns: ReadonlyArray<Turn>) =>
  Effect.gen(function*() {
    const model = makeModel()
    const store = yield* makeStore
    let sessionId: string | undefined
    let next = 0

    /** Plays a turn to its end; false when the process was killed in it. */
    const turn = Effect.fnUntraced(function*(peer: Peer, { reactions, steps }: Turn) {
      const session_id = sessionId!
      const left = [...reactions]
      let at = peer.frames.length
      let idle = 0
      model.state.steps = [...steps]
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      while (true) {
        const frame = peer.frames[at]
        if (frame === undefined) {
          // nothing moves any more: whoever is silent lets his time pass
          if (++idle % 20 === 0) yield* TestClock.adjust("31 seconds")
          else yield* Effect.yieldNow
          continue
        }
        at++
        idle = 0
        if (!("event" in frame)) continue
        const reaction = (frame.event === "client.tool.call" || frame.event === "approval.requested") &&
          (left.shift() ?? "answer")
        if (reaction === "cancel") peer.post("turn.cancel", { session_id, run_id })
        if (reaction === "refuse") store.state.refuse = true
        if (reaction === "kill") {
          store.state.dead = true
          return false
        }
        if (reaction !== false) count(reaction)
        if (frame.event === "run.finished") {
          const { error, status } = frame.data as { status: string; error: { code: string } | null }
          count(`run ${error?.code ?? status}`)
          assert.notStrictEqual(error?.code, "internal_error")
          return true
        }
        if (reaction === "silence") continue
        if (frame.event === "client.tool.call") {
          model.state.task = (frame.data as { task_id: string | null }).task_id ?? model.state.task
          const result = peer.answer(frame as never, { status: reaction === "error" ? "error" : "success" })
          if (reaction === "wrong") peer.post("client.tool.result", { ...result, text: 1 })
          peer.post("client.tool.result", result)
        }
        if (frame.event === "approval.requested") {
          const { approval_id } = frame.data as { approval_id: string }
          peer.post("approval.answer", { session_id, run_id, approval_id, allow: reaction === "answer" })
        }
      }
    })

    const life = Effect.gen(function*() {
      const tasks = Context.get(yield* Layer.build(Tasks.layer), Tasks)
      const { closed, duplex, peer } = yield* TestServer.start({
        model: model.layer,
        store: store.layer,
        locals: [tasks.tool],
        permissions: [{ tool: "client__denied", allow: false }, { tool: "client__asked", allow: "ask" }],
        runTimeoutMs: 50_000
      })
      yield* peer.ok("initialize", { required_capabilities: ["client.tools"], client_tools: tools })
      if (sessionId === undefined) sessionId = (yield* peer.ok("session.create"))["session_id"] as string
      else yield* peer.ok("session.open", { session_id: sessionId })
      while (next < turns.length) {
        const one = turns[next++]!
        if (!(yield* turn(peer, one)) || one.end === "kill") {
          store.state.dead = true
          return
        }
        if (one.end === "reopen") break
      }
      duplex.end()
      yield* closed
    })

    while (next < turns.length) {
      yield* Effect.scoped(life)
      count(store.state.dead ? "killed" : "closed")
      yield* store.bury
      store.state.dead = store.state.refuse = false
    }
    const left = yield* Effect.flatMap(SessionStore, (store) => store.open(sessionId!)).pipe(
      Effect.provide(store.layer)
    )
    assert.deepStrictEqual(model.state.broken, [])
    assert.deepStrictEqual(HistoryCheck.check(left.history.messages), [])
  })

const title = "SES-11 SES-10 faults A9, E1, H1, H3 every model request is valid, whatever happens"

describe("section 4: history that every provider accepts", { timeout: 120_000 }, () => {
  it.effect.prop(`${title} (fixed seed)`, { turns: Turns }, ({ turns }) => play(turns), {
    arbitrary: { runs: 200, seed: "errand", size: 20 }
  })
  it.effect.prop(`${title} (fresh seed)`, { turns: Turns }, ({ turns }) => play(turns), {
    arbitrary: { runs: 200, seed: String(process.hrtime.bigint()), size: 20 }
  })
  afterAll(() => {
    for (const what of expected) assert.isAbove(seen.get(what) ?? 0, 0, `${what} happened`)
  })
})
