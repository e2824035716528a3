/**
 * Runs with subagents, `call_tool` and code at once, while calls are answered, tasks are cancelled, time passes and the
 * turn is cancelled, explored over random interleavings against a whole server.
 */
import { assert, describe, it } from "@effect/vitest"
import { type EventFrame, type Peer, TestServer } from "@errand/testing"
import { Arbitrary, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Rig from "./AgentRig.ts"

const { call, task } = Rig

/** What each agent of a run does: the root and two levels of tasks, named by their place. */
const Doings = Schema.Array(Schema.Literals(["client", "code", "look", "hidden", "task"])).check(Schema.isMaxLength(4))
const Which = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 }))
const Move = Schema.Union([
  Schema.Struct({ move: Schema.Literal("answer"), which: Which }),
  Schema.Struct({ move: Schema.Literal("answer"), which: Schema.Literal(0) }),
  Schema.Struct({ move: Schema.Literal("cancelTask"), which: Which }),
  Schema.Struct({ move: Schema.Literal("cancelTurn") }),
  Schema.Struct({ move: Schema.Literal("tick"), ms: Schema.Literals([1, 400, 1000]) }),
  Schema.Struct({
    move: Schema.Literal("yield"),
    times: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))
  })
])
const Case = Schema.Struct({
  root: Doings,
  outer: Doings,
  inner: Doings,
  compact: Schema.Boolean,
  moves: Schema.Array(Move).check(Schema.isMinLength(4), Schema.isMaxLength(12))
})

const client = (compact: boolean) => compact ? call("call_tool", { name: "client__a" }) : call("client__a")

const callsOf = (doings: typeof Doings.Type, compact: boolean, below: string | null) =>
  doings.flatMap((doing) => {
    switch (doing) {
      case "client":
        return [client(compact)]
      case "code":
        return [call("run_code", { calls: [{ name: "client__a", arguments: {} }] })]
      case "task":
        return below === null ? [] : [task(below)]
      case "hidden":
        return [call("client__hidden")]
      case "look":
        return [call("look")]
    }
  })

const scriptOf = ({ compact, inner, outer, root }: typeof Case.Type) => ({
  root: [{ tool_calls: callsOf(root, compact, "outer") }, { text: "end", times: 3 }],
  tasks: {
    outer: [
      ...Array.from({ length: 4 }, () => ({ tool_calls: callsOf(outer, compact, "inner") })),
      { text: "outer", times: 8 }
    ],
    inner: [
      ...Array.from({ length: 16 }, () => ({ tool_calls: callsOf(inner, compact, null) })),
      { text: "inner", times: 32 }
    ]
  }
})

const settled = (peer: Peer, count: number) =>
  Effect.gen(function*() {
    for (let i = 0; i < count && peer.events("run.finished").length === 0; i++) yield* Effect.yieldNow
  })

const play = Effect.fnUntraced(function*(one: typeof Case.Type) {
  const { peer, tasks } = yield* Rig.start({ script: scriptOf(one), catalog: one.compact ? "compact" : "full" })
  const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a", { timeout_ms: 1000 })])
  const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
  const accepted = new Set<string>()
  const calls = () =>
    peer.frames.filter((frame): frame is EventFrame<"client.tool.call"> =>
      "event" in frame && frame.event === "client.tool.call"
    )
  const answer = Effect.fnUntraced(function*(which: number) {
    const frame = calls().filter(({ data }) => !accepted.has(data.call_id))[which]
    if (frame === undefined) return
    const response = yield* peer.request("client.tool.result", peer.answer(frame))
    if (response.result !== undefined) accepted.add(frame.data.call_id)
    else assert.strictEqual(response.error?.code, "stale_client_tool_call")
  })
  yield* settled(peer, 20)
  for (const what of one.moves) {
    switch (what.move) {
      case "answer":
        yield* answer(what.which)
        break
      case "cancelTask": {
        const ids = [...new Set(peer.events("tool.activity").flatMap(({ task_id }) => task_id ?? []))]
        yield* tasks.cancel(ids[what.which] ?? "none")
        break
      }
      case "cancelTurn":
        yield* peer.request("turn.cancel", { session_id, run_id })
        break
      case "tick":
        yield* TestClock.adjust(what.ms)
        break
      case "yield":
        yield* settled(peer, what.times)
    }
  }
  // Whatever is open now runs into its deadline, level by level.
  for (let i = 0; i < 50 && peer.events("run.finished").length === 0; i++) {
    yield* settled(peer, 50)
    yield* TestClock.adjust(1000)
  }
  yield* peer.event("run.finished")
  return { peer, session_id, accepted }
})

const check = (one: typeof Case.Type) =>
  Effect.scoped(Effect.gen(function*() {
    const { accepted, peer, session_id } = yield* play(one)
    const events = peer.frames.flatMap((frame) => "event" in frame ? [frame] : [])

    // 1. The run ends once, and nothing of it comes later.
    assert.strictEqual(events.at(-1)?.event, "run.finished")
    assert.strictEqual(peer.events("run.finished").length, 1)

    // 2. Each published call ends by exactly one accepted result or one notice.
    for (const { call_id } of peer.events("client.tool.call")) {
      const notices = peer.events("client.tool.cancel").filter((notice) => notice.call_id === call_id)
      assert.strictEqual((accepted.has(call_id) ? 1 : 0) + notices.length, 1, `the end of ${call_id}`)
    }
    assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 0)

    // 3. Each activity begins at most once and ends exactly once, inside the one that made it.
    const place = (id: string, running: boolean) =>
      events.findIndex(({ data, event }) =>
        event === "tool.activity" && "activity_id" in data && data.activity_id === id &&
        "status" in data && (data.status === "running") === running
      )
    const activities = peer.events("tool.activity")
    for (const { activity_id, parent_id, subagent_id } of activities) {
      const own = activities.filter((other) => other.activity_id === activity_id).map(({ status }) =>
        status === "running"
      )
      assert.include(["true,false", "false"], own.join(), activity_id)
      if (parent_id === null) continue
      assert.isBelow(place(parent_id, true), place(activity_id, false))
      assert.isBelow(place(activity_id, false), place(parent_id, false))
      if (subagent_id !== null) {
        assert.strictEqual(activities.find((other) => String(other.activity_id) === subagent_id)?.name, "task")
      }
    }

    // 4. History is valid: the next turn reaches the model, and each call stands there once.
    const next = yield* Rig.turn(peer, session_id)
    assert.strictEqual(next.data.status, "completed", JSON.stringify(next.data.error))
    const entries = yield* Rig.history(peer, session_id)
    const shown = entries.filter(({ kind }) => kind === "tool").length
    const told = new Set(activities.map(({ activity_id }) => activity_id)).size
    if (entries.length < 100) assert.strictEqual(shown, told)
  }))

const title = "BLT-2 CAL-7 CAN-1 CAN-2 SES-11 TRN-5 runs with subagents end in order, whatever interleaves"

describe("section 12: races of delegated runs", () => {
  it.effect.prop(`${title} (fixed seed)`, { one: Arbitrary.schema(Case) }, ({ one }) => check(one), {
    arbitrary: { runs: 60, seed: "errand", size: 20 }
  })
  it.effect.prop(`${title} (fresh seed)`, { one: Arbitrary.schema(Case) }, ({ one }) => check(one), {
    arbitrary: { runs: 60, seed: String(process.hrtime.bigint()), size: 20 }
  })
})
