/**
 * The port to durable sessions (SES-1 to SES-12).
 *
 * Rule: one writer per session at a time, readers at any time; what an id names is looked up among sessions that exist
 * and never made into a path.
 */
import type { StorageFailed } from "@errand/runtime"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MemorySessions from "./MemorySessions.ts"
import type { OpenSession, SessionLocked, SessionNotFound } from "./OpenSession.ts"
import type { CursorInvalid, HistoryPage, ListRequest, PageRequest, SessionList, StaleRevision } from "./Paging.ts"
import * as SqliteSessions from "./SqliteSessions.ts"

export { type OpenSession, SessionLocked, SessionNotFound } from "./OpenSession.ts"
export {
  CursorInvalid,
  type HistoryPage,
  type ListRequest,
  type PageRequest,
  type SessionList,
  StaleRevision
} from "./Paging.ts"

/** Keeps sessions. What fails with `StorageFailed` has had no effect. */
export class SessionStore extends Context.Service<SessionStore, {
  /** Makes a session, durable and open when it returns (SES-1). */
  readonly create: Effect.Effect<OpenSession, StorageFailed>
  readonly open: (
    sessionId: string
  ) => Effect.Effect<OpenSession, SessionNotFound | SessionLocked | StorageFailed>
  readonly list: (request: ListRequest) => Effect.Effect<SessionList, CursorInvalid | StorageFailed>
  /** Reads history, also of a session that another process holds (SES-12). */
  readonly page: (
    request: PageRequest
  ) => Effect.Effect<HistoryPage, SessionNotFound | StaleRevision | CursorInvalid | StorageFailed>
}>()("@errand/server/SessionStore") {
  /** Sessions that live as long as the layer. */
  static readonly layerMemory = Layer.effect(SessionStore, MemorySessions.make)

  /** Sessions in the home directory, which need not exist yet; those still open when the layer closes are closed. */
  static readonly layerSqlite = (home: string) => Layer.effect(SessionStore, SqliteSessions.make(home))
}
