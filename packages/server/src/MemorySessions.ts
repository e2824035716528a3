/**
 * Sessions in memory, with the behaviour of stored ones but for durability: for tests, benchmarks and embedders.
 *
 * Rule: an append costs the same whatever the length of the session. Records are all that is kept; entries are made of
 * them when somebody reads.
 */
import { Ids, Limits } from "@errand/protocol"
import type { Record } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OpenSession from "./OpenSession.ts"
import * as Paging from "./Paging.ts"
import type * as SessionEntry from "./SessionEntry.ts"
import * as SessionFold from "./SessionFold.ts"

/** A store whose sessions live as long as it does. */
export const make = Effect.gen(function*() {
  const newId = yield* Ids.Generator
  const { base } = yield* Limits.Limits
  const watch = yield* OpenSession.RowWatch
  const sessions = new Map<string, Kept>()

  const attach = (kept: Kept) =>
    OpenSession.make(kept.sessionId, OpenSession.find(kept.rows(), kept.entries), keeperOf(kept, watch), newId).pipe(
      Effect.tap(() => Effect.sync(() => kept.held = true))
    )

  const create = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const kept = new Kept(newId(), OpenSession.timestamp(now))
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
        updated_at: kept.times.at(-1) ?? kept.createdAt,
        entries: kept.entries,
        title: kept.title
      })),
      nextCursor: shown.length < older.length ? Paging.listCursor(String(older.length - shown.length)) : null
    }
  })

  const page = Effect.fnUntraced(function*(request: Paging.PageRequest) {
    const { sessionId } = request
    const kept = sessions.get(sessionId)
    if (kept === undefined) return yield* new OpenSession.SessionNotFound({ sessionId })
    const from = yield* Effect.fromResult(Paging.pageFrom(request, kept.records.length))
    const entries = kept.shown()
    const numbered = function*() {
      for (let n = from + 1; n <= entries.length; n++) yield { n, entry: entries[n - 1]! }
    }
    const filled = Paging.fill(numbered(), Paging.pageRoom(request.limit, base), request.cardOf)
    return Paging.pageOf(sessionId, kept.records.length, entries.length, filled)
  })

  return { create, open, list, page }
})

class Kept {
  readonly records: Array<Record> = []
  /** When each record was appended. */
  readonly times: Array<string> = []
  entries = 0
  title: string | null = null
  held = false
  readonly sessionId: string
  readonly createdAt: string
  private readonly fold = new SessionFold.Entries()
  private readonly read: Array<SessionEntry.StoredEntry> = []
  private folded = 0

  constructor(sessionId: string, createdAt: string) {
    this.sessionId = sessionId
    this.createdAt = createdAt
  }

  *rows(from = 0): Iterable<SessionFold.Row> {
    for (let i = from; i < this.records.length; i++) yield { seq: i + 1, at: this.times[i]!, record: this.records[i]! }
  }

  /** All entries; those of records that were read before are there already. */
  shown(): ReadonlyArray<SessionEntry.StoredEntry> {
    for (const row of this.rows(this.folded)) this.read.push(...this.fold.take(row))
    this.folded = this.records.length
    return this.read
  }
}

const keeperOf = (kept: Kept, watch: OpenSession.Keeper["watch"]): OpenSession.Keeper => ({
  grouped: false,
  watch,
  commit: (step) => {
    for (const { at, record } of step.rows) {
      kept.records.push(record)
      kept.times.push(at)
    }
    kept.entries = step.ledger.entries
    kept.title ??= step.title
    return null
  },
  recordsOf: (taskId) => Effect.sync(() => kept.records.filter((record) => record.taskId === taskId)),
  release: Effect.sync(() => {
    kept.held = false
  })
})
