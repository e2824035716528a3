/**
 * One session as a SQLite database in a file of its own (SES-9, SES-10).
 *
 * Rule: every row carries a checksum and a number that leaves no gap, so that damage is told and never read as history.
 *
 * An edge: everything here is synchronous and throws; `SqliteSessions` turns what it throws into `StorageFailed`.
 *
 * Format, by `user_version`:
 * - 1: `session` (one row: id, title), `records` (what the model must see again), `entries` (what people may read).
 */
import type { JsonText } from "@errand/protocol"
import type { Record } from "@errand/runtime"
import * as fs from "node:fs"
import * as Path from "node:path"
import type * as Sqlite from "node:sqlite"
import { pathToFileURL } from "node:url"
import type * as Zlib from "node:zlib"
import type * as Paging from "./Paging.ts"
import * as SessionFiles from "./SessionFiles.ts"
import type { Row, Step } from "./SessionFold.ts"
import * as SessionMark from "./SessionMark.ts"
import * as WriteAheadLog from "./WriteAheadLog.ts"

/** The parts of Node that are loaded when the first session is used, not at start-up. */
export interface Engine {
  readonly DatabaseSync: typeof Sqlite.DatabaseSync
  readonly crc32: typeof Zlib.crc32
}

/** Loads the engine. */
export const engine = (): Promise<Engine> =>
  Promise.all([import("node:sqlite"), import("node:zlib")]).then(([{ DatabaseSync }, { crc32 }]) => ({
    DatabaseSync,
    crc32
  }))

/** The stored session is not what was written. */
class Damaged extends Error {}

/** The session's file is not where it was opened. */
class Moved extends Error {}

/** The session was written by a version of ours that this one does not know. */
class TooNew extends Error {}

/** The version of the format that is written. */
const VERSION = 1

const SCHEMA = `
  CREATE TABLE session (only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL, title TEXT, crc INTEGER NOT NULL) STRICT;
  CREATE TABLE records (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, entries INTEGER NOT NULL, task TEXT, body TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;
  CREATE TABLE entries (n INTEGER PRIMARY KEY, body TEXT NOT NULL, tool TEXT, crc INTEGER NOT NULL) STRICT;
  PRAGMA user_version = ${VERSION};
`

/** How many records are read at a time. */
const STRETCH = 256

/** How long a reader waits while another process recovers or cleans up the same session, in milliseconds. */
const BUSY_MS = 1000

/** SQLite's result codes: the file is malformed; it is no database. */
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** SQLite's primary result code; undefined for other errors. */
export const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined

/** Whether an error says that what is stored is not what was written. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Damaged || codeOf(error) === SQLITE_CORRUPT || codeOf(error) === SQLITE_NOTADB

/** Makes the file of a new session, on stable storage under its name wholly or not at all. */
export const create = (engine: Engine, path: string, sessionId: string): void => {
  const draft = `${path}.new`
  try {
    SessionFiles.makeFile(draft)
    const db = new engine.DatabaseSync(draft)
    try {
      // nothing depends on the draft before it is synchronised as a whole
      db.exec(`PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; ${SCHEMA}`)
      db.prepare("INSERT INTO session VALUES (1, ?, NULL, ?)").run(
        sessionId,
        sessionSum(engine, sessionId, null)
      )
    } finally {
      db.close()
    }
    SessionFiles.synchronise(draft)
    fs.renameSync(draft, path)
    SessionFiles.synchronise(Path.dirname(path))
  } catch (error) {
    for (const end of ["", "-wal", "-shm"]) fs.rmSync(draft + end, { force: true })
    throw error
  }
}

type SessionRow = [id: string, title: string | null, crc: number]
type RecordRow = [seq: number, at: string, entries: number, task: string | null, body: string, crc: number]
type EntryRow = [n: number, body: string, tool: string | null, crc: number]

const sessionSum = ({ crc32 }: Engine, id: string, title: string | null): number => crc32(JSON.stringify([id, title]))
const recordSum = ({ crc32 }: Engine, seq: number, at: string, entries: number, task: string | null, body: string) =>
  crc32(body, crc32(`${seq} ${at} ${entries} ${task ?? ""}`))
const entrySum = ({ crc32 }: Engine, n: number, body: string, tool: string | null): number =>
  crc32(body, crc32(`${n} ${tool ?? ""}`))

/** Where a session stands: its title, its last record and the number of entries. */
export interface Head {
  readonly title: string | null
  readonly seq: number
  /** When the last record was made; null without records. */
  readonly at: string | null
  readonly entries: number
}

/** Whether the log of a session is damaged, seen twice: while another process writes, one look may see two states. */
const isLogDamaged = (path: string): boolean => {
  const log = `${path}-wal`
  const look = () => WriteAheadLog.isDamaged(SessionFiles.unlessMissing(() => fs.readFileSync(log), new Uint8Array()))
  return look() && look()
}

const markOf = (path: string): string => path.replace(/\.db$/, ".mark")

const inodeOf = (path: string): number | undefined => fs.statSync(path, { throwIfNoEntry: false })?.ino

/** An open connection to a session's file. */
export class SessionDatabase {
  private readonly engine: Engine
  private readonly sessionId: string
  private readonly path: string
  private readonly inode: number | undefined
  private readonly marker: SessionMark.Marker
  private readonly db: Sqlite.DatabaseSync
  private readonly prepared = new Map<string, Sqlite.StatementSync>()

  /** Opens an existing file; fails for one that is damaged, too new, or of another session. */
  constructor(engine: Engine, path: string, sessionId: string) {
    this.engine = engine
    this.sessionId = sessionId
    this.path = path
    this.marker = new SessionMark.Marker(engine.crc32, markOf(path))
    // before SQLite, which would take damage for a torn tail and clear it away
    if (isLogDamaged(path)) throw new Damaged("its log (-wal) does not match its checksums")
    const url = pathToFileURL(path)
    url.search = "mode=rw"
    this.db = new engine.DatabaseSync(url, { timeout: BUSY_MS })
    try {
      const [version] = this.one<[number]>("PRAGMA user_version")!
      if (version > VERSION) throw new TooNew(`its format ${version} is newer than ${VERSION}, the newest known here`)
      if (version !== VERSION) throw new Damaged("the file holds no session")
      this.db.exec("PRAGMA synchronous = FULL")
      this.inode = inodeOf(path)
    } catch (error) {
      this.db.close()
      throw error
    }
  }

  close(): void {
    this.marker.close()
    this.db.close()
  }

  head(): Head {
    // before the first look at the records: another process may be writing
    const acknowledged = SessionMark.read(this.engine.crc32, markOf(this.path))
    const head = this.readHead()
    if (head.seq < acknowledged) throw new Damaged(`${acknowledged} records were stored, ${head.seq} are there`)
    return head
  }

  private readHead(): Head {
    const session = this.one<SessionRow>("SELECT id, title, crc FROM session")
    if (session === undefined || session[2] !== sessionSum(this.engine, session[0], session[1])) {
      throw new Damaged("its title row does not match its checksum")
    }
    if (session[0] !== this.sessionId) throw new Damaged(`the file is that of session ${session[0]}`)
    const last = this.one<RecordRow>(`${RECORDS} ORDER BY seq DESC LIMIT 1`)
    const [shown] = this.one<[number | null]>("SELECT max(n) FROM entries")!
    if (last === undefined) return { title: session[1], seq: 0, at: null, entries: shown ?? 0 }
    this.check(last)
    if (last[2] !== (shown ?? 0)) throw new Damaged(`${last[2]} entries were written, ${shown ?? 0} are there`)
    return { title: session[1], seq: last[0], at: last[1], entries: last[2] }
  }

  /** All rows in order, of a session whose last record is number `last`; a stretch of them is in memory at a time. */
  *rows(last: number): Iterable<Row> {
    for (let seq = 0; seq < last;) {
      const stretch = this.all<RecordRow>(`${RECORDS} WHERE seq > ? ORDER BY seq LIMIT ${STRETCH}`, seq)
      if (stretch.length === 0) throw new Damaged(`record ${seq + 1} is missing`)
      for (const row of stretch) {
        this.check(row)
        if (row[0] !== ++seq) throw new Damaged(`record ${seq} is missing`)
        yield { seq, at: row[1], record: JSON.parse(row[4]) as Record }
      }
    }
  }

  /** The records of one task. */
  recordsOf(task: string): Array<Record> {
    return this.all<RecordRow>(`${RECORDS} WHERE task = ? ORDER BY seq`, task).map((row) => {
      this.check(row)
      return JSON.parse(row[4]) as Record
    })
  }

  /** At most `limit` entries after number `from`, of a session with `total` entries. */
  *entries(from: number, limit: number, total: number): Iterable<Paging.Numbered> {
    const until = Math.min(total, from + limit)
    for (let n = from + 1; n <= until; n++) {
      const row = this.one<EntryRow>("SELECT n, body, tool, crc FROM entries WHERE n = ?", n)
      if (row === undefined) throw new Damaged(`entry ${n} is missing`)
      const [, body, tool, crc] = row
      if (crc !== entrySum(this.engine, n, body, tool)) {
        throw new Damaged(`entry ${n} does not match its checksum`)
      }
      yield { n, entry: { body: body as JsonText, tool: tool === null ? null : JSON.parse(tool) } }
    }
  }

  /** Runs reads that must see one state, whatever another process writes meanwhile. */
  reading<A>(read: () => A): A {
    return this.transaction("BEGIN", read)
  }

  /** Stores a step; when it returns the step is on stable storage. */
  commit(step: Step): void {
    this.transaction("BEGIN IMMEDIATE", () => {
      const entries = step.shown()
      let n = step.ledger.entries - entries.length
      for (const { body, tool: activity } of entries) {
        const tool = activity === null ? null : JSON.stringify(activity)
        this.run(
          "INSERT INTO entries VALUES (?, ?, ?, ?)",
          ++n,
          body,
          tool,
          entrySum(this.engine, n, body, tool)
        )
      }
      for (const { at, record, seq } of step.rows) {
        const row = [seq, at, n, record.taskId, JSON.stringify(record)] as const
        this.run("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", ...row, recordSum(this.engine, ...row))
      }
      if (step.title !== null) {
        const sum = sessionSum(this.engine, this.sessionId, step.title)
        this.run("UPDATE session SET title = ?, crc = ?", step.title, sum)
      }
      // what goes into a file that has lost its name is gone with this process
      if (inodeOf(this.path) !== this.inode) throw new Moved("its file was removed or replaced while it was open")
    })
    this.marker.write(step.ledger.seq)
  }

  private check([seq, at, entries, task, body, crc]: RecordRow): void {
    if (crc !== recordSum(this.engine, seq, at, entries, task, body)) {
      throw new Damaged(`record ${seq} does not match its checksum`)
    }
  }

  private transaction<A>(begin: string, body: () => A): A {
    this.db.exec(begin)
    try {
      const value = body()
      this.db.exec("COMMIT")
      return value
    } catch (error) {
      // SQLite has rolled back by itself where the disk refused
      if (this.db.isTransaction) this.db.exec("ROLLBACK")
      throw error
    }
  }

  private statement(sql: string): Sqlite.StatementSync {
    let statement = this.prepared.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare(sql)
      statement.setReturnArrays(true)
      this.prepared.set(sql, statement)
    }
    return statement
  }

  private one<R>(sql: string, ...values: Array<string | number>): R | undefined {
    return this.statement(sql).get(...values) as R | undefined
  }

  private all<R>(sql: string, ...values: Array<string | number>): Array<R> {
    return this.statement(sql).all(...values) as unknown as Array<R>
  }

  private run(sql: string, ...values: Array<string | number | null>): void {
    this.statement(sql).run(...values)
  }
}

const RECORDS = "SELECT seq, at, entries, task, body, crc FROM records"
