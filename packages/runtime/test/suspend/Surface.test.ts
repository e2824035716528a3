import { assert, describe, it } from "@effect/vitest"
import { Alias, ClientTool, ClientToolset, Fingerprint, Surface } from "@errand/runtime/suspend"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { builtin, failed, ok, reordered, surfaceOf } from "./Fixture.ts"

const tool = (name: string, more: object = {}) =>
  ok(ClientTool.raw({ name, description: "d", parameters: { type: "object" }, ...more }))
const set = (id: string, ...tools: ReadonlyArray<ClientTool.ClientTool>) => ok(ClientToolset.make(id, tools))
const spec = (allowRunOverride: boolean, ...defaultToolsets: ReadonlyArray<ClientToolset.ClientToolset>) =>
  ok(ClientToolset.spec({ defaultToolsets, allowRunOverride }))

const base = { others: [], rules: [] }
const defaults = set("d", tool("a", { instruction: "Use a." }), tool("b"), tool("c", { instruction: "Use c." }))
const names = (surface: Surface.Surface) => surface.offered.map((tool) => tool.name)

describe("harness 2: the surface of one run", () => {
  it("SUR-1 absent keeps the defaults, a list replaces them all, the empty list clears", () => {
    const clientTools = spec(true, defaults)
    const others = [builtin("z", "allow")]
    assert.deepStrictEqual(names(ok(Surface.make({ ...base, others, clientTools }))), ["z", "a", "b", "c"])
    assert.deepStrictEqual(
      names(ok(Surface.make({ ...base, others, clientTools, clientToolsets: [set("d", tool("n"))] }))),
      ["z", "n"]
    )
    assert.deepStrictEqual(names(ok(Surface.make({ ...base, others, clientTools, clientToolsets: [] }))), ["z"])
  })

  it.each([[[]], [[set("n", tool("n"))]]])("SUR-2 given though not allowed, also the empty list", (clientToolsets) => {
    const error = failed(Surface.make({ ...base, clientTools: spec(false, defaults), clientToolsets }))
    assert.strictEqual(error.code, "client_tools_override_forbidden")
  })

  it.each([[[]], [[set("n", tool("n"))]]])(
    "SUR-2 given though the definition owns no client tools",
    (clientToolsets) => {
      assert.strictEqual(
        failed(Surface.make({ ...base, clientTools: null, clientToolsets })).code,
        "client_tools_owner_missing"
      )
    }
  )

  it("SUR-3 a wrapper that renames a client tool is refused; one that renames others is not asked", () => {
    const error = failed(Surface.make({ ...base, clientTools: spec(false, defaults), rename: (name) => `p_${name}` }))
    assert.strictEqual(error.code, "client_tool_name_changed")
    assert.deepStrictEqual(error.details, { tool: "a", toolsetId: "d", renamedTo: "p_a" })
    const rename = (name: string) => name
    assert.deepStrictEqual(names(ok(Surface.make({ ...base, clientTools: spec(false, defaults), rename }))), [
      "a",
      "b",
      "c"
    ])
  })

  it("SUR-3 HRN-D6 an effective permission that asks is refused, unless the declaration denies anyway", () => {
    const rules = [{ tool: "b", allow: "ask" as const }]
    const error = failed(Surface.make({ ...base, clientTools: spec(false, defaults), rules }))
    assert.strictEqual(error.code, "tool_permission_unsupported")
    assert.strictEqual(error.details.tool, "b")
    const denied = spec(false, set("d", tool("b", { permission: "deny" })))
    assert.strictEqual(ok(Surface.make({ ...base, clientTools: denied, rules })).tools.get("b")?.permission, "deny")
  })

  it("SUR-4 HRN-D6 HRN-D7 a deny of the rules or of the declaration is no error; the tool is known but not offered, its instruction left out", () => {
    const clientTools = spec(
      false,
      set(
        "d",
        tool("a", { permission: "deny", instruction: "A" }),
        tool("b", { instruction: "B", permission: "allow" }),
        tool("c")
      )
    )
    const surface = ok(Surface.make({ ...base, clientTools, rules: [{ tool: "b", allow: false }] }))
    assert.deepStrictEqual(names(surface), ["c"])
    assert.deepStrictEqual([...surface.tools].map(([name, { permission }]) => [name, permission]), [["a", "deny"], [
      "b",
      "deny"
    ], ["c", "allow"]])
    assert.deepStrictEqual(surface.instructions, [])
    assert.deepStrictEqual([...surface.fingerprints.keys()], ["c"])
  })

  it("SUR-6 HRN-D8 without support for deferral client tools, tools that ask, and instructions are left out", () => {
    const others = [builtin("asks"), builtin("runs", "allow")]
    const surface = ok(
      Surface.make({ ...base, others, clientTools: spec(false, defaults), deferredToolsSupported: false })
    )
    assert.deepStrictEqual(names(surface), ["runs"])
    assert.deepStrictEqual(surface.instructions, [])
  })

  it("DCL-7, PRM-3 a client tool cannot take the name of another tool of the surface", () => {
    const error = failed(Surface.make({ ...base, others: [builtin("b")], clientTools: spec(false, defaults) }))
    assert.strictEqual(error.code, "client_tool_duplicate")
    assert.deepStrictEqual(error.details, { tool: "b", toolsetId: "d" })
  })

  it("DCL-7 two tools of the process cannot have one name", () => {
    const others = [builtin("x"), builtin("y"), builtin("x", "deny")]
    const error = failed(Surface.make({ ...base, clientTools: null, others }))
    assert.strictEqual(error.code, "client_tool_duplicate")
    assert.deepStrictEqual(error.details, { tool: "x" })
  })

  it("DCL-7 HRN-D9 toolsets of a run are checked together like those of a definition", () => {
    const clientToolsets = [set("s", tool("a")), set("s", tool("b"))]
    assert.strictEqual(
      failed(Surface.make({ ...base, clientTools: spec(true), clientToolsets })).code,
      "client_toolset_duplicate"
    )
  })

  it("DCL-9 instructions come in declaration order, one block per tool that has one", () => {
    const clientTools = spec(false, defaults, set("e", tool("_0", { instruction: "Use 0." })))
    assert.deepStrictEqual(ok(Surface.make({ ...base, clientTools })).instructions, [
      { tool: "a", text: "Use a." },
      { tool: "c", text: "Use c." },
      { tool: "_0", text: "Use 0." }
    ])
  })
})

describe("harness 4: fingerprints", () => {
  const identity = {
    kind: "client",
    toolsetId: "s",
    name: "n",
    description: "d \"é\"",
    canonicalParameters: "{\"a\":1,\"type\":\"object\"}"
  } as const

  it("SUS-6 a fingerprint is SHA-256 of the canonical JSON of kind, toolset, name, description and parameters", () => {
    const canonical = JSON.stringify({
      description: "d \"é\"",
      kind: "client",
      name: "n",
      parameters: { a: 1, type: "object" },
      toolset_id: "s"
    })
    assert.strictEqual(Fingerprint.of(identity), createHash("sha256").update(canonical).digest("hex"))
  })

  it("SUS-6 each of the five parts counts, the key order of parameters and all else does not", () => {
    const parts = { kind: "mcp", toolsetId: null, name: "m", description: "e", canonicalParameters: "{}" } as const
    const all = [identity, ...Object.entries(parts).map(([key, value]) => ({ ...identity, [key]: value }))].map(
      Fingerprint.of
    )
    assert.strictEqual(new Set(all).size, 6)
    const parameters = { type: "object", properties: { a: { type: "string" }, b: { enum: [{ x: 1, y: 2 }] } } }
    const of = (more: object) => {
      const toolset = set("s", tool("t", more))
      return surfaceOf({ clientToolsets: [toolset] }).tools.get("t")?.fingerprint
    }
    assert.strictEqual(
      of({ parameters }),
      of({ parameters: reordered(parameters), instruction: "i", retrySafe: true, metadata: { a: 1 } })
    )
    assert.notStrictEqual(of({ parameters }), of({ parameters: { ...parameters, title: "t" } }))
  })
})

describe("harness 1: aliases", () => {
  const openai = { legal: /^[a-zA-Z0-9_-]{1,64}$/, maxLength: 64 }
  const Name = Arbitrary.schema(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(80)))
  const Chosen = Arbitrary.schema(
    Schema.Literals(["a.b", "a:b", "a_b", "a-b", "a b", "é", "a".repeat(64), "a".repeat(65), "a".repeat(66)])
  )

  it("DCL-10 a legal name stays itself", () => {
    const aliases = Alias.make(openai)
    for (const name of ["a", "A-9_", "a".repeat(64)]) assert.strictEqual(aliases.toProvider(name), name)
  })

  it("DCL-10 HRN-D22, faults F1 an alias is legal, readable, and the same in every table", () => {
    const alias = Alias.make(openai).toProvider("mcp.server:tool")
    assert.match(alias, /^mcp_server_tool_x[0-9a-f]{16}$/)
    const other = Alias.make(openai)
    other.toProvider("mcp_server:tool")
    assert.strictEqual(other.toProvider("mcp.server:tool"), alias)
  })

  it("DCL-10 HRN-D22 a declared name that is another's alias gets an alias of its own", () => {
    const taken = Alias.make(openai).toProvider("a.b")
    for (const order of [[taken, "a.b"], ["a.b", taken]]) {
      const aliases = Alias.make(openai)
      const given = order.map(aliases.toProvider)
      assert.strictEqual(new Set(given).size, 2)
      assert.strictEqual(given[order.indexOf("a.b")], taken)
      assert.deepStrictEqual(given.map(aliases.toDeclared), order)
    }
  })

  it.prop("DCL-10 no two names share an alias, each alias is legal and leads back", {
    some: Arbitrary.array(Name),
    chosen: Arbitrary.array(Chosen)
  }, ({ chosen, some }) => {
    for (const rules of [openai, { legal: /^[a-zA-Z][a-zA-Z0-9_]*$/g, maxLength: 32 }]) {
      const aliases = Alias.make(rules)
      const all = [...new Set([...some, ...chosen])]
      const given = all.map(aliases.toProvider)
      assert.strictEqual(new Set(given).size, all.length)
      assert.deepStrictEqual(given.map(aliases.toDeclared), all)
      assert.isTrue(
        given.every((alias) => new RegExp(rules.legal.source).test(alias) && alias.length <= rules.maxLength)
      )
    }
  })
})
