/**
 * Sessions in memory, with the behaviour of stored ones but for durability: for tests, benchmarks and embedders.
 *
 * Rule: an append costs the same whatever the length of the session.
 */
import { Ids, Limits } from "@errand/protocol"
import type { Record } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OpenSession from "./OpenSession.ts"
import * as Paging from "./Paging.ts"
import type * as SessionEntry from "./SessionEntry.ts"
import type * as SessionFold from "./SessionFold.ts"

/** A store whose sessions live as long as it does. */
export const make = Effect.gen(function*() {
  const newId = yield* Ids.Generator
  const { base } = yield* Limits.Limits
  const sessions = new Map<string, Kept>()

  const attach = (kept: Kept) =>
    OpenSession.make(kept.sessionId, OpenSession.find(kept.rows, kept.entries.length), keeperOf(kept), newId).pipe(
      Effect.tap(() => Effect.sync(() => kept.held = true))
    )

  const create = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const kept: Kept = {
      sessionId: newId(),
      createdAt: OpenSession.timestamp(now),
      rows: [],
      entries: [],
      title: null,
      held: false
    }
    sessions.set(kept.sessionId, kept)
    return attach(kept)
  })

  const open = Effect.fnUntraced(function*(sessionId: string) {
    const kept = sessions.get(sessionId)
    if (kept === undefined) return yield* new OpenSession.SessionNotFound({ sessionId })
    if (kept.held) return yield* new OpenSession.SessionLocked({ sessionId })
    return yield* attach(kept)
  })

  const list = Effect.fnUntraced(function*(request: Paging.ListRequest) {
    const from = yield* Paging.listFrom(request.cursor)
    const older = [...sessions.values()].slice(0, from === null ? sessions.size : Number(from)).reverse()
    const shown = older.slice(0, Paging.listRoom(request.limit, base))
    return {
      sessions: shown.map((kept) => ({
        session_id: kept.sessionId,
        created_at: kept.createdAt,
        updated_at: kept.rows.at(-1)?.at ?? kept.createdAt,
        entries: kept.entries.length,
        title: kept.title
      })),
      nextCursor: shown.length < older.length ? Paging.listCursor(String(older.length - shown.length)) : null
    }
  })

  const page = Effect.fnUntraced(function*(request: Paging.PageRequest) {
    const { sessionId } = request
    const kept = sessions.get(sessionId)
    if (kept === undefined) return yield* new OpenSession.SessionNotFound({ sessionId })
    const from = yield* Effect.fromResult(Paging.pageFrom(request, kept.rows.length))
    const numbered = function*() {
      for (let n = from + 1; n <= kept.entries.length; n++) yield { n, entry: kept.entries[n - 1]! }
    }
    const filled = Paging.fill(numbered(), Paging.pageRoom(request.limit, base), request.cardOf)
    return Paging.pageOf(sessionId, kept.rows.length, kept.entries.length, filled)
  })

  return { create, open, list, page }
})

interface Kept {
  readonly sessionId: string
  readonly createdAt: string
  readonly rows: Array<SessionFold.Row>
  readonly entries: Array<SessionEntry.StoredEntry>
  title: string | null
  held: boolean
}

const keeperOf = (kept: Kept): OpenSession.Keeper => ({
  grouped: false,
  commit: (step) => {
    for (const row of step.rows) kept.rows.push(row)
    for (const entry of step.entries) kept.entries.push(entry)
    kept.title ??= step.title
    return null
  },
  recordsOf: (taskId) =>
    Effect.sync(() => kept.rows.map((row): Record => row.record).filter((record) => record.taskId === taskId)),
  release: Effect.sync(() => {
    kept.held = false
  })
})
