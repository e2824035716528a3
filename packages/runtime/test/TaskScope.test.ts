import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import { Catalog, type CatalogTool, type PermissionRule, Permissions, TaskScope, type ToolKind } from "@errand/runtime"
import { Effect, Layer } from "effect"
import { root } from "./RootAgent.ts"

const tool = (name: string, kind: ToolKind, inspection = false): CatalogTool => ({
  name,
  description: "",
  inputSchema: "{\"type\":\"object\"}" as JsonText,
  kind,
  timeoutMs: 1000,
  inspection,
  otherwise: "allow"
})
const tools = [
  tool("look", "builtin", true),
  tool("act", "builtin"),
  tool("client__a", "client"),
  tool("mcp__s__t", "mcp")
]

const under = (...rules: ReadonlyArray<PermissionRule>) =>
  Effect.provide(Catalog, Catalog.layerOf(tools).pipe(Layer.provide(Layer.succeed(Permissions, rules))), {
    local: true
  })

const general = { profile: "general" } as const
const inspect = { profile: "inspect" } as const

/** What an agent under a scope may have, whatever the rules say. */
const permitted = (scope: TaskScope.Scope, wish: TaskScope.Wish) =>
  tools.filter(TaskScope.viewOf(root, scope, wish).permits).map(({ name }) => name)

describe("section 12: saved scopes", () => {
  it.effect("DEL-2 WIR-23 a scope holds what the task could call on any surface, and nothing else", () =>
    Effect.gen(function*() {
      const saved = Effect.fnUntraced(function*(...rules: ReadonlyArray<PermissionRule>) {
        return TaskScope.make(root, yield* under(...rules), general).tools.map(({ name }) => name)
      })
      assert.deepStrictEqual(yield* saved(), ["client__a", "mcp__s__t"])
      for (const surface of ["direct", "code"] as const) {
        assert.deepStrictEqual(yield* saved({ tool: "client__a", surface, allow: false }), ["client__a", "mcp__s__t"])
      }
      assert.deepStrictEqual(yield* saved({ tool: "client__a", allow: false }), ["mcp__s__t"])
    }))

  it.effect("DEL-1 DEL-3 WIR-23 resuming under another profile narrows that execution, and never widens it", () =>
    Effect.gen(function*() {
      const catalog = yield* under()
      const wide = TaskScope.make(root, catalog, general)
      const narrow = TaskScope.make(root, catalog, inspect)
      assert.deepStrictEqual(permitted(wide, general), tools.map(({ name }) => name))
      assert.deepStrictEqual(permitted(wide, inspect), ["look"])
      assert.deepStrictEqual(permitted(narrow, general), ["look"])
      assert.deepStrictEqual(narrow.tools, [])
    }))

  it.effect("DEL-3 WIR-23 a scope that is missing, damaged or of a later version gives looking, to the root's tasks", () =>
    Effect.gen(function*() {
      const scope = TaskScope.make(root, yield* under(), general)
      assert.deepStrictEqual(TaskScope.restore(JSON.parse(JSON.stringify(scope))), scope)
      const { tools: _, ...without } = scope
      const damaged = [undefined, null, {}, [], without, { ...scope, version: 2 }, { ...scope, more: 1 }, {
        ...scope,
        profile: "x"
      }]
      for (const saved of damaged) {
        const restored = TaskScope.restore(saved)
        assert.deepStrictEqual([restored.parentTaskId, permitted(restored, general)], [null, ["look"]])
      }
    }))
})
