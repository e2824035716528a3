/**
 * What an admitted `initialize` starts, and what a failed one undoes (LIF-5).
 *
 * Rule: everything that runs for a connection hangs on one scope; closing it leaves nothing running.
 */
import { Limits, Registry } from "@errand/protocol"
import {
  AgentRunner,
  Approvals,
  Broker,
  Catalog,
  CatalogMode,
  type CatalogTool,
  clientTool,
  CompactCatalog,
  isClientName,
  LocalTools,
  type ModelTurn,
  Outbox,
  Permissions,
  Redaction,
  RunSettings,
  Tasks,
  ToolExecutor,
  ToolHooks,
  type ToolHooksService,
  TurnLimit
} from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Attachment } from "./Attachment.ts"
import { Builtins } from "./builtins/Builtins.ts"
import { ProcessGroups } from "./builtins/ProcessGroup.ts"
import * as RunCode from "./codemode/RunCode.ts"
import { type FrameWatch, FrameWatched } from "./FrameWatch.ts"
import * as HookCommands from "./hooks/HookCommands.ts"
import type { McpServers } from "./mcp/McpServers.ts"
import * as Model from "./Model.ts"
import type { Options } from "./Options.ts"
import { SessionStore } from "./SessionStore.ts"
import { ConfigurationInvalid, load, type Settings } from "./Settings.ts"
import * as Telemetry from "./Telemetry.ts"
import type { Watch } from "./Watch.ts"

/** The services that handlers use once the server is ready. */
export type Live = AgentRunner | Approvals | Attachment | Broker | ModelTurn | Registry | SessionStore

/** What a start is composed of besides the registry. */
export interface Parts {
  readonly settings:
    & Pick<Settings, "instructions" | "permissions" | "runTimeoutMs" | "turnLimit">
    & Partial<Pick<Settings, "catalog" | "requestIds">>
  readonly model: Layer.Layer<ModelTurn>
  readonly store: Layer.Layer<SessionStore>
  /** Tools that the server executes itself, in the order in which they are offered. */
  readonly locals: ReadonlyArray<LocalTools.LocalTool>
  /** Tools of MCP servers, which come and go (BLT-5). */
  readonly mcp?: McpServers | null
  /** What is asked around every call; nothing where absent (HKS-2). */
  readonly hooks?: ToolHooksService | null
  /** Who is told what the server does; nobody where absent (OBS-1). */
  readonly watch?: Watch | null
}

/** Starts a connection's services. */
export class Startup extends Context.Service<Startup, {
  /**
   * Builds the services in the scope; a failure has undone what it began when the scope closes. The context also holds
   * the `Limits` that the config file asked for (REQ-4).
   */
  readonly start: (
    registry: Registry["Service"]
  ) => Effect.Effect<Context.Context<Live>, ConfigurationInvalid, Outbox | Scope.Scope>
}>()("@errand/server/Startup") {
  /** Starts from given parts: for benchmarks, tests and embedders. */
  static readonly layerOf = (parts: Effect.Effect<Parts, ConfigurationInvalid, Scope.Scope>) =>
    Layer.succeed(Startup, {
      start: Effect.fnUntraced(function*(registry: Registry["Service"]) {
        const limits = yield* Limits.Limits
        const given = yield* parts
        const { requestIds = null } = given.settings
        const base = { ...limits.base, ...(requestIds === null ? {} : { request_ids: requestIds }) }
        if (given.watch) yield* watchFrames(given.watch.frames)
        const started = yield* Layer.build(compose(registry, given))
        return Context.add(started, Limits.Limits, { ...limits, base })
      })
    })

  /** Starts by options, config file and defaults. */
  static readonly layer = (options: Options) =>
    Startup.layerOf(Effect.gen(function*() {
      const settings = yield* load(options)
      const model = yield* Model.layerOf(settings)
      const builtins = yield* Layer.build(Builtins.layer(settings)).pipe(
        Effect.mapError((error) =>
          new ConfigurationInvalid({ message: `workspace: ${Redaction.protectText(error.message)}` })
        )
      )
      const tasks = yield* Layer.build(Tasks.layer)
      const locals = [
        ...Context.get(builtins, Builtins).tools.map(localBuiltin),
        Context.get(tasks, Tasks).tool,
        ...(settings.codeMode.enabled === false ? [] : [yield* RunCode.make(settings.codeMode)]),
        ...(settings.catalog === "compact" ? yield* CompactCatalog.tools : [])
      ]
      const groups = Context.get(yield* Layer.build(ProcessGroups.layer), ProcessGroups)
      const hooks = HookCommands.make(settings.hooks, groups, settings.workspace)
      const mcp = Object.keys(settings.mcpServers).length === 0
        ? null
        : yield* (yield* Effect.promise(() => import("./mcp/McpServers.ts"))).start(
          settings.mcpServers,
          groups,
          settings.workspace
        )
      return {
        settings,
        model,
        store: SessionStore.layerSqlite(settings.home),
        locals,
        mcp,
        hooks,
        watch: yield* Telemetry.open
      }
    }))
}

const watchFrames = (watch: FrameWatch) =>
  Effect.flatMap(FrameWatched, (watched) =>
    Effect.acquireRelease(
      Effect.sync(() => watched.by = watch),
      () => Effect.sync(() => watched.by = undefined)
    ))

const localBuiltin = (tool: Builtins["Service"]["tools"][number]): LocalTools.LocalTool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  kind: "builtin",
  timeoutMs: 0,
  inspection: tool.inspection,
  otherwise: tool.asks ? "ask" : "allow",
  summary: tool.summary,
  execute: (call) => tool.execute(call.arguments)
})

const compose = (registry: Registry["Service"], parts: Parts): Layer.Layer<Live, never, Outbox> => {
  const { locals, mcp = null, settings, watch = null } = parts
  const references = Layer.mergeAll(
    Layer.succeed(Permissions, settings.permissions),
    Layer.succeed(CatalogMode, settings.catalog ?? "full"),
    Layer.succeed(ToolHooks, parts.hooks ?? null),
    Layer.succeed(RunSettings, { instructions: settings.instructions, timeoutMs: settings.runTimeoutMs }),
    settings.turnLimit === null ? Layer.empty : Layer.succeed(TurnLimit, settings.turnLimit)
  )
  const executor = Layer.effect(
    ToolExecutor,
    Effect.map(Broker, (broker) => {
      const client = watch === null ? broker.call : watch.call(broker.call)
      const lent: LocalTools.Execute = mcp === null
        ? client
        : (call) => isClientName(call.name) ? client(call) : mcp.execute(call)
      return ToolExecutor.of({ execute: LocalTools.router(locals, lent) })
    })
  )
  const catalog = Catalog.layerOf(toolsOf(locals, mcp, registry))
  const model = watch === null ? parts.model : Layer.provide(watch.model, parts.model)
  const live = Attachment.layerNoDeps.pipe(
    Layer.provideMerge(AgentRunner.layer),
    Layer.provide(executor),
    Layer.provideMerge(Layer.merge(Broker.layerNoDeps, Approvals.layerNoDeps)),
    Layer.provideMerge(Layer.mergeAll(catalog, model, parts.store, Layer.succeed(Registry, registry))),
    Layer.provide(references)
  )
  return watch === null ? live : Layer.provide(live, Layer.effect(Outbox, Effect.map(Outbox, watch.outbox)))
}

/** The tools of a start in the order in which they are offered: the server's own, those of MCP servers, the client's. */
const toolsOf = (
  locals: Parts["locals"],
  mcp: McpServers | null,
  registry: Registry["Service"]
): () => ReadonlyArray<CatalogTool> => {
  const clients = registry.tools.map(clientTool)
  let lent: ReadonlyArray<CatalogTool> = []
  let all: ReadonlyArray<CatalogTool> = [...locals, ...clients]
  return () => {
    const now = mcp?.tools() ?? lent
    if (now !== lent) {
      lent = now
      all = [...locals, ...lent, ...clients]
    }
    return all
  }
}

/** The limits of a connection under its options (REQ-4). */
export const limitsOf = (options: Options): Limits.LimitValues =>
  options.requestIds === undefined ? Limits.defaults : Limits.withBounds({ base: { request_ids: options.requestIds } })
