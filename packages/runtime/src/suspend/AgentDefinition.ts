/**
 * An agent as its program defines it: instructions, output, tools, rules and bounds (RUN-6, RUN-7, DCL-4).
 *
 * Rule: a definition is inert. It opens nothing, holds no authority, and may be made once for all runs and processes.
 */
import type { LocalTool } from "../LocalTools.ts"
import type { PermissionRule } from "../Permissions.ts"
import type { Bounds } from "../UsageBounds.ts"
import type { ClientTool, JsonSchemaOf } from "./Declaration.ts"
import type { Fault } from "./JsonValue.ts"
import type { ClientToolsSpec } from "./Toolset.ts"

/** A tool of this process; one that is retry-safe may execute twice where nobody knows whether it did (RSM-7). */
export interface HostTool extends LocalTool {
  readonly retrySafe?: boolean
  /** What is wrong with the text of arguments, or null; by default our evaluator checks the declared schema (RUN-4, RSM-3). */
  readonly checkArguments?: (text: string) => Fault | null
}

/** A definition with everything decided. `Output` is what a completed run gives, `Tool` the declared client tools. */
export interface AgentDefinition<out Output = string, out Tool extends ClientTool = ClientTool> {
  readonly instructions: string | null
  /** Null where the output is the text of the model's last answer. */
  readonly output: JsonSchemaOf<Output> | null
  /** Null where the definition owns no client tools. */
  readonly clientTools: ClientToolsSpec<Tool> | null
  readonly tools: ReadonlyArray<HostTool>
  readonly permissions: ReadonlyArray<PermissionRule>
  readonly bounds: Bounds
  /** Whether arguments must fit the declared schemas before a call is deferred or executed (RUN-4). */
  readonly validateArguments: "schema" | "object"
  /** What wrappers of the program make of a tool's name; client tools must keep theirs (SUR-3). */
  readonly rename: ((name: string) => string) | undefined
}

/** The bounds of a run that asks for none: 1,000 model requests, 3 repetitions in a row, the rest unbounded. */
export const defaultBounds: Bounds = {
  modelRequests: 1000,
  toolCalls: Infinity,
  tokens: Infinity,
  retries: 3
}

/** What a definition may say; all of it is optional. */
export interface Options<Output, Tool extends ClientTool> {
  readonly instructions?: string
  readonly output?: JsonSchemaOf<Output>
  readonly clientTools?: ClientToolsSpec<Tool>
  readonly tools?: ReadonlyArray<HostTool>
  readonly permissions?: ReadonlyArray<PermissionRule>
  readonly bounds?: Partial<Bounds>
  readonly validateArguments?: "schema" | "object"
  readonly rename?: (name: string) => string
}

/** A definition; later changes of the given lists have no effect (DCL-5). Instructions that are ill-formed are mended. */
export const make = <Output = string, Tool extends ClientTool = never>(
  options: Options<Output, Tool> = {}
): AgentDefinition<Output, Tool> =>
  Object.freeze({
    instructions: options.instructions?.toWellFormed() ?? null,
    output: options.output ?? null,
    clientTools: options.clientTools ?? null,
    tools: Object.freeze([...options.tools ?? []]),
    permissions: Object.freeze([...options.permissions ?? []]),
    bounds: Object.freeze({ ...defaultBounds, ...options.bounds }),
    validateArguments: options.validateArguments ?? "schema",
    rename: options.rename
  })

/** The client tools that a definition declares, by name. */
export const declared = (definition: AgentDefinition<unknown, ClientTool>): ReadonlyMap<string, ClientTool> =>
  new Map(
    (definition.clientTools?.defaultToolsets ?? []).flatMap(({ tools }) => tools).map((tool) => [tool.name, tool])
  )
