/**
 * One crash: a process that appends to a session is killed with SIGKILL, the session is opened again, and everything
 * that must hold is checked (SES-9, SES-10, SES-11).
 */
import { HistoryCheck, type Record } from "@errand/runtime"
import * as Effect from "effect/Effect"
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as Path from "node:path"
import * as SessionDatabase from "../src/SessionDatabase.ts"
import { SessionStore } from "../src/SessionStore.ts"

/** When the process is killed: at a line that it tells, so many milliseconds later. */
export interface Moment {
  readonly line: number
  readonly delayMs: number
}

/** What came of a crash. */
export interface Crashed {
  readonly sessionId: string
  readonly acknowledged: number
  /** Records that were stored though nobody was told. */
  readonly unacknowledged: number
  /** Calls that reopening closed. */
  readonly closed: number
}

const script = Path.join(import.meta.dirname, "SessionChild.ts")

const killedAt = (args: ReadonlyArray<string>, moment: Moment): Promise<Array<string>> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--conditions=@errand/source", script, ...args], {
      stdio: ["pipe", "pipe", "inherit"]
    })
    const chunks: Array<Buffer> = []
    let lines = 0
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      const before = lines
      for (const byte of chunk) if (byte === 10) lines++
      if (before >= moment.line || lines < moment.line) return
      if (moment.delayMs === 0) child.kill("SIGKILL")
      else setTimeout(() => child.kill("SIGKILL"), moment.delayMs)
    })
    child.on("close", (_, signal) => {
      const text = Buffer.concat(chunks).toString()
      if (signal === "SIGKILL") resolve(text.split("\n").slice(0, -1))
      else reject(new Error(`the process ended by itself: ${text.slice(-500)}`))
    })
  })

/** The stored records of a session, read past the store. */
const stored = (engine: SessionDatabase.Engine, home: string, sessionId: string): Array<string> => {
  const folder = Path.join(home, "sessions")
  const name = fs.readdirSync(folder).find((name) => name.endsWith(`${sessionId}.db`))!
  const db = new SessionDatabase.SessionDatabase(engine, Path.join(folder, name), sessionId)
  const records = Array.from(db.rows(db.head().seq), (row) => JSON.stringify(row.record))
  db.close()
  return records
}

const reopen = (home: string, sessionId: string) =>
  Effect.gen(function*() {
    const session = yield* (yield* SessionStore).open(sessionId)
    return {
      revision: session.history.revision(),
      entries: session.entries(),
      messages: JSON.stringify(session.history.messages),
      violations: HistoryCheck.check(session.history.messages)
    }
  }).pipe(Effect.provide(SessionStore.layerSqlite(home)), Effect.scoped, Effect.runPromise)

/** Two lists are the same, said by the first place where they are not. */
const same = (actual: ReadonlyArray<string>, expected: ReadonlyArray<string>, what: string): void => {
  for (let i = 0; i < Math.max(actual.length, expected.length); i++) {
    if (actual[i] === expected[i]) continue
    assert.fail(`${what}: at ${i} ${actual[i]?.slice(0, 200)} instead of ${expected[i]?.slice(0, 200)}`)
  }
}

/** Lets a process append to a session (null: a new one) until the moment, kills it, and checks what is left. */
export const crash = async (home: string, sessionId: string | null, seed: number, moment: Moment): Promise<Crashed> => {
  const engine = await SessionDatabase.engine()
  const earlier = sessionId === null ? [] : stored(engine, home, sessionId)
  const [id, ...told] = await killedAt([home, "crash", sessionId ?? "new", String(seed)], moment)
  const attempted: Array<string> = []
  let acknowledged = 0
  for (const line of told) {
    if (!line.startsWith("next ")) acknowledged++
    else for (const record of JSON.parse(line.slice(5)) as Array<Record>) attempted.push(JSON.stringify(record))
  }

  const left = stored(engine, home, id!)
  const fresh = left.slice(earlier.length)
  same(left.slice(0, earlier.length), earlier, "what earlier processes stored has changed")
  same(fresh, attempted.slice(0, fresh.length), "stored is not what was appended")
  assert.ok(fresh.length >= acknowledged, `${acknowledged} records were acknowledged, ${fresh.length} are there`)

  const first = await reopen(home, id!)
  assert.deepEqual(first.violations, [])
  const repaired = stored(engine, home, id!)
  same(repaired.slice(0, left.length), left, "the repair changed what was stored")
  const records = repaired.map((text) => JSON.parse(text) as Record)
  const results = records.flatMap((one) => one.kind === "result" ? [`${one.messageId}/${one.index}`] : [])
  const calls = records.flatMap((one) =>
    one.kind === "assistant" ? one.toolCalls.map((_, index) => `${one.messageId}/${index}`) : []
  )
  same(results.sort(), calls.sort(), "calls have not exactly one result each")
  const closed = records.slice(left.length).filter((record) => record.kind === "result")
  assert.ok(closed.every((record) => record.outcome === "unknown"))
  const ends = records.filter((one) => one.kind === "run" && one.taskId === null).map((one) => one.runId)
  same(ends.sort(), [...new Set(records.map((one) => one.runId))].sort(), "runs have not exactly one end each")

  assert.ok(JSON.stringify(await reopen(home, id!)) === JSON.stringify(first), "a second opening changed something")
  same(stored(engine, home, id!), repaired, "a second opening changed what is stored")
  return { sessionId: id!, acknowledged, unacknowledged: fresh.length - acknowledged, closed: closed.length }
}
