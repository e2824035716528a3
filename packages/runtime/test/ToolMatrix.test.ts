/** Who is offered what, who may call what, and what a refusal says: the whole of it as one table. */
import { assert, describe, it } from "@effect/vitest"
import type { Ids, JsonText } from "@errand/protocol"
import {
  type Agent,
  Approvals,
  Bounds,
  Catalog,
  CatalogMode,
  type CatalogTool,
  Outbox,
  Permissions,
  TaskScope,
  ToolExecutor,
  type ToolKind,
  ToolPipeline,
  type ViewSurface
} from "@errand/runtime"
import { Effect, Layer } from "effect"
import { root } from "./RootAgent.ts"

const tool = (name: string, kind: ToolKind, extra: Partial<CatalogTool> = {}): CatalogTool => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: "{\"type\":\"object\"}" as JsonText,
  kind,
  timeoutMs: 1000,
  inspection: false,
  otherwise: "allow",
  ...extra
})

const tools = [
  tool("look", "builtin", { inspection: true }),
  tool("act", "builtin"),
  tool("task", "task"),
  tool("run_code", "code", { directOnly: true }),
  tool("find_tools", "builtin", { directOnly: true }),
  // It says that it only looks: nobody believes a lent tool (DEL-1).
  tool("client__a", "client", { inspection: true }),
  tool("client__b", "client"),
  tool("mcp__s__t", "mcp")
]

/**
 * One row per agent and surface, one column per tool of the list above. `+` is offered and may be called; anything else
 * is neither, and the letter says how it is refused: `u` client_tool_unavailable, `n` unknown_tool, `t` task_unavailable.
 */
const table = `
  root        direct    + + + + +   + + +
  root        compact   + + + + +   u u n
  root        catalog   n n n n n   + + +
  root        code      + + + n n   + + +

  general     direct    + + + + +   + + +
  general     compact   + + + + +   u u n
  general     catalog   n n n n n   + + +
  general     code      + + + n n   + + +

  narrowed    direct    + + + + +   + u n
  narrowed    catalog   n n n n n   + u n
  narrowed    code      + + + n n   + u n

  inner       direct    + + + + +   + u n
  inner       code      + + + n n   + u n

  deepest     direct    + + t + +   + + +
  deepest     code      + + t n n   + + +

  inspect     direct    + n t n n   u u n
  inspect     compact   + n t n n   u u n
  inspect     catalog   n n n n n   u u n
  inspect     code      + n t n n   u u n

  resumed     direct    + + + + +   + u n
  resumed     catalog   n n n n n   + u n
  resumed     code      + + + n n   + u n

  fewer       direct    + + + + +   + u n
  fewer       code      + + + n n   + u n

  promoted    direct    + n t n n   u u n
  damaged     direct    + n t n n   u u n
  damaged     code      + n t n n   u u n
`

const general = { profile: "general" } as const
const inspect = { profile: "inspect" } as const

/** An agent that a parent delegates to, under a scope that is made now or was saved before. */
const child = (catalog: Catalog["Service"], parent: Agent, wish: TaskScope.Wish, saved?: unknown): Agent => ({
  ...parent,
  taskId: "t" as Ids.TaskId,
  subagentId: "a" as Ids.SubagentId,
  depth: parent.depth + 1,
  view: TaskScope.viewOf(
    parent,
    saved === undefined ? TaskScope.make(parent, catalog, wish) : TaskScope.restore(saved),
    wish
  )
})

/** What was saved when `client__b` had another description and there was no MCP server. */
const earlier = [tool("client__a", "client"), tool("client__b", "client", { description: "Other words." })]

const agents: Readonly<
  Record<string, (catalog: Catalog["Service"], earlier: Catalog["Service"]) => Agent>
> = {
  root: () => root,
  general: (catalog) => child(catalog, root, general),
  narrowed: (catalog) => child(catalog, root, { ...general, tools: ["client__a", "client__none"] }),
  inner: (catalog) =>
    child(catalog, child(catalog, root, { ...general, tools: ["client__a"] }), {
      ...general,
      tools: ["client__a", "client__b", "mcp__s__t"]
    }),
  deepest: (catalog) => child(catalog, child(catalog, child(catalog, root, general), general), general),
  inspect: (catalog) => child(catalog, root, { ...inspect, tools: ["client__a", "act"] }),
  resumed: (catalog, earlier) => child(catalog, root, general, TaskScope.make(root, earlier, general)),
  // Its saved scope has more than the parent that resumes it has now.
  fewer: (catalog) =>
    child(
      catalog,
      child(catalog, root, { ...general, tools: ["client__a"] }),
      general,
      TaskScope.make(root, catalog, general)
    ),
  promoted: (catalog) => child(catalog, root, general, TaskScope.make(root, catalog, inspect)),
  damaged: (catalog) =>
    child(catalog, root, general, { ...TaskScope.make(root, catalog, general), profile: "everything" })
}

/** What a rule for every tool does to one that is there. */
const rules = [
  { allow: true, offered: true, asked: 0, ran: 1, code: () => undefined },
  { allow: "ask", offered: true, asked: 1, ran: 1, code: () => undefined },
  {
    allow: false,
    offered: false,
    asked: 0,
    ran: 0,
    code: (kind: ToolKind) => kind === "client" ? "client_tool_denied" : "tool_denied"
  }
] as const

const codes: Readonly<Record<string, string>> = {
  u: "client_tool_unavailable",
  n: "unknown_tool",
  t: "task_unavailable"
}

const rows = table.trim().split("\n").map((line) => line.trim()).filter((line) => line !== "").map((line) => {
  const [agent, surface, ...marks] = line.split(/\s+/)
  return { agent: agent!, surface: surface!, marks }
})

const observe = (agentName: string, surface: string, allow: boolean | "ask") => {
  const asked: Array<string> = []
  const ran: Array<string> = []
  const services = ToolPipeline.layerNoDeps.pipe(
    Layer.provideMerge(Catalog.layerOf(tools)),
    Layer.provide(Layer.mergeAll(
      Layer.succeed(Permissions, [{ tool: "*", allow }]),
      Layer.succeed(CatalogMode, surface === "compact" ? "compact" : "full"),
      Layer.succeed(Approvals, {
        ask: ({ name }) =>
          Effect.sync(() => {
            asked.push(name)
            return "allowed" as const
          }),
        answer: () => false,
        pending: () => 0
      }),
      Layer.succeed(ToolExecutor, {
        execute: ({ name }) =>
          Effect.sync(() => {
            ran.push(name)
            return { _tag: "Success", text: "" } as const
          })
      }),
      Outbox.layerDiscard
    ))
  )
  return Effect.gen(function*() {
    const before = yield* Effect.provide(Catalog, Layer.fresh(Catalog.layerOf(earlier)))
    const catalog = yield* Catalog
    const pipeline = yield* ToolPipeline
    // The agent is made while everything is allowed: rules are asked at each call, not kept.
    const open = yield* Effect.provide(Catalog, Layer.fresh(Catalog.layerOf(tools)))
    const made = agents[agentName]!(open, before)
    const view = { ...made.view, surface: (surface === "compact" ? "direct" : surface) as ViewSurface }
    const offered = catalog.offered(view).map(({ name }) => name)
    const outcomes = yield* Effect.forEach(tools, ({ name }) =>
      pipeline.attempt({ ...made, view }, {
        id: "c",
        asked: name,
        name,
        arguments: Bounds.read("{}"),
        activityId: "x" as Ids.ActivityId,
        started: false
      }))
    return tools.map(({ name }, index) => {
      const outcome = outcomes[index]!
      return {
        name,
        offered: offered.includes(name),
        asked: asked.filter((one) => one === name).length,
        ran: ran.filter((one) => one === name).length,
        code: outcome._tag === "Refused" ? outcome.code : undefined,
        says: outcome._tag === "Refused"
          ? /not executed|no tool of this name|Nothing was started/.test(outcome.message)
          : true
      }
    })
  }).pipe(Effect.provide(services))
}

describe("section 12: who may call what", () => {
  for (const { agent, marks, surface } of rows) {
    it.effect(`PRM-1 PRM-2 PRM-4 DEL-1 DEL-3 faults I1 ${agent} on ${surface}`, () =>
      Effect.gen(function*() {
        for (const { allow, code, ...there } of rules) {
          assert.deepStrictEqual(
            yield* observe(agent, surface, allow),
            tools.map(({ kind, name }, index) => {
              const mark = marks[index]!
              return mark === "+"
                ? { name, ...there, code: code(kind), says: true }
                : { name, offered: false, asked: 0, ran: 0, code: codes[mark], says: true }
            }),
            `rule ${allow}`
          )
        }
      }))
  }
})
