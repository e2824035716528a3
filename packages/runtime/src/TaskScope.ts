/**
 * What a delegated agent may have: its profile, and the client and MCP tools by name and fingerprint (DEL-1 to DEL-3).
 *
 * Rule: a scope only narrows. It starts from what the parent has, is saved with the task, and whatever is resumed has at
 * most what is in all of: the saved scope, the tools of today, the parent, the call that resumes.
 *
 * Durable format, by `version`:
 * - 1: `parentTaskId`, `profile`, `tools` with `name` and `fingerprint`.
 */
import { ClientTool } from "@errand/protocol"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Agent } from "./Agent.ts"
import { type Catalog, type CatalogTool, isLent, type View } from "./Catalog.ts"

/** How deep agents may delegate; the root is at depth 0 (BLT-2). */
export const MOST_DEPTH = 3

/** The profiles that a caller may choose from: `inspect` only looks (BLT-2). */
export const profiles = ["general", "inspect"] as const
export type Profile = typeof profiles[number]

/** A scope as it is saved with a task (DEL-2). */
export interface Scope {
  readonly version: 1
  /** The task whose agent delegated this one, null for the root: only it may resume it. */
  readonly parentTaskId: string | null
  readonly profile: Profile
  readonly tools: ReadonlyArray<{ readonly name: string; readonly fingerprint: string }>
}

/** What the caller of `task` asks for: a profile, and perhaps names that narrow what the profile gives. */
export interface Wish {
  readonly profile: Profile
  readonly tools?: ReadonlyArray<string>
}

const fingerprints = new WeakMap<CatalogTool, string>()

/** The fingerprint of a lent tool as it is declared today (DEL-2). */
const fingerprintOf = (tool: CatalogTool): string => {
  let fingerprint = fingerprints.get(tool)
  if (fingerprint === undefined) fingerprints.set(tool, fingerprint = ClientTool.fingerprint(tool))
  return fingerprint
}

/** A client tool is never one for inspection, whatever it says of itself. */
const follows = (profile: Profile, tool: CatalogTool): boolean =>
  profile === "general" || (tool.inspection && !isLent(tool))

/** Which lent tools the caller asks for. */
const listed = ({ tools }: Wish): (tool: CatalogTool) => boolean => {
  if (tools === undefined) return () => true
  const names = new Set(tools)
  return (tool) => !isLent(tool) || names.has(tool.name)
}

/** The scope of a new task: the lent tools that its parent has now on any surface, narrowed by the wish (DEL-1). */
export const make = (parent: Agent, catalog: Catalog["Service"], wish: Wish): Scope => {
  const { permits } = parent.view
  const shown = new Set(
    (["catalog", "code"] as const).flatMap((surface) => catalog.offered({ surface, permits })).map(({ name }) => name)
  )
  const asked = listed(wish)
  const given = catalog.tools.filter((tool) =>
    isLent(tool) && shown.has(tool.name) && follows(wish.profile, tool) && asked(tool)
  )
  return {
    version: 1,
    parentTaskId: parent.taskId,
    profile: wish.profile,
    tools: given.map((tool) => ({ name: tool.name, fingerprint: fingerprintOf(tool) }))
  }
}

/** What is left where a scope is missing or damaged: looking, for the root's tasks (DEL-3). */
const nothing: Scope = { version: 1, parentTaskId: null, profile: "inspect", tools: [] }

/** Made when the first task is resumed: building schemas takes time that every start would pay. */
let decode: ((saved: unknown) => Option.Option<Scope>) | undefined

const decoder = (): (saved: unknown) => Option.Option<Scope> =>
  Schema.decodeUnknownOption(
    Schema.Struct({
      version: Schema.Literal(1),
      parentTaskId: Schema.NullOr(Schema.String),
      profile: Schema.Literals(profiles),
      tools: Schema.Array(Schema.Struct({ name: Schema.String, fingerprint: Schema.String }))
    }),
    { onExcessProperty: "error" }
  )

/** A saved scope; one that is missing, damaged or of an unknown version gives as little as there is. */
export const restore = (saved: unknown): Scope => Option.getOrElse((decode ??= decoder())(saved), () => nothing)

/** What the delegated agent sees and may call: never more than its parent (DEL-1, DEL-3). */
export const viewOf = (parent: Agent, scope: Scope, wish: Wish): View => {
  const depth = parent.depth + 1
  const asked = listed(wish)
  const named = new Map(scope.tools.map(({ fingerprint, name }) => [name, fingerprint]))
  return {
    surface: "direct",
    permits: (tool) =>
      parent.view.permits(tool) && follows(wish.profile, tool) && follows(scope.profile, tool) && asked(tool) &&
      (!isLent(tool) || named.get(tool.name) === fingerprintOf(tool)) && (tool.kind !== "task" || depth < MOST_DEPTH)
  }
}
