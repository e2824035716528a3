/**
 * The lock of whoever writes to a session (SES-2).
 *
 * Rule: it is a lock of the operating system, free as soon as its process ends, and what is in its file means nothing.
 *
 * An edge: synchronous, and throws what the system says.
 */
import * as fs from "node:fs"
import type * as Sqlite from "node:sqlite"
import { codeOf, type Engine, isDamage } from "./SessionDatabase.ts"
import * as SessionFiles from "./SessionFiles.ts"

/** SQLite's result code for a lock that another connection holds. */
const SQLITE_BUSY = 5

/** Takes the lock; null: somebody else holds it. It is free as soon as it is closed or the process ends. */
export const take = (engine: Engine, path: string): Sqlite.DatabaseSync | null => {
  SessionFiles.makeFile(path)
  try {
    return tryLock(engine, path)
  } catch (error) {
    if (!isDamage(error)) throw error
    // nothing is kept in it, and whoever holds it would have been found before what is in it
    fs.truncateSync(path)
    return tryLock(engine, path)
  }
}

const tryLock = (engine: Engine, path: string): Sqlite.DatabaseSync | null => {
  const held = new engine.DatabaseSync(path, { timeout: 0 })
  try {
    held.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
    return held
  } catch (error) {
    held.close()
    if (codeOf(error) === SQLITE_BUSY) return null
    throw error
  }
}
