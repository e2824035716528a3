import { assert, describe, it } from "@effect/vitest"
import { CompactCatalog } from "@errand/runtime"
import { type Peer, TestServer } from "@errand/testing"
import { Effect } from "effect"
import * as RunCode from "../../src/codemode/RunCode.ts"
import { fixture, start as startServers, until } from "./McpRig.ts"

const call = (name: string, args: object = {}) => ({ name, arguments: args })

const start = Effect.fnUntraced(function*(
  script: NonNullable<TestServer.TestServerOptions["script"]>,
  options: TestServer.TestServerOptions = {}
) {
  const mcp = yield* startServers({ one: fixture() })
  const server = yield* TestServer.start({ ...options, script, mcp })
  const session_id = yield* TestServer.session(server.peer, [TestServer.tool("client__a")])
  const turn = server.peer.ok("turn.start", { session_id, prompt: "go" })
  return { ...server, mcp, turn }
})

const lastText = (peer: Peer) => peer.events("message.reconcile").at(-1)?.text ?? ""

/** Answers the next question with yes; gives it. */
const allow = Effect.fnUntraced(function*(peer: Peer) {
  const asked = yield* peer.event("approval.requested")
  const { approval_id, run_id, session_id } = asked.data
  yield* peer.ok("approval.answer", { session_id, run_id, approval_id, allow: true })
  return asked.data
})

describe("section 12: MCP tools in the pipeline", { timeout: 60_000 }, () => {
  it.effect("PRM-1 PRO-1 BLT-5 an MCP tool is asked for, and its result is protected like every result", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start([{ tool_calls: [call("mcp__one__fail", { a: 1 })] }, { text: "{{results}}" }])
      yield* turn
      const asked = yield* allow(peer)
      assert.deepStrictEqual([asked.name, asked.summary], ["mcp__one__fail", "mcp__one__fail {\"a\":1}"])
      yield* peer.event("run.finished")
      assert.include(lastText(peer), "it went wrong, token=[redacted]")
      assert.notInclude(lastText(peer), "abcdefgh12345678")
    }))

  it.effect("HKS-1 a rule may allow a server's tools or deny them", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start(
        [{ text: "{{tools}}", tool_calls: [call("mcp__one__echo", { a: 1 }), call("mcp__one__env")] }, {
          text: "{{results}}"
        }],
        { permissions: [{ tool: "mcp__one__*", allow: true }, { tool: "mcp__one__env", allow: false }] }
      )
      yield* turn
      yield* peer.event("run.finished")
      const [offered] = peer.events("message.reconcile")
      assert.include(offered?.text, "mcp__one__echo")
      assert.notInclude(offered?.text, "mcp__one__env")
      const results = JSON.parse(lastText(peer)) as ReadonlyArray<{ outcome: string }>
      assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["success", "denied"])
      assert.strictEqual(peer.events("approval.requested").length, 0)
    }))

  it.effect("BLT-5 tools that a server gains are offered from the next model request on", () =>
    Effect.gen(function*() {
      const { mcp, peer, turn } = yield* start(
        [{ text: "{{tools}}", tool_calls: [call("mcp__one__grow")] }, { text: "done" }, { text: "{{tools}}" }],
        { permissions: [{ tool: "*", allow: true }] }
      )
      const had = mcp.tools()
      yield* turn
      yield* peer.event("run.finished")
      yield* until(() => mcp.tools() !== had)
      yield* turn
      yield* peer.event("run.finished")
      const [before] = peer.events("message.reconcile")
      const names = (text: string | undefined) => JSON.parse(text ?? "[]") as ReadonlyArray<string>
      assert.deepStrictEqual(
        names(lastText(peer)).filter((name) => !names(before?.text).includes(name)),
        ["mcp__one__grown"]
      )
      assert.strictEqual(names(lastText(peer)).at(-1), "client__a")
    }))

  it.effect("BLT-4 PRM-2 in a compact catalog MCP tools are found and called through it, and asked for all the same", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start(
        [
          { text: "{{tools}}", tool_calls: [call("find_tools", { query: "gives back" })] },
          { text: "{{results}}", tool_calls: [call("call_tool", { name: "mcp__one__echo", arguments: { b: 2 } })] },
          { text: "{{results}}" }
        ],
        { catalog: "compact", locals: yield* CompactCatalog.tools }
      )
      yield* turn
      assert.strictEqual((yield* allow(peer)).name, "mcp__one__echo")
      yield* peer.event("run.finished")
      const [offered, found] = peer.events("message.reconcile")
      assert.strictEqual(offered?.text, "[\"find_tools\",\"call_tool\"]")
      assert.include(found?.text, "mcp__one__echo")
      assert.include(lastText(peer), "\"structured\":{\"b\":2}")
    }))

  it.effect("BLT-3 BLT-5 code calls MCP tools under the rules for code", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start(
        [
          call("run_code", {
            code: "return (await tools.call('mcp__one__echo', {big: 12345678901234567890n})).structured"
          }),
          { text: "{{results}}" }
        ].map((step) => "name" in step ? { tool_calls: [step] } : step),
        {
          locals: [yield* RunCode.make({})],
          permissions: [{ tool: "mcp__*", surface: "code", allow: true }, { tool: "mcp__*", allow: false }]
        }
      )
      yield* turn
      yield* peer.event("run.finished")
      assert.include(lastText(peer), "\"structured\":{\"big\":12345678901234567890}")
    }))
})
