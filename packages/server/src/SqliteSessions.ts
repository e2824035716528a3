/**
 * Sessions in the home directory, one SQLite file each (SES-1 to SES-12, BLT-6).
 *
 * Rule: nothing is loaded or touched before the first use, and what goes wrong with one session is told by its name and
 * leaves the others alone.
 *
 * `HOME/sessions/CREATED-ID.db` is a session, `….lock` the lock of whoever writes to it, `….mark` the count of what was
 * acknowledged. An edge.
 */
import { Ids, Limits } from "@errand/protocol"
import { StorageFailed } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as fs from "node:fs"
import * as Path from "node:path"
import * as OpenSession from "./OpenSession.ts"
import * as Paging from "./Paging.ts"
import * as SessionDatabase from "./SessionDatabase.ts"
import * as SessionFiles from "./SessionFiles.ts"
import * as SessionLock from "./SessionLock.ts"

/** A session's file as its name tells it; names sort by creation. */
interface File {
  readonly stem: string
  readonly sessionId: string
  readonly createdAt: string
}

const NAME =
  /^((\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}))\.db$/

/** How many files a list opens before it lets others run. */
const LIST_STRIDE = 8

const fileOf = (name: string): File | null => {
  const match = NAME.exec(name)
  if (match === null) return null
  const [, stem, year, month, day, hour, minute, second, millis, sessionId] = match
  return {
    stem: stem!,
    sessionId: sessionId!,
    createdAt: `${year}-${month}-${day}T${hour}:${minute}:${second}.${millis}Z`
  }
}

/** The store over a home directory, which need not exist yet. Sessions still open when its scope closes are closed. */
export const make = (home: string) =>
  Effect.gen(function*() {
    const newId = yield* Ids.Generator
    const { base } = yield* Limits.Limits
    const watch = yield* OpenSession.RowWatch
    const folder = Path.join(home, "sessions")
    const engine = yield* Effect.cached(Effect.promise(SessionDatabase.engine))
    const held = new Map<
      string,
      { readonly db: SessionDatabase.SessionDatabase; readonly session: OpenSession.OpenSession }
    >()
    let newest = 0

    const pathOf = (file: File, end: "db" | "lock") => Path.join(folder, `${file.stem}.${end}`)

    /** All sessions, newest first. */
    const files = storing("the list of sessions", () => {
      const names = SessionFiles.unlessMissing(() => fs.readdirSync(folder), [])
      return names.map(fileOf).filter((file) => file !== null).sort((a, b) => a.stem < b.stem ? 1 : -1)
    })

    const find = Effect.fnUntraced(function*(sessionId: string) {
      const file = (yield* files).find((file) => file.sessionId === sessionId)
      return file ?? (yield* new OpenSession.SessionNotFound({ sessionId }))
    })

    const attach = Effect.fnUntraced(function*(file: File) {
      const { sessionId } = file
      const node = yield* engine
      const lock = yield* storing(named(sessionId), () => SessionLock.take(node, pathOf(file, "lock")))
      if (lock === null) return yield* new OpenSession.SessionLocked({ sessionId })
      const unlock = Effect.sync(() => lock.close())
      const db = yield* connect(node, file).pipe(Effect.tapError(() => unlock))
      const release = Effect.ignore(storing(named(sessionId), () => {
        held.delete(sessionId)
        db.close()
      })).pipe(Effect.andThen(unlock))
      const found = yield* storing(named(sessionId), () => {
        const { entries, seq } = db.head()
        return OpenSession.find(db.rows(seq), entries)
      }).pipe(
        Effect.tapError(() => release)
      )
      const session = yield* OpenSession.make(sessionId, found, keeperOf(sessionId, db, release, watch), newId)
      held.set(sessionId, { db, session })
      return session
    }, Effect.uninterruptible)

    const connect = (node: SessionDatabase.Engine, file: File) =>
      storing(
        named(file.sessionId),
        () => new SessionDatabase.SessionDatabase(node, pathOf(file, "db"), file.sessionId)
      )

    /** Reads a session over the connection that writes to it, or one of its own. */
    const reading = Effect.fnUntraced(function*<A>(file: File, read: (db: SessionDatabase.SessionDatabase) => A) {
      const once = (db: SessionDatabase.SessionDatabase) =>
        storing(named(file.sessionId), () => db.reading(() => read(db)))
      const mine = held.get(file.sessionId)
      if (mine !== undefined) return yield* once(mine.db)
      return yield* Effect.acquireUseRelease(
        connect(yield* engine, file),
        once,
        (db) => Effect.ignore(storing(named(file.sessionId), () => db.close()))
      )
    })

    const create = Effect.gen(function*() {
      const sessionId = newId()
      const node = yield* engine
      // names of one process sort in the order of creation, also within a millisecond
      newest = Math.max(newest + 1, yield* Clock.currentTimeMillis)
      const file = fileOf(`${OpenSession.timestamp(newest).replace(/[-:.]/g, "")}-${sessionId}.db`)
      if (file === null) return yield* Effect.die(new Error(`the id of a session must be a UUID, not ${sessionId}`))
      yield* storing(named(sessionId), () => {
        SessionFiles.makeFolder(home)
        SessionFiles.makeFolder(folder)
        SessionDatabase.create(node, pathOf(file, "db"), sessionId)
      })
      return yield* Effect.catchTag(attach(file), "SessionLocked", Effect.die)
    })

    const summaryOf = (file: File) =>
      reading(file, (db) => db.head()).pipe(
        Effect.tapError((error) => Effect.logWarning(error.message)),
        Effect.orElseSucceed(() => ({ title: null, at: null, entries: 0 })),
        Effect.map((head): Paging.SessionSummary => ({
          session_id: file.sessionId,
          created_at: file.createdAt,
          updated_at: head.at ?? file.createdAt,
          entries: head.entries,
          title: head.title
        }))
      )

    const list = Effect.fnUntraced(function*(request: Paging.ListRequest) {
      const from = yield* Paging.listFrom(request.cursor)
      const all = yield* files
      const older = from === null ? all : all.filter((file) => file.stem < from)
      const shown = older.slice(0, Paging.listRoom(request.limit, base))
      const sessions: Array<Paging.SessionSummary> = []
      for (const file of shown) {
        sessions.push(yield* summaryOf(file))
        if (sessions.length % LIST_STRIDE === 0) yield* Effect.yieldNow
      }
      return { sessions, nextCursor: shown.length < older.length ? Paging.listCursor(shown.at(-1)!.stem) : null }
    })

    const page = Effect.fnUntraced(function*(request: Paging.PageRequest) {
      const { sessionId } = request
      const file = yield* find(sessionId)
      const room = Paging.pageRoom(request.limit, base)
      const read = yield* reading(file, (db) => {
        const { entries, seq } = db.head()
        return Result.map(Paging.pageFrom(request, seq), (from) =>
          Paging.pageOf(
            sessionId,
            seq,
            entries,
            Paging.fill(db.entries(from, room.entries, entries), room, request.cardOf)
          ))
      })
      return yield* Effect.fromResult(read)
    })

    yield* Effect.addFinalizer(() =>
      Effect.forEach([...held.values()], ({ session }) => session.close, { discard: true })
    )
    return {
      create,
      open: (sessionId: string) => Effect.flatMap(find(sessionId), attach),
      list,
      page
    }
  })

const keeperOf = (
  sessionId: string,
  db: SessionDatabase.SessionDatabase,
  release: Effect.Effect<void>,
  watch: OpenSession.Keeper["watch"]
): OpenSession.Keeper => ({
  grouped: true,
  watch,
  commit: (step) => {
    try {
      db.commit(step)
      return null
    } catch (error) {
      return refused(named(sessionId), error)
    }
  },
  recordsOf: (taskId) => storing(named(sessionId), () => db.recordsOf(taskId)),
  release
})

const named = (sessionId: string): string => `session ${sessionId}`

const storing = <A>(what: string, body: () => A): Effect.Effect<A, StorageFailed> =>
  Effect.try({ try: body, catch: (error) => refused(what, error) })

const refused = (what: string, error: unknown): StorageFailed => {
  const reason = error instanceof Error ? error.message : String(error)
  const damaged = SessionDatabase.isDamage(error)
  return new StorageFailed({
    message: damaged ? `${what} is damaged: ${reason}` : `${what} could not be stored or read: ${reason}`
  })
}
