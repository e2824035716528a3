/**
 * Tools that run in this process, beside those that go elsewhere (PRK-1).
 *
 * Rule: a name belongs to one tool; which executor serves it is settled when the layer is built and by nothing that a
 * model or a client says.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Catalog, type CatalogTool } from "./Catalog.ts"
import { ToolExecutor, type ToolInvocation, type ToolOutcome } from "./ToolExecutor.ts"

/** Executes a call; interruption of the fiber is the cancellation. */
export type Execute = (call: ToolInvocation) => Effect.Effect<ToolOutcome>

/** A tool of the catalog together with what executes it. */
export interface LocalTool extends CatalogTool {
  readonly execute: Execute
}

/** An executor for local tools; what is none of them goes to `otherwise`. */
export const router = (tools: ReadonlyArray<LocalTool>, otherwise: Execute): Execute => {
  const byName = new Map(tools.map((tool) => [tool.name, tool.execute]))
  return (call) => (byName.get(call.name) ?? otherwise)(call)
}

/** A program whose tools are all local: its catalog and its executor, no wire. */
export const layer = (tools: ReadonlyArray<LocalTool>): Layer.Layer<Catalog | ToolExecutor> =>
  Layer.merge(
    Catalog.layerOf(tools),
    Layer.succeed(ToolExecutor, ToolExecutor.of({ execute: router(tools, missing) }))
  )

const missing: Execute = (call) => Effect.die(new Error(`the catalog offers ${call.name}, but nothing executes it`))
