/**
 * Named groups of client tools, and what a definition says about them (DCL-3, DCL-4, DCL-7).
 *
 * Rule: within one set of toolsets every toolset id and every tool name means one thing.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { type ClientTool, isDeclared } from "./Declaration.ts"
import { checkText } from "./FieldRules.ts"

/** Bounds of toolsets: toolsets of one surface, tools of all of them together, characters of an id. */
export const limits = { toolsets: 32, tools: 128, idCharacters: 256 } as const

/** A group of client tools; at least one, names unique (DCL-3). */
export interface ClientToolset<out Tool extends ClientTool = ClientTool> {
  readonly toolsetId: string
  readonly tools: ReadonlyArray<Tool>
}

/** The client tools of a definition, and whether a run may bring others (DCL-4, SUR-1, SUR-2). */
export interface ClientToolsSpec<out Tool extends ClientTool = ClientTool> {
  readonly defaultToolsets: ReadonlyArray<ClientToolset<Tool>>
  readonly allowRunOverride: boolean
}

/** A toolset, or a set of them, that is refused; `tool` is null where no single tool is at fault. */
export class ClientToolsetInvalid extends Data.TaggedError("ClientToolsetInvalid")<{
  readonly code:
    | "client_toolset_invalid"
    | "client_toolset_duplicate"
    | "client_tool_duplicate"
    | "client_tools_too_many"
  readonly toolsetId: string
  readonly tool: string | null
  readonly rule: string
}> {
  override get message(): string {
    const tool = this.tool === null ? "" : `, tool ${JSON.stringify(this.tool)}`
    return `client toolset ${JSON.stringify(this.toolsetId.slice(0, 300))}${tool}: ${this.rule}`
  }
}

const invalid = (
  code: ClientToolsetInvalid["code"],
  toolsetId: unknown,
  tool: string | null,
  rule: string
): Result.Result<never, ClientToolsetInvalid> =>
  Result.fail(new ClientToolsetInvalid({ code, toolsetId: typeof toolsetId === "string" ? toolsetId : "", tool, rule }))

/** Toolsets that were looked at when they were made, and are frozen since. */
const made = new WeakSet<object>()

/** A toolset with at least one tool and unique names; later changes to the given list have no effect (DCL-3, DCL-5). */
export const make = <Tool extends ClientTool>(
  toolsetId: string,
  tools: ReadonlyArray<Tool>
): Result.Result<ClientToolset<Tool>, ClientToolsetInvalid> => {
  const id = checkText(toolsetId, "toolset_id", limits.idCharacters)
  if (id !== null) return invalid("client_toolset_invalid", toolsetId, null, `${id.path} ${id.rule}`)
  if (!Array.isArray(tools) || tools.length === 0) {
    return invalid("client_toolset_invalid", toolsetId, null, "must hold at least one tool")
  }
  const strange = tools.findIndex((tool) => !isDeclared(tool))
  if (strange >= 0) {
    const name: unknown = (tools[strange] as Tool | null | undefined)?.name
    const rule = "must hold what ClientTool.make or ClientTool.raw declared, and no copies of it"
    return invalid("client_toolset_invalid", toolsetId, typeof name === "string" ? name : null, rule)
  }
  const toolset: ClientToolset<Tool> = Object.freeze({ toolsetId, tools: Object.freeze([...tools]) })
  made.add(toolset)
  return Result.map(check([toolset]), () => toolset)
}

/** A toolset that a program wrote down itself is made anew, so that it keeps the rules of any other. */
const remade = <Tool extends ClientTool>(
  toolset: ClientToolset<Tool>
): Result.Result<ClientToolset<Tool>, ClientToolsetInvalid> => {
  if (typeof toolset !== "object" || toolset === null) {
    return invalid("client_toolset_invalid", "", null, "must be a toolset")
  }
  return made.has(toolset) ? Result.succeed(toolset) : make(toolset.toolsetId, toolset.tools)
}

/** The toolsets, if they can stand on one surface: counts, unique ids and unique tool names (DCL-7). */
export const check = <Tool extends ClientTool>(
  toolsets: ReadonlyArray<ClientToolset<Tool>>
): Result.Result<ReadonlyArray<ClientToolset<Tool>>, ClientToolsetInvalid> => {
  if (!Array.isArray(toolsets)) return invalid("client_toolset_invalid", "", null, "the toolsets must be a list")
  const checked: Array<ClientToolset<Tool>> = []
  const ids = new Set<string>()
  const owners = new Map<string, string>()
  for (const given of toolsets) {
    const toolset = remade<Tool>(given)
    if (Result.isFailure(toolset)) return Result.fail(toolset.failure)
    const { toolsetId, tools } = toolset.success
    if (ids.has(toolsetId)) return invalid("client_toolset_duplicate", toolsetId, null, "the toolset id must be unique")
    ids.add(toolsetId)
    if (ids.size > limits.toolsets) {
      return invalid("client_tools_too_many", toolsetId, null, `there must be at most ${limits.toolsets} toolsets`)
    }
    for (const { name } of tools) {
      const owner = owners.get(name)
      if (owner !== undefined) {
        const rule = `the tool name must be unique; toolset ${JSON.stringify(owner)} has it too`
        return invalid("client_tool_duplicate", toolsetId, name, rule)
      }
      owners.set(name, toolsetId)
      if (owners.size > limits.tools) {
        return invalid("client_tools_too_many", toolsetId, name, `there must be at most ${limits.tools} tools in all`)
      }
    }
    checked.push(toolset.success)
  }
  return Result.succeed(Object.freeze(checked))
}

/** What a definition says about client tools; nothing by default (DCL-4). The tools of each toolset keep their types. */
export const spec = <const Tools extends ReadonlyArray<ClientTool> = readonly []>(
  options: {
    readonly defaultToolsets?: { readonly [At in keyof Tools]: ClientToolset<Tools[At]> }
    readonly allowRunOverride?: boolean
  } = {}
): Result.Result<ClientToolsSpec<Tools[number]>, ClientToolsetInvalid> => {
  const given: ReadonlyArray<ClientToolset<Tools[number]>> = options.defaultToolsets ?? []
  return Result.map(
    check(given),
    (defaultToolsets) => Object.freeze({ defaultToolsets, allowRunOverride: options.allowRunOverride ?? false })
  )
}
