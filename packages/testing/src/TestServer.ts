/**
 * A whole server in this process over pipes in memory: real layers, with only model, storage and pipes swapped.
 *
 * Rule: it is the product's own `serve`; what a test sees here is what a client of the binary sees.
 */
import { Transport, type TransportSource } from "@errand/client"
import { Script, ScriptedModel } from "@errand/models"
import type { Events } from "@errand/protocol"
import type { LocalTools, ModelTurn, PermissionRule, ToolHooksService } from "@errand/runtime"
import { type Parts, serve, SessionStore, Startup } from "@errand/server"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Duplex from "./Duplex.ts"
import { Peer } from "./Peer.ts"

/** What a test chooses. */
export interface TestServerOptions {
  /** The steps of the root, or a whole script body. */
  readonly script?: ReadonlyArray<object> | { readonly root: ReadonlyArray<object>; readonly tasks?: object }
  /** A model instead of a script. */
  readonly model?: Layer.Layer<ModelTurn>
  readonly permissions?: ReadonlyArray<PermissionRule>
  readonly runTimeoutMs?: number
  readonly turnLimit?: number
  readonly catalog?: "full" | "compact"
  readonly locals?: ReadonlyArray<LocalTools.LocalTool>
  readonly hooks?: ToolHooksService
  /** Tools that come and go. */
  readonly mcp?: NonNullable<Parts["mcp"]>
  /** Who is told what the server does. */
  readonly watch?: NonNullable<Parts["watch"]>
  /** Where sessions are kept: given to several servers in turn, they share them. */
  readonly store?: Layer.Layer<SessionStore>
}

/** A running server with its client. */
export interface TestServer {
  readonly peer: Peer
  readonly duplex: Duplex.Duplex
  /** Waits until the connection has closed; gives the reason. */
  readonly closed: Effect.Effect<Events.ClosingReason>
}

/** Starts a server that lives as long as the scope. */
export const start = Effect.fnUntraced(function*(options: TestServerOptions = {}) {
  const { script = [{ text: "done", times: 1000 }] } = options
  const body = Array.isArray(script) ? { root: script } : script
  const decoded = Script.decode(JSON.stringify({ format: "errand.script", version: 1, ...body }))
  if (Result.isFailure(decoded)) return yield* Effect.die(decoded.failure)
  const parts = Effect.succeed({
    settings: {
      instructions: null,
      permissions: options.permissions ?? [],
      runTimeoutMs: options.runTimeoutMs ?? null,
      turnLimit: options.turnLimit ?? null,
      catalog: options.catalog ?? "full"
    },
    model: options.model ?? ScriptedModel.layer(decoded.success),
    store: options.store ?? SessionStore.layerMemory,
    locals: options.locals ?? [],
    hooks: options.hooks ?? null,
    mcp: options.mcp ?? null,
    watch: options.watch ?? null
  })
  const duplex = yield* Duplex.make
  const peer = new Peer(duplex)
  const fiber = yield* Effect.forkScoped(Effect.provide(serve(duplex.pipes), Startup.layerOf(parts)))
  const server: TestServer = { peer, duplex, closed: Fiber.join(fiber) }
  return server
})

/** The same server as what `@errand/client` is made of; it ends when the client closes. */
export const transport = (options: TestServerOptions = {}): TransportSource =>
  Effect.gen(function*() {
    let server: Transport.MemoryServer | undefined
    const exit = Effect.sync(() => server?.exit())
    // The first to be added is the last to run: a server that is interrupted with the scope has ended then.
    yield* Effect.addFinalizer(() => exit)
    const { closed, duplex } = yield* start(options)
    yield* Effect.forkScoped(Effect.tap(closed, exit))
    return yield* Transport.memory({
      written: (text, given) => {
        if (server === undefined) duplex.onOutput(given.send)
        server = given
        duplex.write(text)
      },
      closed: (given) => {
        server = given
        duplex.end()
      }
    })
  })

/** Initializes with some client tools and creates a session; gives its id. */
export const session = Effect.fnUntraced(function*(
  peer: Peer,
  tools?: ReadonlyArray<object>,
  capabilities: ReadonlyArray<string> = []
) {
  yield* peer.ok("initialize", {
    required_capabilities: [...capabilities, ...(tools === undefined ? [] : ["client.tools"])],
    ...(tools === undefined ? {} : { client_tools: tools })
  })
  return (yield* peer.ok("session.create"))["session_id"] as string
})

/** A client tool descriptor that takes any object. */
export const tool = (name: string, extra: object = {}): object => ({
  name,
  description: `The tool ${name}.`,
  input_schema: { type: "object" },
  ...extra
})
