/**
 * `initialize`: everything is validated before anything is done, and what fails later is undone (LIF-2 to LIF-6).
 *
 * Rule: the state goes `new` to `initializing` to `ready`, or back to `new` with nothing left of the attempt.
 */
import { type JsonText, Limits, Negotiation, Registry, type Requests, WireError } from "@errand/protocol"
import type { Outbox } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Cards from "./Cards.ts"
import type { Connection } from "./Connection.ts"
import { type Live, Startup } from "./Startup.ts"
import { version } from "./Version.ts"

/** The initialization of one connection. */
export interface Initialization {
  readonly run: (
    params: Requests.Params<"initialize">
  ) => Effect.Effect<Negotiation.InitializeResult, WireError>
  /** The services, once ready. */
  readonly live: () => Context.Context<Live> | undefined
  /** Closes what was started. */
  readonly close: Effect.Effect<void>
}

/** Optional capabilities of this server (LIF-8). */
const offered: ReadonlyArray<Negotiation.OptionalCapability> = ["tool.cards", "client.tools"]

/** Prepares the initialization of a connection. */
export const make = Effect.fnUntraced(function*(connection: Connection, limits: Limits.LimitValues) {
  const startup = yield* Startup
  const outbox = yield* Effect.context<Outbox>()
  let live: Context.Context<Live> | undefined
  let scope: Scope.Closeable | undefined
  /** The `client_tools` of the attempt that was admitted; a later attempt must carry the same (LIF-5). */
  let admitted: JsonText | null | undefined

  const close = Effect.suspend(() => {
    const started = scope
    scope = undefined
    live = undefined
    return started === undefined ? Effect.void : Scope.close(started, Exit.void)
  })

  const start = Effect.fnUntraced(function*(registry: Registry["Service"]) {
    const attempt = yield* Scope.make()
    scope = attempt
    const services = yield* startup.start(registry).pipe(
      Effect.provideContext(connection.cards ? yield* Cards.withCards(outbox) : outbox),
      Effect.provideService(Scope.Scope, attempt),
      Effect.mapError((error) => new WireError("configuration_invalid", error.message))
    )
    live = services
    return Context.get(services, Limits.Limits)
  })

  const run = Effect.fnUntraced(function*(params: Requests.Params<"initialize">) {
    const negotiated = Negotiation.negotiate(params as unknown as Readonly<Record<string, unknown>>, offered, limits)
    if (Result.isFailure(negotiated)) return yield* Effect.fail(negotiated.failure)
    const { clientTools, optional } = negotiated.success
    const tools = clientTools === null ? Result.succeed([]) : Registry.decode(clientTools, limits)
    if (Result.isFailure(tools)) return yield* Effect.fail(tools.failure)
    if (admitted !== undefined && admitted !== clientTools) {
      return yield* Effect.fail(
        new WireError(
          "already_initialized",
          "client_tools: differ from those of the first attempt; start a new process"
        )
      )
    }
    admitted = clientTools
    connection.state = "initializing"
    connection.clientTools = clientTools !== null
    connection.cards = optional.includes("tool.cards")
    const registry = Registry.make(tools.success)
    const granted = yield* start(clientTools === null ? { ...registry, negotiated: false } : registry).pipe(
      Effect.onExit((exit) => {
        if (Exit.isSuccess(exit)) return Effect.void
        if (connection.state === "initializing") connection.state = "new"
        connection.clientTools = false
        return close
      })
    )
    if (connection.state === "initializing") connection.state = "ready"
    connection.grant(granted.base.request_ids)
    return Negotiation.initializeResult({
      negotiated: negotiated.success,
      tools: tools.success.map((tool) => tool.name),
      limits: granted,
      server: { name: "errand", version }
    })
  })

  const initialization: Initialization = { run, live: () => live, close }
  return initialization
})
