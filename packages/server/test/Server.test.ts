import { assert, describe, it } from "@effect/vitest"
import type { Events } from "@errand/protocol"
import { type Peer, TestServer } from "@errand/testing"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const NOBODY = "00000000-0000-4000-8000-000000000000"
const call = (name: string, args: unknown = {}, id?: string) => ({
  name,
  arguments: args,
  ...(id === undefined ? {} : { id })
})
const clientA = [TestServer.tool("client__a")]

/** Starts a turn; gives its run. */
const turn = Effect.fnUntraced(function*(peer: Peer, session_id: string, prompt = "go") {
  const { run_id } = yield* peer.ok("turn.start", { session_id, prompt })
  return run_id as string
})

/** The `{{results}}` that a finished run has as its last text. */
const results = Effect.fnUntraced(function*(peer: Peer) {
  yield* peer.event("run.finished")
  const text = peer.events("message.reconcile").at(-1)?.text ?? "[]"
  return JSON.parse(text) as ReadonlyArray<{ id: string; outcome: string; result: { text?: string } }>
})

describe("sections 2 and 3: requests and lifecycle", () => {
  it.effect("REQ-9 LIF-1 the first check that fails answers", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start()
      yield* peer.ok("status")
      assert.strictEqual(yield* peer.code("nope", { x: 1 }, "q1"), "duplicate_id")
      assert.strictEqual(yield* peer.code("nope"), "unsupported_method")
      assert.strictEqual(yield* peer.code("session.create", { x: 1 }), "not_initialized")
      yield* peer.ok("initialize", { required_capabilities: [] })
      assert.strictEqual(yield* peer.code("initialize", { x: 1 }), "already_initialized")
      assert.strictEqual(yield* peer.code("client.tool.result", {}), "unsupported_method")
      assert.strictEqual(yield* peer.code("turn.start", { session_id: "none", prompt: "" }), "invalid_params")
      assert.strictEqual(yield* peer.code("turn.start", { session_id: "none", prompt: "x" }), "session_not_attached")
    }))

  it.effect("REQ-7 REQ-8 seq counts without gaps over all events, under one instance id", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ deltas: ["a", "b"], tool_calls: [call("client__none")] }, { text: "c" }]
      })
      const session = yield* TestServer.session(peer)
      yield* turn(peer, session)
      yield* peer.event("run.finished")
      const events = peer.frames.filter((frame) => "event" in frame)
      assert.deepStrictEqual(events.map((event) => "seq" in event && event.seq), events.map((_, i) => i + 1))
      assert.strictEqual(new Set(peer.frames.map((frame) => frame.instance_id)).size, 1)
    }))

  it.effect("LIF-10 CLS-2 shutdown is answered, requests behind it are refused, connection.closing is last", () =>
    Effect.gen(function*() {
      const { closed, duplex, peer } = yield* TestServer.start()
      yield* TestServer.session(peer)
      duplex.write("{\"id\":\"bye\",\"method\":\"shutdown\"}\n{\"id\":\"late\",\"method\":\"session.list\"}\n")
      assert.deepStrictEqual((yield* peer.response("bye")).result, {})
      assert.strictEqual((yield* peer.response("late")).error?.code, "shutting_down")
      assert.strictEqual(yield* closed, "shutdown")
      assert.deepStrictEqual(peer.events("connection.closing"), [{ reason: "shutdown" }])
      assert.include(peer.frames.at(-1), { event: "connection.closing", seq: 1 })
    }))

  it.effect("REQ-6 CLS-1 requests that were piped in before the end of input are answered", () =>
    Effect.gen(function*() {
      const { closed, duplex, peer } = yield* TestServer.start()
      duplex.write(
        "{\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"required_capabilities\":[]}}\n{\"id\":\"b\",\"method\":\"status\"}\n"
      )
      duplex.end()
      assert.isDefined((yield* peer.response("a")).result)
      assert.isDefined((yield* peer.response("b")).result)
      assert.strictEqual(yield* closed, "input_closed")
    }))
})

describe("section 5: turns", () => {
  it.effect("TRN-3 TRN-5 a run's events come in order, from run.started to run.finished", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ text: "hi", tool_calls: [call("client__a")] }, { text: "bye" }]
      })
      const session = yield* TestServer.session(peer, clientA)
      yield* turn(peer, session)
      yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call")))
      const finished = yield* peer.event("run.finished")
      const names = peer.frames.flatMap((frame) => "event" in frame ? [frame.event] : [])
      assert.deepStrictEqual(names, [
        "run.started",
        "message.delta",
        "message.reconcile",
        "tool.activity",
        "client.tool.call",
        "tool.activity",
        "message.delta",
        "message.reconcile",
        "run.finished"
      ])
      assert.deepStrictEqual(finished.data.usage, {
        input_tokens: 0,
        output_tokens: 0,
        model_requests: 2,
        tool_calls: 1
      })
    }))

  it.effect("TRN-9 CAN-2 a run that takes too long fails, and its open calls get run_finished", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: [{ tool_calls: [call("client__a")] }], runTimeoutMs: 5000 })
      const session = yield* TestServer.session(peer, clientA)
      yield* turn(peer, session)
      yield* peer.event("client.tool.call")
      yield* TestClock.adjust("5 seconds")
      const finished = yield* peer.event("run.finished")
      assert.deepStrictEqual([finished.data.status, finished.data.error?.code], ["failed", "run_timeout"])
      assert.deepStrictEqual(peer.events("client.tool.cancel").map(({ reason }) => reason), ["run_finished"])
      assert.isBelow(
        peer.frames.findIndex((frame) => "event" in frame && frame.event === "client.tool.cancel"),
        peer.frames.indexOf(finished as never)
      )
    }))

  it.effect("TRN-2 faults C5 a result after the cancel is stale and the next turn works", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: [call("client__a", {}, "k1")] }, { text: "{{results}}" }]
      })
      const session_id = yield* TestServer.session(peer, clientA)
      const run_id = yield* turn(peer, session_id)
      const published = yield* peer.event("client.tool.call")
      yield* peer.ok("turn.cancel", { session_id, run_id })
      assert.strictEqual((yield* peer.event("run.finished")).data.status, "cancelled")
      assert.strictEqual(yield* peer.code("client.tool.result", peer.answer(published)), "stale_client_tool_call")
      yield* turn(peer, session_id)
      const [result] = yield* results(peer)
      assert.deepInclude(result, { id: "k1", outcome: "cancelled" })
      assert.match(JSON.stringify(result), /may have executed/)
    }))

  it.effect("faults A9 two calls under one provider id are two calls with two answers", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: [call("client__a", { n: 1 }, "same"), call("client__a", { n: 2 }, "same")] }, {
          text: "{{results}}"
        }]
      })
      const session_id = yield* TestServer.session(peer, clientA)
      yield* turn(peer, session_id)
      const first = yield* peer.event("client.tool.call")
      const second = yield* peer.event("client.tool.call")
      yield* peer.ok("client.tool.result", peer.answer(second, { text: "two" }))
      yield* peer.ok("client.tool.result", peer.answer(first, { text: "one" }))
      const seen = yield* results(peer)
      assert.deepStrictEqual(seen.map(({ result }) => result.text), ["one", "two"])
      assert.strictEqual(new Set(seen.map(({ id }) => id)).size, 2)
    }))

  it.effect("faults G6 while a call waits, status, a cancel and a second answer are all handled", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: [call("client__a"), call("client__a")] }, { text: "x" }]
      })
      const session_id = yield* TestServer.session(peer, clientA)
      const run_id = yield* turn(peer, session_id)
      const first = yield* peer.event("client.tool.call")
      assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 2)
      yield* peer.ok("client.tool.result", peer.answer(first))
      assert.strictEqual(yield* peer.code("client.tool.result", peer.answer(first)), "stale_client_tool_call")
      yield* peer.ok("turn.cancel", { session_id, run_id })
      yield* peer.event("run.finished")
      assert.strictEqual(peer.events("client.tool.cancel").length, 1)
    }))
})

describe("section 10: results", () => {
  it.effect("faults A13 RES-5 a result for a made-up call is stale and the run is unaffected", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: [call("client__a")] }, { text: "{{results}}" }]
      })
      const session_id = yield* TestServer.session(peer, clientA)
      yield* turn(peer, session_id)
      const published = yield* peer.event("client.tool.call")
      for (const wrong of [{ call_id: NOBODY }, { instance_id: NOBODY }, { session_id: NOBODY }, { task_id: NOBODY }]) {
        assert.strictEqual(
          yield* peer.code("client.tool.result", peer.answer(published, wrong)),
          "stale_client_tool_call"
        )
      }
      yield* peer.ok("client.tool.result", peer.answer(published, { text: "mine" }))
      assert.strictEqual((yield* results(peer))[0]?.result.text, "mine")
    }))

  it.effect("faults A3 three results in one chunk are three results", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start({
        script: [{ tool_calls: [1, 2, 3].map((n) => call("client__a", { n })) }, { text: "{{results}}" }]
      })
      const session_id = yield* TestServer.session(peer, clientA)
      yield* turn(peer, session_id)
      const calls = [
        yield* peer.event("client.tool.call"),
        yield* peer.event("client.tool.call"),
        yield* peer.event("client.tool.call")
      ]
      duplex.write(
        calls.map((one, i) =>
          `${
            JSON.stringify({ id: `r${i}`, method: "client.tool.result", params: peer.answer(one, { text: String(i) }) })
          }\n`
        ).join("")
      )
      assert.deepStrictEqual((yield* results(peer)).map(({ result }) => result.text), ["0", "1", "2"])
    }))
})

describe("section 6: output and closing", () => {
  it.effect("OUT-2 CLS-1 output that nobody takes closes at its absolute deadline", () =>
    Effect.gen(function*() {
      const { closed, duplex, peer } = yield* TestServer.start()
      yield* TestServer.session(peer)
      duplex.stall(true)
      peer.post("status")
      const fiber = yield* Effect.forkChild(closed)
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "output_stalled")
    }))

  it.effect("OUT-3 while output waits, blank lines are read and requests are not", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start()
      yield* TestServer.session(peer)
      duplex.stall(true)
      const ids = Array.from({ length: 40 }, () => peer.post("status"))
      yield* TestClock.adjust(1)
      assert.isTrue(duplex.paused())
      duplex.stall(false)
      for (const id of ids) yield* peer.response(id)
      assert.isFalse(duplex.paused())
    }))

  it.effect("faults G5 CLS-1 a reader that stops for a second and goes on is served", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start({ script: [{ text: "long ".repeat(60_000) }] })
      const session_id = yield* TestServer.session(peer)
      yield* turn(peer, session_id)
      duplex.stall(true)
      yield* TestClock.adjust("1 seconds")
      duplex.stall(false)
      yield* peer.event("run.finished")
      assert.strictEqual(peer.events("message.reconcile").map(({ text }) => text).join(""), "long ".repeat(60_000))
    }))

  it.effect("faults G2 CLS-1 a reader that went away closes with output_closed", () =>
    Effect.gen(function*() {
      const { closed, duplex, peer } = yield* TestServer.start()
      yield* TestServer.session(peer)
      duplex.drop()
      peer.post("status")
      assert.strictEqual(yield* closed, "output_closed")
    }))

  const endings: Record<string, (server: TestServer.TestServer) => void> = {
    input_closed: ({ duplex }) => duplex.end(),
    terminated: ({ duplex }) => duplex.terminate(),
    internal_error: ({ duplex }) => duplex.fail(),
    input_overflow: ({ duplex }) => duplex.write(" ".repeat(65_537)),
    shutdown: ({ peer }) => void peer.post("shutdown")
  }
  for (const [reason, end] of Object.entries(endings)) {
    it.effect(`CLS-2 CAN-1 faults G8 ${reason}: each pending call gets one notice, the run ends cancelled, then closing`, () =>
      Effect.gen(function*() {
        const server = yield* TestServer.start({
          script: [{ tool_calls: [1, 2, 3].map((n) => call("client__a", { n })) }]
        })
        const { closed, peer } = server
        const session_id = yield* TestServer.session(peer, clientA)
        yield* turn(peer, session_id)
        for (let i = 0; i < 3; i++) yield* peer.event("client.tool.call")
        end(server)
        assert.strictEqual(yield* closed, reason)
        assert.deepStrictEqual(peer.events("client.tool.cancel").map(({ reason }) => reason), [
          "shutdown",
          "shutdown",
          "shutdown"
        ])
        const names = peer.frames.flatMap((frame) => "event" in frame ? [frame.event] : [])
        assert.deepStrictEqual(names.slice(-2), ["run.finished", "connection.closing"])
        assert.strictEqual(peer.events("run.finished")[0]?.status, "cancelled")
        assert.deepStrictEqual(peer.events("connection.closing"), [{ reason: reason as Events.ClosingReason }])
      }))
  }
})
