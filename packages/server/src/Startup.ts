/**
 * What an admitted `initialize` starts, and what a failed one undoes (LIF-5).
 *
 * Rule: everything that runs for a connection hangs on one scope; closing it leaves nothing running.
 */
import { Limits, Registry } from "@errand/protocol"
import {
  AgentRunner,
  type Approvals,
  type Broker,
  Catalog,
  type ModelTurn,
  type Outbox,
  Permissions,
  RunSettings,
  TurnLimit
} from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Attachment } from "./Attachment.ts"
import * as Model from "./Model.ts"
import type { Options } from "./Options.ts"
import { SessionStore } from "./SessionStore.ts"
import { type ConfigurationInvalid, load, type Settings } from "./Settings.ts"

/** The services that handlers use once the server is ready. */
export type Live = AgentRunner | Approvals | Attachment | Broker | ModelTurn | Registry | SessionStore

/** Starts a connection's services. */
export class Startup extends Context.Service<Startup, {
  /** Builds the services in the scope; a failure has undone what it began when the scope closes. */
  readonly start: (
    registry: Registry["Service"]
  ) => Effect.Effect<Context.Context<Live>, ConfigurationInvalid, Outbox | Scope.Scope>
}>()("@errand/server/Startup") {
  /** Starts by options, config file and defaults. */
  static readonly layer = (options: Options) =>
    Layer.succeed(Startup, {
      start: Effect.fnUntraced(function*(registry: Registry["Service"]) {
        const settings = yield* load(options)
        const model = yield* Model.layerOf(settings)
        return yield* Layer.build(compose(registry, settings, model, SessionStore.layerSqlite(settings.home)))
      })
    })
}

/** The services of a connection from their parts; also what benchmarks and tests compose with other parts. */
export const compose = (
  registry: Registry["Service"],
  settings: Pick<Settings, "instructions" | "permissions" | "runTimeoutMs" | "turnLimit">,
  model: Layer.Layer<ModelTurn>,
  store: Layer.Layer<SessionStore>
): Layer.Layer<Live, never, Outbox> => {
  const references = Layer.mergeAll(
    Layer.succeed(Permissions, settings.permissions),
    Layer.succeed(RunSettings, { instructions: settings.instructions, timeoutMs: settings.runTimeoutMs }),
    settings.turnLimit === null ? Layer.empty : Layer.succeed(TurnLimit, settings.turnLimit)
  )
  return Attachment.layerNoDeps.pipe(
    Layer.provideMerge(AgentRunner.layerLive),
    Layer.provideMerge(Layer.mergeAll(Catalog.layerRegistry, model, store)),
    Layer.provideMerge(Layer.succeed(Registry, registry)),
    Layer.provide(references)
  )
}

/** The limits of a connection under its options (REQ-4). */
export const limitsOf = (options: Options): Limits.LimitValues =>
  options.requestIds === undefined ? Limits.defaults : Limits.withBounds({ base: { request_ids: options.requestIds } })
