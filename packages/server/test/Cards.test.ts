import { assert, describe, it } from "@effect/vitest"
import { TestServer } from "@errand/testing"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Rig from "./AgentRig.ts"

const { call, task, turn } = Rig

const script = {
  root: [{ tool_calls: [task("one"), call("client__a", { secret: "ARGUMENT" }), call("nothing")] }, { text: "end" }],
  tasks: { one: [{ tool_calls: [call("run_code", { calls: [{ name: "look", arguments: {} }] })] }, { text: "x" }] }
}

describe("section 7: cards", () => {
  it.effect("CRD-1 WIR-18 WIR-19 each activity is followed by its card, and history shows the last one", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({ script })
      const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")], ["tool.cards"])
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const published = yield* peer.event("client.tool.call")
      yield* TestClock.adjust("1500 millis")
      yield* peer.ok("client.tool.result", peer.answer(published, { text: "RESULT" }))
      yield* peer.event("run.finished")

      const events = peer.frames.flatMap((frame) => "event" in frame ? [frame] : [])
      for (const [index, frame] of events.entries()) {
        if (frame.event !== "tool.activity") continue
        const { activity_id, name, parent_id, status } = frame.data as never as Record<string, string>
        const next = events[index + 1]
        assert.strictEqual(next?.event, "tool.card")
        const { card } = next!.data as never as { card: Record<string, unknown> }
        const ended = status !== "running"
        assert.deepStrictEqual(
          { ...card, started_at: "", ended_at: ended ? "" : null },
          {
            card_id: activity_id,
            parent_id,
            revision: ended ? 2 : 1,
            name,
            kind: { client__a: "client", task: "task", run_code: "code" }[name!] ?? "builtin",
            status: ended ? "ended" : "running",
            outcome: ended ? status : null,
            started_at: "",
            ended_at: ended ? "" : null
          }
        )
      }
      const cards = peer.events("tool.card").map(({ card }) => card)
      assert.strictEqual(cards.length, 10)
      const client = cards.filter(({ name }) => name === "client__a").at(-1)
      assert.deepStrictEqual([client?.started_at, client?.ended_at], [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:01.500Z"
      ])

      const last = new Map(cards.map((card) => [card.card_id, card]))
      const entries = (yield* Rig.history(peer, session_id)).filter(({ kind }) => kind === "tool")
      assert.strictEqual(entries.length, 5)
      for (const { tool_card } of entries) {
        const live = last.get(tool_card!.card_id)!
        assert.deepStrictEqual({ ...tool_card!, started_at: "", ended_at: "" }, {
          ...live,
          started_at: "",
          ended_at: ""
        })
      }
      assert.notMatch(JSON.stringify([cards, entries]), /ARGUMENT|RESULT/)
    }))

  it.effect("CRD-1 WIR-18 the last live card is the one that history shows, its times too, whenever the clock is read", () =>
    Effect.gen(function*() {
      const inner = yield* Clock.Clock
      let millis = 0
      const ticking: Clock.Clock = Object.assign(Object.create(inner) as Clock.Clock, {
        currentTimeMillisUnsafe: () => ++millis,
        currentTimeMillis: Effect.sync(() => ++millis)
      })
      const { cards, entries } = yield* Effect.gen(function*() {
        const { peer } = yield* Rig.start({ script })
        const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")], ["tool.cards"])
        yield* peer.ok("turn.start", { session_id, prompt: "go" })
        yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call"), { text: "RESULT" }))
        yield* peer.event("run.finished")
        return { cards: peer.events("tool.card"), entries: yield* Rig.history(peer, session_id) }
      }).pipe(Effect.provideService(Clock.Clock, ticking))
      const [first, last] = [1, 2].map((revision) =>
        new Map(cards.flatMap(({ card }) => card.revision === revision ? [[card.card_id, card]] : []))
      )
      const shown = entries.flatMap(({ tool_card }) => tool_card === undefined ? [] : [tool_card])
      assert.strictEqual(shown.length, 5)
      for (const card of shown) {
        assert.deepStrictEqual(last!.get(card.card_id), card)
        assert.strictEqual(first!.get(card.card_id)!.started_at, card.started_at)
        assert.isBelow(Date.parse(card.started_at), Date.parse(card.ended_at!))
      }
    }))

  it.effect("CRD-1 CRD-2 not negotiated: no card, and else the same frames in the same order", () =>
    Effect.gen(function*() {
      const names = Effect.fnUntraced(function*(capabilities: ReadonlyArray<string>) {
        const { peer } = yield* Rig.start({
          script: [{ tool_calls: [call("look"), call("nothing")] }, { text: "end" }]
        })
        const session_id = yield* TestServer.session(peer, undefined, capabilities)
        yield* turn(peer, session_id)
        const entries = yield* Rig.history(peer, session_id)
        assert.strictEqual(entries.some((entry) => "tool_card" in entry), capabilities.length > 0)
        return peer.frames.flatMap((frame) => "event" in frame ? [frame.event] : [])
      })
      const without = yield* names([])
      assert.notInclude(without, "tool.card")
      assert.deepStrictEqual((yield* names(["tool.cards"])).filter((name) => name !== "tool.card"), without)
    }))

  it.effect("CRD-1 a call that is cancelled before it runs has a card that begins and ends", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({ script: [{ tool_calls: [call("client__a"), call("act")] }] })
      const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")], ["tool.cards"])
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      yield* peer.event("approval.requested")
      yield* peer.ok("turn.cancel", { session_id, run_id })
      yield* peer.event("run.finished")
      const last = new Map(peer.events("tool.card").map(({ card }) => [card.name, card]))
      assert.deepStrictEqual(
        [...last.values()].map(({ ended_at, outcome, revision }) => [ended_at !== null, outcome, revision]),
        [
          [true, "cancelled", 2],
          [true, "cancelled", 2]
        ]
      )
    }))
})
