/**
 * The tools that one run may show, worked out before its first model request (SUR-1 to SUR-6).
 *
 * Rule: the surface is a function of the definition, the bindings and the rules; a binding can replace which client
 * tools there are, but neither install the capability nor change its policy.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import type { CatalogTool, ToolKind } from "../Catalog.ts"
import type { OfferedTool } from "../ModelTurn.ts"
import { decide, type Decision, type PermissionRule } from "../Permissions.ts"
import type { ClientTool } from "./Declaration.ts"
import * as Fingerprint from "./Fingerprint.ts"
import type { Fault } from "./JsonValue.ts"
import * as Toolset from "./Toolset.ts"

/** What a surface is made of. `others` are the built-in, in-process and MCP tools of the definition. */
export interface Input {
  /** Null where the definition owns no client tools. */
  readonly clientTools: Toolset.ClientToolsSpec | null
  /** Absent keeps the defaults; a list, also an empty one, replaces them all (SUR-1). */
  readonly clientToolsets?: ReadonlyArray<Toolset.ClientToolset> | undefined
  readonly others: ReadonlyArray<CatalogTool>
  readonly rules: ReadonlyArray<PermissionRule>
  /** What the definition's wrappers make of a tool's name; a wrapper must leave client tools' names alone (SUR-3). */
  readonly rename?: ((name: string) => string) | undefined
  /** False leaves out every tool that would be deferred (SUR-6); true by default. */
  readonly deferredToolsSupported?: boolean | undefined
}

/** One tool of a surface. `client` is its declaration, null for tools of this process. */
export interface SurfaceTool extends OfferedTool {
  readonly kind: ToolKind
  readonly toolsetId: string | null
  readonly fingerprint: string
  readonly permission: Decision
  readonly client: ClientTool | null
  /** What is wrong with the text of arguments, or null; for tools of this process their executor tells (RSM-3). */
  readonly checkArguments: (text: string) => Fault | null
}

/** The guidance of one tool for the model (DCL-9). */
export interface Instruction {
  readonly tool: string
  readonly text: string
}

/**
 * The surface of one run: `tools` holds all that exist, denied ones too; `offered` is what the model sees, in order;
 * `fingerprints` are those of the offered tools (SUS-1); `instructions` come in declaration order (DCL-9).
 */
export interface Surface {
  readonly tools: ReadonlyMap<string, SurfaceTool>
  readonly offered: ReadonlyArray<SurfaceTool>
  readonly instructions: ReadonlyArray<Instruction>
  readonly fingerprints: ReadonlyMap<string, string>
}

/** A surface that cannot be made; the run does not start (SUR-5). */
export class SurfaceInvalid extends Data.TaggedError("SurfaceInvalid")<{
  readonly code:
    | "client_tools_override_forbidden"
    | "client_tools_owner_missing"
    | "client_tool_name_changed"
    | "tool_permission_unsupported"
    | Toolset.ClientToolsetInvalid["code"]
  readonly message: string
  readonly details: { readonly tool?: string; readonly toolsetId?: string; readonly renamedTo?: string }
}> {}

const invalid = (code: SurfaceInvalid["code"], message: string, details: SurfaceInvalid["details"]) =>
  Result.fail(new SurfaceInvalid({ code, message, details }))

/** The strictest of what the rules and the declaration say: neither lifts the other's refusal (SUR-4, HRN-D6). */
const permissionOf = (tool: ClientTool, rules: ReadonlyArray<PermissionRule>): Decision =>
  tool.permission === "deny" ? "deny" : decide(rules, tool.name, "direct", "allow")

const canonicalOf = (schema: JsonText): string =>
  Result.match(Json.read(schema, { maxDepth: Json.deepest }), {
    onFailure: () => Json.quote(schema),
    onSuccess: Json.canonical
  })

const local = (tool: CatalogTool, rules: ReadonlyArray<PermissionRule>): SurfaceTool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  kind: tool.kind,
  toolsetId: null,
  fingerprint: Fingerprint.of({ ...tool, toolsetId: null, canonicalParameters: canonicalOf(tool.inputSchema) }),
  permission: decide(rules, tool.name, "direct", tool.otherwise),
  client: null,
  checkArguments: () => null
})

const declared = (tool: ClientTool, toolsetId: string, permission: Decision): SurfaceTool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.parameters,
  kind: "client",
  toolsetId,
  fingerprint: Fingerprint.of({ ...tool, kind: "client", toolsetId }),
  permission,
  client: tool,
  checkArguments: tool.checkArguments
})

const toolsetsOf = (input: Input): Result.Result<ReadonlyArray<Toolset.ClientToolset>, SurfaceInvalid> => {
  const { clientTools, clientToolsets } = input
  if (clientToolsets === undefined) return Result.succeed(clientTools?.defaultToolsets ?? [])
  if (clientTools === null) {
    return invalid("client_tools_owner_missing", "The run brings client tools, but the definition owns none.", {})
  }
  return clientTools.allowRunOverride
    ? Result.succeed(clientToolsets)
    : invalid(
      "client_tools_override_forbidden",
      "The definition does not allow a run to bring its own client tools.",
      {}
    )
}

const outlined = (surface: Omit<Surface, "fingerprints">): Surface => ({
  ...surface,
  fingerprints: new Map(surface.offered.map((tool) => [tool.name, tool.fingerprint]))
})

/** Works out the surface of one run, or the first reason why there is none (SUR-1 to SUR-6, DCL-7, DCL-9). */
export const make = (input: Input): Result.Result<Surface, SurfaceInvalid> => {
  const chosen = toolsetsOf(input)
  if (Result.isFailure(chosen)) return Result.fail(chosen.failure)
  const checked = Toolset.check(chosen.success)
  if (Result.isFailure(checked)) {
    const { code, message, tool, toolsetId } = checked.failure
    return invalid(code, message, { toolsetId, ...(tool === null ? {} : { tool }) })
  }
  const tools = new Map<string, SurfaceTool>()
  for (const tool of input.others) {
    if (tools.has(tool.name)) {
      return invalid("client_tool_duplicate", `Two tools of the process have the name ${tool.name}.`, {
        tool: tool.name
      })
    }
    tools.set(tool.name, local(tool, input.rules))
  }
  const instructions: Array<Instruction> = []
  for (const { toolsetId, tools: declarations } of checked.success) {
    for (const tool of declarations) {
      const details = { tool: tool.name, toolsetId }
      if (tools.has(tool.name)) {
        return invalid(
          "client_tool_duplicate",
          `The name ${tool.name} belongs to another tool of the surface.`,
          details
        )
      }
      const renamedTo = input.rename?.(tool.name) ?? tool.name
      if (renamedTo !== tool.name) {
        const message = `A wrapper renames the client tool ${tool.name} to ${renamedTo}; client tools keep their names.`
        return invalid("client_tool_name_changed", message, { ...details, renamedTo })
      }
      const permission = permissionOf(tool, input.rules)
      if (permission === "ask") {
        const message =
          `A rule asks before the client tool ${tool.name}; a run that suspends can only allow or deny it.`
        return invalid("tool_permission_unsupported", message, details)
      }
      tools.set(tool.name, declared(tool, toolsetId, permission))
      if (permission === "allow" && tool.instruction !== null) {
        instructions.push({ tool: tool.name, text: tool.instruction })
      }
    }
  }
  const deferred = input.deferredToolsSupported ?? true
  const offered = [...tools.values()].filter((tool) =>
    tool.permission !== "deny" && (deferred || (tool.client === null && tool.permission !== "ask"))
  )
  return Result.succeed(outlined({ tools, offered, instructions: deferred ? instructions : [] }))
}
