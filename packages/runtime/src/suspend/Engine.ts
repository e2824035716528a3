/**
 * The loop and the pipeline for one surface, built once and shared by its runs (PRK-1).
 *
 * Rule: nothing of a run lives here. What differs between runs comes in with their agents, and the executor is whatever the
 * program provides: live, deferring, or a router.
 */
import { Json, Limits } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { AgentLoop, TurnLimit } from "../AgentLoop.ts"
import { Approvals } from "../Approvals.ts"
import { Catalog, CatalogMode, type CatalogTool, clientTool, rootView } from "../Catalog.ts"
import * as LocalTools from "../LocalTools.ts"
import type { ModelTurn, OfferedTool } from "../ModelTurn.ts"
import { Outbox } from "../Outbox.ts"
import { type PermissionRule, Permissions } from "../Permissions.ts"
import { ToolExecutor } from "../ToolExecutor.ts"
import { ToolPipeline } from "../ToolPipeline.ts"
import type { AgentDefinition, HostTool } from "./AgentDefinition.ts"
import { argumentsCheck, type ClientTool } from "./Declaration.ts"
import * as JsonValue from "./JsonValue.ts"
import type { Surface, SurfaceTool } from "./Surface.ts"

/** What runs on one surface. */
export interface Engine {
  readonly loop: AgentLoop["Service"]
  readonly pipeline: ToolPipeline["Service"]
  readonly surface: Surface
  /** The system prompt: of the definition, of the offered client tools, and about the output (DCL-9, RUN-7). */
  readonly instructions: string | null
}

/** What is wrong with arguments by a tool's declared schema; a schema that is no JSON constrains nothing. */
const schemaCheck = (tool: OfferedTool): (text: string) => JsonValue.Fault | null =>
  Result.match(Json.read(tool.inputSchema, { maxDepth: JsonValue.deepest }), {
    onFailure: () => () => null,
    onSuccess: argumentsCheck
  })

/** The surface with the checks of arguments that the definition wants, for overriding ones as for the model's (RUN-4, RSM-3). */
export const checked = (surface: Surface, definition: AgentDefinition<unknown, ClientTool>): Surface => {
  const checks = new Map(definition.tools.map((tool) => [tool.name, tool.checkArguments ?? schemaCheck(tool)]))
  const all = new Map<string, SurfaceTool>()
  for (const [name, tool] of surface.tools) {
    const checkArguments = definition.validateArguments === "object"
      ? () => null
      : checks.get(name) ?? tool.checkArguments
    all.set(name, { ...tool, checkArguments })
  }
  return { ...surface, tools: all }
}

/** Limits of the wire that a call in process does not meet; an answer is bounded by the host's own limit. */
const limitsOf = (base: Limits.LimitValues, resultBytes: number): Limits.LimitValues => ({
  base: { ...base.base, json_depth: Infinity, output_frame_bytes: Infinity },
  clientTools: { ...base.clientTools, arguments_bytes: Infinity, result_bytes: resultBytes }
})

const denials = (surface: Surface): ReadonlyArray<PermissionRule> =>
  [...surface.tools.values()].filter((tool) => tool.client?.permission === "deny").flatMap(({ name }) => [
    { tool: name, surface: "direct", allow: false },
    { tool: name, surface: "code", allow: false }
  ])

const sentence = (fault: JsonValue.Fault | null): string | null =>
  fault === null ? null : `The arguments do not fit: ${fault.path} ${fault.rule}.`

const entryOf = (tool: SurfaceTool, host: HostTool | undefined): CatalogTool => {
  const misfit = { misfit: (text: string) => sentence(tool.checkArguments(text)) }
  return host === undefined
    ? { ...clientTool({ ...tool, timeoutMs: tool.client?.timeoutMs ?? 0 }), ...misfit }
    : { ...host, ...misfit }
}

/** Builds what the runs on a surface share. */
export const make = Effect.fnUntraced(function*(
  definition: AgentDefinition<unknown, ClientTool>,
  surface: Surface,
  guidance: string | null,
  resultBytes: number
) {
  const context = yield* Effect.context<ModelTurn | ToolExecutor | Approvals>()
  const executor = Context.get(context, ToolExecutor)
  const approvals = Context.get(context, Approvals)
  const outbox = yield* Effect.serviceOption(Outbox)
  const hosts = new Map(definition.tools.map((tool) => [tool.name, tool]))
  const tools = [...surface.tools.values()].map((tool) => entryOf(tool, hosts.get(tool.name)))
  const offered = new Set(surface.offered.map((tool) => tool.name))
  const catalog = Layer.effect(
    Catalog,
    Effect.map(Catalog, (base): Catalog["Service"] => {
      const ofRoot = base.offered(rootView).filter((tool) => offered.has(tool.name))
      return {
        tools: base.tools,
        // what would be deferred in vain is not offered, but a call of it is told why (SUR-6)
        offered: (view) => view === rootView ? ofRoot : base.offered(view).filter((tool) => offered.has(tool.name)),
        resolve: base.resolve
      }
    })
  ).pipe(Layer.provide(Catalog.layerOf(tools)))
  const limits = limitsOf(yield* Limits.Limits, resultBytes)
  const execute = LocalTools.router(definition.tools, executor.execute)
  const layer = AgentLoop.layerNoDeps.pipe(
    Layer.provideMerge(ToolPipeline.layerNoDeps),
    Layer.provide(catalog),
    Layer.provide(Layer.mergeAll(
      Layer.succeed(ToolExecutor, ToolExecutor.of({ execute })),
      Layer.succeed(Approvals, approvals),
      outbox._tag === "Some" ? Layer.succeed(Outbox, outbox.value) : Outbox.layerDiscard,
      Layer.succeed(Limits.Limits, limits),
      Layer.succeed(TurnLimit, Infinity),
      Layer.succeed(CatalogMode, "full"),
      Layer.succeed(Permissions, [...definition.permissions, ...denials(surface)])
    ))
  )
  // a memo map of its own, since each surface has its own loop; no resource is held, so the scope may close at once
  const memo = Layer.makeMemoMapUnsafe()
  const built = yield* Effect.scoped(
    Effect.flatMap(Effect.scope, (scope) => Layer.buildWithMemoMap(layer, memo, scope))
  )
  const blocks = [
    definition.instructions,
    ...surface.instructions.map(({ text, tool }) => `Tool ${tool}:\n${text}`),
    guidance
  ].filter((block) => block !== null)
  const engine: Engine = {
    loop: Context.get(built, AgentLoop),
    pipeline: Context.get(built, ToolPipeline),
    surface,
    instructions: blocks.length === 0 ? null : blocks.join("\n\n")
  }
  return engine
})
