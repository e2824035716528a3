/**
 * What identifies a tool between two runs (SUS-6).
 *
 * Rule: only what the model relies on counts: kind, toolset, name, description and parameters. A change of anything else
 * leaves the fingerprint as it is.
 */
import { Json } from "@errand/protocol"
import type { ToolKind } from "../Catalog.ts"
import * as Digest from "./Digest.ts"

/** The parts of a tool that its fingerprint covers; `canonicalParameters` is the canonical text of its JSON Schema. */
export interface Identity {
  readonly kind: ToolKind
  readonly toolsetId: string | null
  readonly name: string
  readonly description: string
  readonly canonicalParameters: string
}

/** SHA-256, lower-case hex, of the canonical JSON of `{kind, toolset_id, name, description, parameters}` (SUS-6). */
export const of = (tool: Identity): string =>
  Digest.sha256(
    `{"description":${Json.quote(tool.description)},"kind":${Json.quote(tool.kind)},"name":${Json.quote(tool.name)}` +
      `,"parameters":${tool.canonicalParameters}` +
      `,"toolset_id":${tool.toolsetId === null ? "null" : Json.quote(tool.toolsetId)}}`
  )
