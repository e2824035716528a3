/**
 * The tools of an agent: what is offered, and what a name means (PRM-2, PRM-4).
 *
 * Rule: what an agent is offered and what it may call come from the same question, so that no path shows one set and
 * allows another.
 */
import type { JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { OfferedTool } from "./ModelTurn.ts"
import { decide, type Decision, type PermissionRule, Permissions, type Surface } from "./Permissions.ts"

/** Where a tool comes from (CRD-1). */
export type ToolKind = "builtin" | "mcp" | "client" | "task" | "code"

/** A tool that exists in this process, whoever may see it. */
export interface CatalogTool extends OfferedTool {
  readonly kind: ToolKind
  /** How long a call may take, in milliseconds; its executor enforces it. */
  readonly timeoutMs: number
  /** Only looks: the tools of the profile `inspect` (BLT-2). */
  readonly inspection: boolean
  /** Whether it exists for the model's own calls alone, and not for code. */
  readonly directOnly?: boolean
  /** What happens where no rule matches (HKS-1). */
  readonly otherwise: Decision
  /** What is wrong with arguments, as a sentence for the model, or null; absent where what executes the tool tells (RUN-4). */
  readonly misfit?: (args: JsonText) => string | null
  /** What a call would do, for the person who is asked; unprotected. By default its arguments are shown. */
  readonly summary?: (args: JsonText) => string
}

/**
 * The way by which an agent sees tools: the model's own calls, what `find_tools` and `call_tool` reach (BLT-4), or code.
 * The permission rules know the first two as `direct`.
 */
export type ViewSurface = Surface | "catalog"

/** Whose view it is: the surface, and which tools this agent may have at all (DEL-1). */
export interface View {
  readonly surface: ViewSurface
  readonly permits: (tool: CatalogTool) => boolean
}

/** The view of a root agent: everything that the rules allow on the direct surface. */
export const rootView: View = { surface: "direct", permits: () => true }

/** Whether models are offered every tool, or lent ones through `find_tools` and `call_tool` (BLT-4). */
export const CatalogMode = Context.Reference<"full" | "compact">("@errand/runtime/CatalogMode", {
  defaultValue: () => "full"
})

/** Lent tools come from outside this process: they can be found in a catalog, and a task is given them one by one. */
export const isLent = (tool: CatalogTool): boolean => tool.kind === "client" || tool.kind === "mcp"

/** What a name means in a view. A refusal has the code of PRM-4. */
export type Resolution =
  | { readonly _tag: "Tool"; readonly tool: CatalogTool; readonly decision: "allow" | "ask" }
  | { readonly _tag: "Refused"; readonly code: string; readonly message: string }

/** Whether a name belongs to a client, registered or not (CLT table, `name_bytes`). */
export const isClientName = (name: string): boolean => name.startsWith("client__")

/** A client tool of the registry as the catalog holds it. */
export const clientTool = (
  tool: {
    readonly name: string
    readonly description: string
    readonly inputSchema: JsonText
    readonly timeoutMs: number
  }
): CatalogTool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  kind: "client",
  timeoutMs: tool.timeoutMs,
  inspection: false,
  otherwise: "allow"
})

/** The tools of this process and the questions asked about them. */
export class Catalog extends Context.Service<Catalog, {
  readonly tools: ReadonlyArray<CatalogTool>
  /** The tools that the model of this view is offered, in catalog order. */
  readonly offered: (view: View) => ReadonlyArray<OfferedTool>
  /** Looks a name up as this view may; never by prefix, case or likeness. */
  readonly resolve: (view: View, name: string) => Resolution
}>()("@errand/runtime/Catalog") {
  /** Exactly these tools under the rules in force; a function is asked each time and gives the same array until it changes. */
  static readonly layerOf = (tools: ReadonlyArray<CatalogTool> | (() => ReadonlyArray<CatalogTool>)) =>
    Layer.effect(
      Catalog,
      Effect.gen(function*() {
        return make(typeof tools === "function" ? tools : () => tools, yield* Permissions, yield* CatalogMode)
      })
    )
}

/** What was made of one array of tools. */
class Snapshot {
  readonly tools: ReadonlyArray<CatalogTool>
  readonly byName: ReadonlyMap<string, CatalogTool>
  readonly offered = new WeakMap<View, ReadonlyArray<OfferedTool>>()

  constructor(tools: ReadonlyArray<CatalogTool>) {
    this.tools = tools
    this.byName = new Map(tools.map((tool) => [tool.name, tool]))
  }
}

const make = (
  source: () => ReadonlyArray<CatalogTool>,
  rules: ReadonlyArray<PermissionRule>,
  mode: "full" | "compact"
): Catalog["Service"] => {
  let latest = new Snapshot(source())
  const current = (): Snapshot => {
    const tools = source()
    return tools === latest.tools ? latest : latest = new Snapshot(tools)
  }
  const exists = (surface: ViewSurface, tool: CatalogTool): boolean => {
    switch (surface) {
      case "direct":
        return mode === "full" || !isLent(tool)
      case "catalog":
        return isLent(tool)
      case "code":
        return tool.directOnly !== true
    }
  }
  const decisionOf = ({ surface }: View, tool: CatalogTool) =>
    decide(rules, tool.name, surface === "catalog" ? "direct" : surface, tool.otherwise)
  return {
    get tools() {
      return current().tools
    },
    offered: (view) => {
      const { offered, tools } = current()
      let list = offered.get(view)
      if (list === undefined) {
        list = tools.filter((tool) =>
          exists(view.surface, tool) && view.permits(tool) && decisionOf(view, tool) !== "deny"
        )
        offered.set(view, list)
      }
      return list
    },
    resolve: (view, name) => {
      const tool = current().byName.get(name)
      if (tool === undefined || !exists(view.surface, tool)) return unavailable(name)
      if (!view.permits(tool)) return tool.kind === "task" ? undelegable : unavailable(name)
      const decision = decisionOf(view, tool)
      return decision === "deny" ? denied(tool) : { _tag: "Tool", tool, decision }
    }
  }
}

const unavailable = (name: string): Resolution => ({
  _tag: "Refused",
  code: isClientName(name) ? "client_tool_unavailable" : "unknown_tool",
  message: "There is no tool of this name here; nothing was executed. Use one of the offered tools."
})

const undelegable: Resolution = {
  _tag: "Refused",
  code: "task_unavailable",
  message:
    "This agent cannot delegate: inspection tasks do not, and delegation has a greatest depth. Nothing was started."
}

const denied = (tool: CatalogTool): Resolution => ({
  _tag: "Refused",
  code: tool.kind === "client" ? "client_tool_denied" : "tool_denied",
  message: "A permission rule forbids this tool here. It was not executed."
})
