import { assert, describe, it } from "@effect/vitest"
import { Limits } from "@errand/protocol"
import { CompactCatalog } from "@errand/runtime"
import { TestServer } from "@errand/testing"
import { Deferred, Effect } from "effect"
import * as Rig from "./AgentRig.ts"

const { call, codeOf, shown, task, turn } = Rig

const lookup = TestServer.tool("client__lookup", {
  description: "Finds a record.",
  input_schema: { type: "object", properties: { password: { type: "string" }, id: { const: 9 } } }
})
const write = TestServer.tool("client__write", { description: "Writes a record." })

describe("program 3: the compact catalog", () => {
  it.effect("BLT-4 PRM-2 find_tools shows what is permitted, with the schema unchanged", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        catalog: "compact",
        permissions: [{ tool: "client__write", allow: false }],
        script: [{ tool_calls: [call("find_tools", { query: "RECORD, please" })] }, { text: "{{results}}" }]
      })
      yield* turn(peer, yield* TestServer.session(peer, [lookup, write]))
      const [line, ...rest] = (shown(peer)[0]?.result.text ?? "").split("\n")
      assert.deepStrictEqual(rest, [])
      assert.deepStrictEqual(JSON.parse(line ?? ""), {
        name: "client__lookup",
        description: "Finds a record.",
        input_schema: { type: "object", properties: { password: { type: "string" }, id: { const: 9 } } }
      })
    }))

  it.effect("BLT-4 the model is offered built-in tools and the two, never a lent tool", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({ catalog: "compact", script: [{ text: "{{tools}}" }] })
      yield* turn(peer, yield* TestServer.session(peer, [lookup]))
      assert.deepStrictEqual(JSON.parse(Rig.lastText(peer)), [
        "look",
        "act",
        "task",
        "run_code",
        "find_tools",
        "call_tool"
      ])
    }))

  it.effect("BLT-4 CAL-1 FRM-12 call_tool calls under the real name, with the digits it was given", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        catalog: "compact",
        script: [
          {
            tool_calls: [{
              name: "call_tool",
              arguments_text: "{\"name\":\"client__lookup\",\"arguments\":{\"id\":9007199254740993,\"__proto__\":-0}}"
            }]
          },
          { text: "{{results}}" }
        ]
      })
      const session_id = yield* TestServer.session(peer, [lookup])
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const published = yield* peer.event("client.tool.call")
      assert.strictEqual(published.data.name, "client__lookup")
      const line = peer.lines.find((one) => one.includes("client.tool.call"))
      assert.include(line, "\"arguments\":{\"id\":9007199254740993,\"__proto__\":-0}")
      yield* peer.ok("client.tool.result", peer.answer(published, { text: "seen", structured: { n: 1 } }))
      yield* peer.event("run.finished")
      assert.deepStrictEqual(shown(peer)[0]?.result, { text: "seen", structured: { n: 1 } })
      const activities = peer.events("tool.activity")
      const outer = activities.find(({ name }) => name === "call_tool")!
      assert.deepStrictEqual(
        activities.map(({ name, parent_id, status }) => [name, parent_id === outer.activity_id, status]),
        [["call_tool", false, "running"], ["client__lookup", true, "running"], ["client__lookup", true, "success"], [
          "call_tool",
          false,
          "success"
        ]]
      )
      const entries = yield* Rig.history(peer, session_id)
      assert.deepStrictEqual(entries.filter(({ kind }) => kind === "tool").map(({ name, status }) => [name, status]), [
        ["client__lookup", "success"],
        ["call_tool", "success"]
      ])
    }))

  it.effect("PRM-1 TRN-8 a rule that asks for a tool asks under its name when it is called through call_tool", () =>
    Effect.gen(function*() {
      const { peer, ran } = yield* Rig.start({
        catalog: "compact",
        permissions: [{ tool: "mcp__*", allow: "ask" }],
        script: [{ tool_calls: [call("call_tool", { name: "mcp__s__t" })] }, { text: "{{results}}" }]
      })
      const session_id = yield* TestServer.session(peer)
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const asked = yield* peer.event("approval.requested")
      assert.strictEqual(asked.data.name, "mcp__s__t")
      assert.deepStrictEqual(ran, [])
      yield* peer.ok("approval.answer", { session_id, run_id, approval_id: asked.data.approval_id, allow: true })
      yield* peer.event("run.finished")
      assert.deepStrictEqual(ran, ["mcp__s__t"])
    }))

  it.effect("HKS-1 WIR-26 a rule for the surface direct holds for what is found and called through the catalog, one for code does not", () =>
    Effect.gen(function*() {
      const { peer, ran } = yield* Rig.start({
        catalog: "compact",
        permissions: [
          { tool: "mcp__*", surface: "direct", allow: true },
          { tool: "mcp__*", surface: "code", allow: false },
          { tool: "client__write", surface: "direct", allow: false }
        ],
        script: [
          {
            tool_calls: [
              call("call_tool", { name: "mcp__s__t" }),
              call("call_tool", { name: "client__write" }),
              call("find_tools", { query: "" })
            ]
          },
          { text: "{{results}}" }
        ]
      })
      yield* turn(peer, yield* TestServer.session(peer, [write]))
      assert.deepStrictEqual(ran, ["mcp__s__t"])
      assert.deepStrictEqual(shown(peer).slice(0, 2).map((one) => codeOf(one) ?? one.outcome), [
        "success",
        "client_tool_denied"
      ])
      assert.strictEqual(JSON.parse(shown(peer)[2]?.result.text ?? "").name, "mcp__s__t")
    }))

  it.effect("CAL-4 the bounds of a client tool hold inside call_tool", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        catalog: "compact",
        script: [
          { tool_calls: [call("call_tool", { name: "client__write", arguments: { text: Rig.long(16_384) } })] },
          { text: "{{results}}" }
        ]
      })
      yield* turn(peer, yield* TestServer.session(peer, [write]))
      assert.strictEqual(codeOf(shown(peer)[0]), "client_tool_payload_limit")
      assert.deepStrictEqual(peer.events("client.tool.call"), [])
    }))

  it.effect("CAN-2 cancelling the turn cancels the call inside call_tool with one notice", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        catalog: "compact",
        script: [{ tool_calls: [call("call_tool", { name: "client__write" })] }]
      })
      const session_id = yield* TestServer.session(peer, [write])
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const published = yield* peer.event("client.tool.call")
      yield* peer.ok("turn.cancel", { session_id, run_id })
      yield* peer.event("run.finished")
      assert.deepStrictEqual(
        peer.events("client.tool.cancel").map(({ call_id, reason }) => [call_id, reason]),
        [[published.data.call_id, "cancelled"]]
      )
      assert.deepStrictEqual(
        peer.events("tool.activity").filter(({ status }) => status !== "running").map((
          { name, status }
        ) => [name, status]),
        [["client__write", "cancelled"], ["call_tool", "cancelled"]]
      )
    }))

  it.effect("CAL-7 RES-3 an answer that was accepted inside call_tool is recorded when the turn is cancelled then", () =>
    Effect.gen(function*() {
      const looking = yield* Deferred.make<void>()
      const { peer } = yield* Rig.start({
        catalog: "compact",
        script: [{ tool_calls: [call("call_tool", { name: "client__write" })] }, { text: "{{results}}" }],
        hooks: {
          before: () => Effect.succeed({ allow: true }),
          after: () => Effect.andThen(Deferred.succeed(looking, undefined), Effect.never)
        }
      })
      const session_id = yield* TestServer.session(peer, [write])
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call"), { text: "written" }))
      yield* Deferred.await(looking)
      yield* peer.ok("turn.cancel", { session_id, run_id })
      assert.strictEqual((yield* peer.event("run.finished")).data.status, "cancelled")
      yield* turn(peer, session_id)
      assert.deepStrictEqual(shown(peer).map(({ outcome, result }) => [outcome, result.text]), [["success", "written"]])
    }))

  it.effect("DEL-1 a task in a compact catalog finds and calls what it was given, under its own identity", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        catalog: "compact",
        script: {
          root: [{ tool_calls: [task("one", { tools: ["client__write"] })] }, { text: "{{results}}" }],
          tasks: {
            one: [
              { tool_calls: [call("find_tools", { query: "" })] },
              {
                text: "{{results}}",
                tool_calls: [
                  call("call_tool", { name: "client__write" }),
                  call("call_tool", { name: "client__lookup" })
                ]
              },
              { text: "{{results}}" }
            ]
          }
        }
      })
      const session_id = yield* TestServer.session(peer, [lookup, write])
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const published = yield* peer.event("client.tool.call")
      assert.isNotNull(published.data.task_id)
      yield* peer.ok("client.tool.result", peer.answer(published))
      yield* peer.event("run.finished")
      assert.deepStrictEqual(Rig.inside(shown(peer)[0]).map((one) => codeOf(one) ?? one.outcome), [
        "success",
        "client_tool_unavailable"
      ])
      const entries = yield* Rig.history(peer, session_id)
      const found = entries.find(({ task_id, text }) => task_id !== null && text?.includes("input_schema"))?.text
      assert.include(found, "client__write")
      assert.notInclude(found, "client__lookup")
    }))

  const offered = ["client__b_record", "client__a", "client__record"].map((name) => ({
    name,
    description: name === "client__a" ? "Reads a record." : "Other.",
    inputSchema: "{}" as never
  }))
  /** MCP tools that share a description, each with a schema of about so many bytes. */
  const lent = (...schemas: ReadonlyArray<number>) => ({
    tools: () =>
      schemas.map((bytes, index) => ({
        name: `mcp__s__t${index}`,
        description: "A tool.",
        inputSchema: JSON.stringify({ type: "object", description: Rig.long(bytes) }) as never,
        kind: "mcp" as const,
        timeoutMs: 0,
        inspection: false,
        otherwise: "allow" as const,
        server: "s",
        original: `t${index}`
      })),
    execute: () => Effect.die("nothing is called here")
  })
  const found = Effect.fnUntraced(function*(mcp: ReturnType<typeof lent>) {
    const { peer } = yield* Rig.start({
      catalog: "compact",
      mcp: { ...mcp, tools: ((tools) => () => tools)(mcp.tools()) },
      permissions: [{ tool: "mcp__s__t", allow: false }],
      script: [{ tool_calls: [call("find_tools", { query: "" })] }, { text: "{{results}}" }]
    })
    yield* turn(peer, yield* TestServer.session(peer))
    const text = peer.events("message.reconcile").map((part) => part.text).join("")
    return String((JSON.parse(text) as ReadonlyArray<Rig.Shown>)[0]?.result.text).split("\n")
  })

  it.effect("BLT-4 WIR-27 what is found has the bound of all results, and how many were left out is told", () =>
    Effect.gen(function*() {
      const lines = yield* found(lent(12_000, 12_000, 12_000, 12_000))
      assert.deepStrictEqual(lines.slice(0, 2).map((line) => JSON.parse(line).name), ["mcp__s__t0", "mcp__s__t1"])
      assert.deepStrictEqual(lines.slice(2), ["… 2 more found and left out; ask with other words."])
      assert.isBelow(lines.join("\n").length, Limits.defaults.clientTools.result_bytes)
    }))

  it.effect("BLT-4 WIR-27 a tool whose schema alone is too large is told without it, and hides no other", () =>
    Effect.gen(function*() {
      const lines = yield* found(lent(40_000, 100))
      assert.deepStrictEqual(lines.map((line) => Object.keys(JSON.parse(line))), [
        ["name", "description"],
        ["name", "description", "input_schema"]
      ])
    }))

  it("BLT-4 WIR-27 the first 32 words of a query count", () => {
    const words = (before: number) => [...Array.from({ length: before }, () => "x"), "record"].join(" ")
    assert.strictEqual(CompactCatalog.search(offered, words(31)).length, 3)
    assert.strictEqual(CompactCatalog.search(offered, words(32)).length, 0)
  })

  it("BLT-4 words in a name count more than words in a description; no words find all, in order", () => {
    const names = (query: string) => CompactCatalog.search(offered, query).map(({ name }) => name)
    assert.deepStrictEqual(names("  "), ["client__b_record", "client__a", "client__record"])
    assert.deepStrictEqual(names("Record"), ["client__b_record", "client__record", "client__a"])
    assert.deepStrictEqual(names("b RECORD"), ["client__b_record", "client__record", "client__a"])
    assert.deepStrictEqual(names("nothing like it"), [])
    assert.deepStrictEqual(names(".*+?^$(){}|[]\\"), names(""))
  })
})
