/** Faults that others reported of their systems, tried on ours as a client does (rows of group E: JSON and text). */
import { assert, describe, it } from "@effect/vitest"
import { type Peer, TestServer } from "@errand/testing"
import { Effect } from "effect"

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

/** A turn in which the one call is answered so; gives the text of its result as the model reads it. */
const answered = Effect.fnUntraced(function*(peer: Peer, session_id: string, fields: object) {
  yield* go(peer, session_id)
  yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call"), fields))
  return yield* given(peer)
})

describe("faults, group E: JSON and text", () => {
  const exact =
    `{"a":9007199254740993,"b":-0,"c":1.10,"d":2512292042121000001,"__proto__":{"x":1},"2":0,"1":0,"e":"\\u0000"}`

  it.effect("faults E7 FRM-12 digits, -0, key order and __proto__ reach the client and come back to the model unchanged", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start({
        script: [{ tool_calls: [{ name: "client__a", arguments_text: exact }] }, { text: "{{results}}" }]
      })
      const session_id = yield* TestServer.session(peer, tools)
      yield* go(peer, session_id)
      const published = yield* peer.event("client.tool.call")
      assert.include(peer.lines.find((line) => line.includes("client.tool.call")), `"arguments":${exact},`)
      const back = exact.replace(",\"e\":\"\\u0000\"", "")
      const params = JSON.stringify(peer.answer(published, { structured: 0 })).replace(
        "\"structured\":0",
        `"structured":${back}`
      )
      duplex.write(`{"id":"r","method":"client.tool.result","params":${params}}\n`)
      assert.include(yield* given(peer), `"structured":${back}}`)
      assert.isUndefined(Object.prototype["x" as never])
    }))

  const refused: ReadonlyArray<string> = [
    "{\"a\":1e400}",
    "{\"a\":\"\\ud83d\"}",
    "{\"a\":1,\"\\u0061\":2}",
    "{\"a\":{\"b\":[{\"c\":1,\"c\":1}]}}",
    "{\"a\":NaN}",
    "[{}]",
    "\"{}\"",
    "null",
    "{\"a\":1",
    "{}{}"
  ]
  it.effect.each(refused)(
    "faults E1, E7, E8, E10 CAL-4 arguments %s fail for the model, and the client sees nothing of them",
    (text) =>
      Effect.gen(function*() {
        const { peer } = yield* TestServer.start({
          script: [{ tool_calls: [{ name: "client__a", arguments_text: text }] }, { text: "{{results}}" }]
        })
        yield* go(peer, yield* TestServer.session(peer, tools))
        assert.include(yield* given(peer), "client_tool_invalid_arguments")
        assert.deepStrictEqual(peer.events("client.tool.call"), [])
      })
  )

  it.effect("faults E2 PRO-4 a NUL becomes U+FFFD, and the six characters of its escape stay what they are", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: one })
      const session_id = yield* TestServer.session(peer, tools)
      const text = yield* answered(peer, session_id, { text: "a\u0000b \\u0000", structured: { "k": "\u0000\\u0000" } })
      assert.deepInclude(JSON.parse(text)[0].result, {
        text: "a\ufffdb \\u0000",
        structured: { k: "\ufffd\\u0000" }
      })
    }))

  it.effect("faults E5, E6 FRM-2 FRM-8 FRM-10 frames that end in CRLF, come byte by byte or several at once are the same frames", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start({ script: one })
      const session_id = yield* TestServer.session(peer, tools)
      duplex.write("{\"id\":\"crlf\",\"method\":\"status\"}\r\n\r\n \t\r\n")
      assert.isDefined((yield* peer.response("crlf")).result)
      yield* go(peer, session_id)
      const params = peer.answer(yield* peer.event("client.tool.call"), { text: "a\r\nb 😀\r" })
      for (
        const byte of new TextEncoder().encode(
          `${JSON.stringify({ id: "r", method: "client.tool.result", params })}\r\n`
        )
      ) {
        duplex.write(Uint8Array.of(byte))
      }
      assert.strictEqual(JSON.parse(yield* given(peer))[0].result.text, "a\r\nb 😀\r")
      duplex.write("{\"id\":\"x\",\"method\":\"status\"}\n{\"id\":\"y\",\"method\":\"status\"}\n")
      for (const id of ["x", "y"]) assert.isDefined((yield* peer.response(id)).result)
    }))

  it.effect("faults E8 FRM-6 a result with a repeated key at any depth is no frame, and the call waits on", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start({ script: one })
      yield* go(peer, yield* TestServer.session(peer, tools))
      const params = JSON.stringify(peer.answer(yield* peer.event("client.tool.call"), { structured: {} }))
      const wrong = [
        params.replace("\"status\":\"success\"", "\"status\":\"success\",\"status\":\"error\""),
        params.replace("\"status\":\"success\"", "\"status\":\"success\",\"st\\u0061tus\":\"error\""),
        params.replace("\"structured\":{}", "\"structured\":[{\"a\":{\"b\":1,\"\\u0062\":2}}]"),
        params.replace("\"structured\":{}", "\"structured\":{\"__proto__\":1,\"__proto__\":2}")
      ]
      for (const [i, text] of wrong.entries()) {
        duplex.write(`{"id":"w${i}","method":"client.tool.result","params":${text}}\n`)
        assert.strictEqual((yield* peer.response(null)).error?.code, "invalid_frame", text)
      }
      duplex.write(`{"id":"w0","method":"client.tool.result","params":${params}}\n`)
      assert.include(yield* given(peer), "\"outcome\":\"success\"")
    }))

  it.effect("faults E12 RES-2 structured that is absent, null or empty reaches the model as such", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: Array.from({ length: 3 }, () => [{ tool_calls: [call()] }, { text: "{{results}}" }]).flat()
      })
      const session_id = yield* TestServer.session(peer, tools)
      assert.match(yield* answered(peer, session_id, {}), /"result":\{"text":"fine"\}\}\]$/)
      assert.match(yield* answered(peer, session_id, { structured: null }), /"text":"fine","structured":null\}\}\]$/)
      assert.match(yield* answered(peer, session_id, { structured: {} }), /"text":"fine","structured":\{\}\}\}\]$/)
    }))

  it.effect("faults E14 PRO-2 PRO-5 two secret-looking keys are both kept; two keys that become one reject the result by name", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: Array.from({ length: 2 }, () => [{ tool_calls: [call()] }, { text: "{{results}}" }]).flat()
      })
      const session_id = yield* TestServer.session(peer, tools)
      const kept = yield* answered(peer, session_id, { structured: { password: 1, api_key: "x", note: "n" } })
      assert.deepStrictEqual(JSON.parse(kept)[0].result.structured, {
        password: "[redacted]",
        api_key: "[redacted]",
        note: "n"
      })
      const secret = (end: string) => `ghp_${"a".repeat(35)}${end}`
      const lost = yield* answered(peer, session_id, { structured: { [secret("1")]: 1, [secret("2")]: 2 } })
      assert.include(lost, "client_tool_result_rejected")
    }))
})
