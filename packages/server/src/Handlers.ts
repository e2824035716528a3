/**
 * What each method does: params to service call to result, and errors to wire codes.
 *
 * Rule: errors of services get their codes here and nowhere else; the table has one row per method but the answer to a
 * call, and nothing else is dispatched by other means.
 */
import { type JsonText, type Requests, WireError } from "@errand/protocol"
import { Approvals, Broker, ModelTurn, Redaction, type StorageFailed } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type AttachError, Attachment } from "./Attachment.ts"
import * as Cards from "./Cards.ts"
import type { Connection } from "./Connection.ts"
import type * as Initialization from "./Initialization.ts"
import type { CursorInvalid, StaleRevision } from "./SessionStore.ts"
import { SessionStore } from "./SessionStore.ts"

/** An answer; `then` is what follows once the answer is in the output queue. */
export interface Reply {
  readonly result: object | JsonText
  readonly then?: Effect.Effect<void>
}

/** Every method but `client.tool.result`, which `Server` answers itself: it is on the path of every call. */
export type HandledMethod = Exclude<Requests.MethodName, "client.tool.result">

/** One handler per method; a failure is the error that the wire shows. */
export type Handlers = {
  readonly [M in HandledMethod]: (params: Requests.Params<M>) => Effect.Effect<Reply, WireError>
}

/** Methods whose effects must come in the order of the requests; the others never wait for one of them. */
export const ordered: ReadonlySet<Requests.MethodName> = new Set<Requests.MethodName>([
  "session.create",
  "session.open",
  "session.list",
  "history.page",
  "turn.start"
])

/** What handlers act on. */
export interface Acting {
  readonly connection: Connection
  readonly initialization: Initialization.Initialization
  /** Begins to close with the reason `shutdown`. */
  readonly shutdown: Effect.Effect<void>
}

const accepted = { accepted: true }

/** The table of handlers for one connection. */
export const make = ({ connection, initialization, shutdown }: Acting): Handlers => {
  /** Methods beyond `status` and `shutdown` are admitted only when this is there (LIF-1). */
  const live = Effect.suspend(() => {
    const services = initialization.live()
    return services === undefined ? Effect.fail(notReady) : Effect.succeed(services)
  })
  const service = <I, S>(key: Context.Key<I, S>) => Effect.map(live, (services) => Context.getUnsafe(services, key))

  return {
    "initialize": (params) => Effect.map(initialization.run(params), (result) => ({ result })),
    "status": () =>
      Effect.sync(() => {
        const services = initialization.live()
        const attachment = services === undefined ? undefined : Context.getUnsafe(services, Attachment)
        const model = services === undefined ? undefined : Context.getUnsafe(services, ModelTurn)
        return {
          result: {
            state: connection.state,
            session_id: attachment?.sessionId() ?? null,
            run_id: attachment?.runId() ?? null,
            pending_calls: services === undefined ? 0 : Context.getUnsafe(services, Broker).pending(),
            pending_approvals: services === undefined ? 0 : Context.getUnsafe(services, Approvals).pending(),
            request_ids_left: connection.idsLeft,
            model: model === undefined ? null : { provider: model.provider, name: model.name }
          }
        }
      }),
    "shutdown": () => Effect.succeed({ result: {}, then: shutdown }),
    "session.create": Effect.fnUntraced(function*() {
      const session = yield* Effect.mapError((yield* service(Attachment)).create, wireError)
      return { result: { session_id: session.sessionId, history_revision: session.history.revision() } }
    }),
    "session.open": Effect.fnUntraced(function*({ session_id }) {
      const session = yield* Effect.mapError((yield* service(Attachment)).open(session_id), wireError)
      return {
        result: {
          session_id: session.sessionId,
          history_revision: session.history.revision(),
          entries: session.entries()
        }
      }
    }),
    "session.list": Effect.fnUntraced(function*(params) {
      const page = yield* Effect.mapError((yield* service(SessionStore)).list(params), wireError)
      return { result: { sessions: page.sessions, next_cursor: page.nextCursor } }
    }),
    "history.page": Effect.fnUntraced(function*({ cursor, limit, revision, session_id }) {
      const store = yield* service(SessionStore)
      const request = {
        sessionId: session_id,
        ...(cursor === undefined || revision === undefined ? {} : { from: { revision, cursor } }),
        ...(limit === undefined ? {} : { limit }),
        ...(connection.cards ? { cardOf: Cards.ofEntry } : {})
      }
      const page = yield* Effect.mapError(store.page(request), wireError)
      const next = JSON.stringify(page.nextCursor)
      return {
        result: `{"revision":${JSON.stringify(page.revision)},"entries":[${
          page.entries.join(",")
        }],"next_cursor":${next}}` as JsonText
      }
    }),
    "turn.start": Effect.fnUntraced(function*({ prompt, session_id }) {
      const run = yield* Effect.mapError((yield* service(Attachment)).start(session_id, prompt), wireError)
      return { result: { run_id: run.runId }, then: run.begin }
    }),
    "turn.cancel": Effect.fnUntraced(function*({ run_id, session_id }) {
      const cancelled = (yield* service(Attachment)).cancel(session_id, run_id)
      if (Result.isFailure(cancelled)) return yield* Effect.fail(cancelled.failure)
      return { result: accepted, then: Effect.sync(cancelled.success) }
    }),
    "approval.answer": Effect.fnUntraced(function*(answer) {
      if ((yield* service(Approvals)).answer(answer)) return { result: accepted }
      return yield* Effect.fail(new WireError("stale_approval", "approval_id: no such approval is pending in this run"))
    })
  }
}

const notReady = new WireError("not_initialized", "initialize comes first")

const wireError = (error: AttachError | CursorInvalid | StaleRevision | StorageFailed): WireError => {
  if (error instanceof WireError) return error
  switch (error._tag) {
    case "SessionNotFound":
      return new WireError("session_not_found", "session_id: there is no such session")
    case "SessionLocked":
      return new WireError("session_locked", "session_id: another process holds this session")
    case "CursorInvalid":
      return WireError.invalidParams("cursor", "is none that this server gave for this list")
    case "StaleRevision":
      return new WireError("stale_revision", "revision: the history has changed; start again without cursor")
    case "StorageFailed":
      return new WireError("storage_failed", Redaction.protectText(error.message))
  }
}
