/** Faults that others reported of their systems, tried on ours as a client does (rows of groups A, B, C, G and H). */
import { assert, describe, it } from "@effect/vitest"
import { type Peer, TestServer } from "@errand/testing"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const call = (args: unknown = {}) => ({ name: "client__a", arguments: args })
const tools = [TestServer.tool("client__a")]
const one = [{ tool_calls: [call()] }, { text: "{{results}}", times: 9 }]

const go = Effect.fnUntraced(function*(peer: Peer, session_id: string) {
  return (yield* peer.ok("turn.start", { session_id, prompt: "go" }))["run_id"] as string
})

/** The text that the model was given as results, as it came. */
const given = Effect.fnUntraced(function*(peer: Peer) {
  yield* peer.event("run.finished")
  return peer.events("message.reconcile").at(-1)!.text
})

describe("faults, groups A and B: who gets which answer", () => {
  const four = [{ tool_calls: [1, 2, 3, 4].map((n) => call({ n })) }, { text: "{{results}}" }]

  it.effect("faults A1, A5 RES-9 four calls of one step are four events; answered in another order, each has its own result", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: four })
      yield* go(peer, yield* TestServer.session(peer, tools))
      const calls = []
      for (let n = 0; n < 4; n++) calls.push(yield* peer.event("client.tool.call"))
      assert.deepStrictEqual(calls.map(({ data }) => data.arguments), [1, 2, 3, 4].map((n) => ({ n })))
      assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 4)
      for (const n of [2, 0, 3, 1]) yield* peer.ok("client.tool.result", peer.answer(calls[n]!, { text: `of ${n}` }))
      const results = JSON.parse(yield* given(peer))
      assert.deepStrictEqual(
        results.map((one: { result: object }) => one.result),
        [0, 1, 2, 3].map((n) => ({
          text: `of ${n}`
        }))
      )
    }))

  it.effect("faults B1 RES-7 CAL-7 the same result twice, or a result and the deadline together: one of them stands", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: four })
      const session_id = yield* TestServer.session(peer, tools)
      yield* go(peer, session_id)
      const calls = []
      for (let n = 0; n < 4; n++) calls.push(yield* peer.event("client.tool.call"))
      yield* peer.ok("client.tool.result", peer.answer(calls[0]!, { text: "first" }))
      assert.strictEqual(
        yield* peer.code("client.tool.result", peer.answer(calls[0]!, { text: "second" })),
        "stale_client_tool_call"
      )
      yield* TestClock.adjust("29999 millis")
      yield* peer.ok("client.tool.result", peer.answer(calls[1]!, { text: "in time" }))
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* peer.code("client.tool.result", peer.answer(calls[2]!)), "stale_client_tool_call")
      const results = JSON.parse(yield* given(peer)) as ReadonlyArray<{ result: { text?: string } }>
      assert.deepStrictEqual(results.map(({ result }) => result.text), ["first", "in time", undefined, undefined])
      assert.deepStrictEqual(
        peer.events("client.tool.cancel").map(({ call_id }) => call_id),
        [calls[2]!, calls[3]!].map(({ data }) => data.call_id)
      )
      // what history shows are the four ends, each once
      const { entries } = yield* peer.ok("history.page", { session_id })
      const shown = (entries as ReadonlyArray<{ kind: string; status?: string }>).filter(({ kind }) => kind === "tool")
      assert.deepStrictEqual(shown.map(({ status }) => status), ["success", "success", "failure", "failure"])
    }))
})

describe("faults, group C: time", () => {
  it.effect("faults C1, C3, C15 CAL-6 a tool that works longer than its deadline: the model is told that it may have executed, and the late result is stale", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: one })
      const session_id = yield* TestServer.session(peer, tools)
      yield* go(peer, session_id)
      const published = yield* peer.event("client.tool.call")
      yield* TestClock.adjust("30 seconds")
      assert.match(yield* given(peer), /client_tool_timeout.*may have executed/)
      assert.deepStrictEqual(peer.events("client.tool.cancel").map(({ reason }) => reason), ["timeout"])
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(yield* peer.code("client.tool.result", peer.answer(published)), "stale_client_tool_call")
      assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 0)
    }))

  it.effect("faults C6, H3 CAN-1 TRN-5 a cancel while two of three calls wait ends each once, before the run, and leaves valid history", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: [call(1), call({ n: 1 }), call({ n: 2 }), call({ n: 3 })] }, {
          text: "{{roles}}\n{{results}}"
        }]
      })
      const session_id = yield* TestServer.session(peer, tools)
      const run_id = yield* go(peer, session_id)
      const calls = [
        yield* peer.event("client.tool.call"),
        yield* peer.event("client.tool.call"),
        yield* peer.event("client.tool.call")
      ]
      yield* peer.ok("client.tool.result", peer.answer(calls[1]!, { text: "kept" }))
      yield* peer.ok("turn.cancel", { session_id, run_id })
      yield* peer.event("run.finished")
      assert.deepStrictEqual(
        peer.events("client.tool.cancel").map(({ call_id, reason }) => [call_id, reason]),
        [calls[0]!, calls[2]!].map(({ data }) => [data.call_id, "cancelled"])
      )
      const ends = peer.events("tool.activity").filter(({ status }) => status !== "running")
      assert.deepStrictEqual(ends.map(({ status }) => status).sort(), ["cancelled", "cancelled", "failure", "success"])
      assert.strictEqual(new Set(ends.map(({ activity_id }) => activity_id)).size, 4)
      const names = peer.frames.flatMap((frame) => "event" in frame ? [frame.event] : [])
      assert.strictEqual(names.at(-1), "run.finished")
      yield* go(peer, session_id)
      const [roles, results] = (yield* given(peer)).split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(roles, ["user", "assistant", "tool", "user"])
      assert.deepStrictEqual(results.map((one: { outcome: string }) => one.outcome), [
        "failure",
        "cancelled",
        "success",
        "cancelled"
      ])
    }))

  it.effect("faults C7 CAN-3 RES-5 results long after a cancel are refused one by one, and nothing of them stays", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: Array.from({ length: 16 }, () => call()), times: 5 }, { text: "end" }]
      })
      const session_id = yield* TestServer.session(peer, tools)
      for (let turn = 0; turn < 5; turn++) {
        const run_id = yield* go(peer, session_id)
        const calls = []
        for (let n = 0; n < 16; n++) calls.push(yield* peer.event("client.tool.call"))
        yield* peer.ok("turn.cancel", { session_id, run_id })
        yield* peer.event("run.finished")
        yield* TestClock.adjust("5 minutes")
        for (const late of calls) {
          assert.strictEqual(yield* peer.code("client.tool.result", peer.answer(late)), "stale_client_tool_call")
        }
      }
      assert.deepInclude(yield* peer.ok("status"), { pending_calls: 0, run_id: null })
      // nothing was retried or rolled back: what was sent are the calls of the five turns, each once
      assert.strictEqual(new Set(peer.events("client.tool.call").map(({ call_id }) => call_id)).size, 80)
    }))

  it.effect("faults C9 REQ-2 an id that looks like nothing is an id, and what is no string is none", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start()
      for (const id of ["0", "null", "false", "__proto__", "constructor"]) {
        assert.isDefined((yield* peer.request("status", {}, id)).result)
        assert.strictEqual(yield* peer.code("status", {}, id), "duplicate_id")
      }
      for (const id of ["0", "\"\"", "null", "false", "[]", "\"a b\"", "\"é\""]) {
        duplex.write(`{"id":${id},"method":"status"}\n`)
        assert.strictEqual((yield* peer.response(null)).error?.code, "invalid_request", id)
      }
    }))

  it.effect("faults C10 TRN-2 a cancel of an unknown run has no effect on the one that runs", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: one })
      const session_id = yield* TestServer.session(peer, tools)
      const run_id = "00000000-0000-4000-8000-000000000000"
      assert.strictEqual(yield* peer.code("turn.cancel", { session_id, run_id }), "stale_run")
      yield* go(peer, session_id)
      const published = yield* peer.event("client.tool.call")
      assert.strictEqual(yield* peer.code("turn.cancel", { session_id, run_id }), "stale_run")
      yield* peer.ok("client.tool.result", peer.answer(published))
      assert.strictEqual((yield* peer.event("run.finished")).data.status, "completed")
    }))

  it.effect("faults C14 CLT-4 RES-4 a client that did not negotiate client tools never sees one, whatever the model calls", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: [one[0]!, { text: "{{tools}}\n{{results}}" }] })
      const result = yield* peer.ok("initialize", { required_capabilities: [] })
      assert.notInclude(JSON.stringify(result), "client")
      const { session_id } = yield* peer.ok("session.create")
      yield* go(peer, session_id as string)
      const [offered, results] = (yield* given(peer)).split("\n")
      assert.notInclude(offered, "client__")
      assert.include(results, "client_tool_unavailable")
      assert.deepStrictEqual([peer.events("client.tool.call"), peer.events("client.tool.cancel")], [[], []])
      assert.strictEqual(yield* peer.code("client.tool.result", {}), "unsupported_method")
    }))
})

describe("faults, group G: the pipe", () => {
  it.effect("faults G11 FRM-8 FRM-9 REQ-4 what is no frame is answered with a null id and counted; a blank line is neither", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start()
      const left = Effect.map(peer.ok("status"), (status) => status["request_ids_left"] as number)
      const before = yield* left
      const lines: ReadonlyArray<string | Uint8Array> = [
        "{",
        "{} {}",
        "{\"id\":\"a\",\"method\":\"status\"}{\"id\":\"b\",\"method\":\"status\"}",
        Uint8Array.of(0x22, 0xff, 0x22),
        "\ufeff{}",
        "{\"id\":\"a\",\"method\":\"status\",}"
      ]
      for (const line of lines) {
        duplex.write(line)
        duplex.write("\n\n \t \r\n")
        assert.strictEqual((yield* peer.response(null)).error?.code, "invalid_frame", String(line))
      }
      for (const line of ["[]", "null", "1", "{}", "\"status\""]) {
        duplex.write(`${line}\n`)
        assert.match((yield* peer.response(null)).error!.code, /^invalid_(frame|request)$/, line)
      }
      assert.strictEqual(yield* left, before - lines.length - 5 - 1)
      for (const id of ["a", "b"]) assert.isDefined((yield* peer.request("status", {}, id)).result)
    }))
})
