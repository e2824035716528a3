import { assert, describe, it } from "@effect/vitest"
import { type Peer, TestServer } from "@errand/testing"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Rig from "./AgentRig.ts"

const { call, codeOf, shown } = Rig

const a = [TestServer.tool("client__a")]
const permissions = [{ tool: "client__a", allow: "ask" }] as const

/** Starts a turn whose model makes these calls. */
const started = Effect.fnUntraced(function*(tool_calls: ReadonlyArray<object>) {
  const server = yield* Rig.start({ permissions, script: [{ tool_calls }, { text: "{{results}}" }] })
  const session_id = yield* TestServer.session(server.peer, a)
  const { run_id } = yield* server.peer.ok("turn.start", { session_id, prompt: "go" })
  return { ...server, session_id, run_id: run_id as string }
})

/** What happened to the questions, in order. */
const story = (peer: Peer): ReadonlyArray<string> =>
  peer.frames.flatMap((frame) => {
    if (!("event" in frame)) return []
    const data = frame.data as { readonly outcome?: string; readonly reason?: string }
    switch (frame.event) {
      case "approval.requested":
        return ["asked"]
      case "approval.resolved":
        return [String(data.outcome)]
      case "run.finished":
        return ["finished"]
      case "connection.closing":
        return [String(data.reason)]
      default:
        return []
    }
  })

describe("section 5: approvals", () => {
  it.effect("TRN-8 an answer that is wrong in any field is stale, and so is a second one", () =>
    Effect.gen(function*() {
      const { peer, run_id, session_id } = yield* started([call("client__a"), call("act")])
      const { data: { approval_id } } = yield* peer.event("approval.requested")
      const right = { session_id, run_id, approval_id, allow: true }
      const other = "00000000-0000-4000-8000-000000000000"
      for (const wrong of [{ session_id: other }, { run_id: other }, { approval_id: other }]) {
        const { error } = yield* peer.request("approval.answer", { ...right, ...wrong })
        assert.strictEqual(error?.code, "stale_approval", JSON.stringify(wrong))
      }
      for (const allow of ["true", 1, null]) {
        assert.strictEqual((yield* peer.request("approval.answer", { ...right, allow })).error?.code, "invalid_params")
      }
      assert.deepStrictEqual(story(peer), ["asked"])
      assert.deepStrictEqual(yield* peer.ok("approval.answer", right), { accepted: true })
      assert.strictEqual((yield* peer.request("approval.answer", right)).error?.code, "stale_approval")
    }))

  it.effect("TRN-8 LIF-9 one question is out at a time; the next one is asked, and its time begins, when that is answered", () =>
    Effect.gen(function*() {
      const { peer, ran, run_id, session_id } = yield* started([call("act"), call("act")])
      const first = yield* peer.event("approval.requested")
      yield* TestClock.adjust(59_999)
      assert.deepStrictEqual(story(peer), ["asked"])
      assert.strictEqual((yield* peer.ok("status"))["pending_approvals"], 1)
      const { approval_id } = first.data
      yield* peer.ok("approval.answer", { session_id, run_id, approval_id, allow: true })
      const second = yield* peer.event("approval.requested")
      assert.strictEqual(second.data.expires_in_ms, 60_000)
      yield* TestClock.adjust(59_999)
      assert.deepStrictEqual(story(peer), ["asked", "allowed", "asked"])
      yield* TestClock.adjust(1)
      yield* peer.event("run.finished")
      assert.deepStrictEqual(story(peer), ["asked", "allowed", "asked", "expired", "finished"])
      const late = { session_id, run_id, approval_id: second.data.approval_id, allow: true }
      assert.strictEqual((yield* peer.request("approval.answer", late)).error?.code, "stale_approval")
      assert.deepStrictEqual(shown(peer).map((one) => [one.outcome, codeOf(one)]), [
        ["success", undefined],
        ["denied", "tool_denied"]
      ])
      assert.deepStrictEqual(ran, ["act"])
    }))

  it.effect("TRN-8 CAN-2 a cancelled run and a lost client resolve the question as cancelled, and ask no other", () =>
    Effect.gen(function*() {
      const both = [call("client__a"), call("client__a")]
      const cancelled = yield* started(both)
      const { session_id, run_id } = cancelled
      const { data: { approval_id } } = yield* cancelled.peer.event("approval.requested")
      yield* cancelled.peer.ok("turn.cancel", { session_id, run_id })
      yield* cancelled.peer.event("run.finished")
      assert.deepStrictEqual(story(cancelled.peer), ["asked", "cancelled", "finished"])
      const late = yield* cancelled.peer.request("approval.answer", { session_id, run_id, approval_id, allow: true })
      assert.strictEqual(late.error?.code, "stale_approval")
      assert.deepStrictEqual(cancelled.peer.events("client.tool.call"), [])

      const lost = yield* started(both)
      yield* lost.peer.event("approval.requested")
      lost.end()
      yield* lost.closed
      assert.deepStrictEqual(story(lost.peer), ["asked", "cancelled", "finished", "input_closed"])
    }))

  it.effect("TRN-8 WIR-17 a question shows the tool and its arguments, protected on both levels, in 2,000 characters", () =>
    Effect.gen(function*() {
      const shownFor = Effect.fnUntraced(function*(args: object) {
        const { peer } = yield* started([call("client__a", args)])
        return (yield* peer.event("approval.requested")).data.summary
      })
      assert.strictEqual(
        yield* shownFor({ token: "abc", text: "password=hunter2hunter2 \u202e", n: 1 }),
        "client__a {\"token\":\"[redacted]\",\"text\":\"password=[redacted] \ufffd\",\"n\":1}"
      )
      const head = "client__a {\"text\":\""
      for (const more of [-1, 0, 1]) {
        const text = "x ".repeat(1000).slice(0, 2000 - head.length - 2 + more)
        assert.strictEqual(yield* shownFor({ text }), `${head}${text}"}`.slice(0, 2000))
      }
    }))

  it.effect("TRN-8 WIR-17 what a tool itself says of a call is protected and bounded the same", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        permissions: [{ tool: "look", allow: "ask" }],
        summary: () => `look password=hunter2hunter2 ${"x ".repeat(2000)}`,
        script: [{ tool_calls: [call("look")] }]
      })
      const session_id = yield* TestServer.session(peer)
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const { data: { summary } } = yield* peer.event("approval.requested")
      assert.match(summary, /^look password=\[redacted\] x x /)
      assert.strictEqual(summary.length, 2000)
    }))
})
