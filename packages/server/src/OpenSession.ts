/**
 * A session that this process holds: its histories over whatever keeps them (SES-8, SES-9).
 *
 * Rule: what storage has not taken is nowhere; messages, entries and revision change only after the commit.
 */
import type { History, Record, StorageFailed, TaskHistory } from "@errand/runtime"
import { Conversation, StorageFailed as StorageRefused } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as SessionFold from "./SessionFold.ts"

/** No session has this id. */
export class SessionNotFound extends Data.TaggedError("SessionNotFound")<{ readonly sessionId: string }> {
  override get message(): string {
    return `there is no session ${JSON.stringify(this.sessionId)}`
  }
}

/** A live process, perhaps this one, holds the session (SES-2). */
export class SessionLocked extends Data.TaggedError("SessionLocked")<{ readonly sessionId: string }> {
  override get message(): string {
    return `session ${this.sessionId} is held by a live process`
  }
}

/** An attached session; until it is closed nobody else can open it (SES-2). */
export interface OpenSession {
  readonly sessionId: string
  /** The root agent's conversation. */
  readonly history: History
  /** How many presentation entries the session has. */
  readonly entries: () => number
  /**
   * The conversation of a delegated agent, with what it held before if the task is resumed. What is appended through it
   * is recorded as the task's. It is kept until the root's run ends, and read again from storage after that.
   */
  readonly taskHistory: (taskId: string, subagentId: string) => Effect.Effect<TaskHistory, StorageFailed>
  /** Stores what waits and gives the session free; appends fail from then on. */
  readonly close: Effect.Effect<void>
}

/** What was found of a session when it was opened. */
export interface Found {
  readonly ledger: SessionFold.Ledger
  readonly root: Conversation.Conversation
  readonly tasks: Set<string>
}

/** What keeps a session. */
export interface Keeper {
  /** Stores a step wholly, or not at all; null when it is on stable storage. */
  readonly commit: (step: SessionFold.Step) => StorageFailed | null
  /** Whether appends of one turn of the event loop share a commit: worth it where a commit costs. */
  readonly grouped: boolean
  readonly recordsOf: (taskId: string) => Effect.Effect<ReadonlyArray<Record>, StorageFailed>
  readonly release: Effect.Effect<void>
  /** Told of each row when it is stored. */
  readonly watch?: ((row: SessionFold.Row) => void) | null | undefined
}

/** Who is told of each row when it is stored, before anything that depends on it; null for nobody. */
export const RowWatch = Context.Reference<((row: SessionFold.Row) => void) | null>("@errand/server/RowWatch", {
  defaultValue: () => null
})

/** ISO 8601 UTC with milliseconds (SES-4). */
export const timestamp = (millis: number): string => {
  if (millis !== latest.millis) latest = { millis, text: new Date(millis).toISOString() }
  return latest.text
}

/** The last time that was written: records come several to a millisecond, and writing one takes 1 us. */
let latest = { millis: NaN, text: "" }

/** What the rows of a session make of it, in one pass: of delegated agents only the names are kept. */
export const find = (rows: Iterable<SessionFold.Row>, entries: number): Found => {
  const root = new Conversation.Conversation()
  const tasks = new Set<string>()
  const passing = function*() {
    for (const row of rows) {
      if (row.record.taskId === null) root.take(row.record)
      else tasks.add(row.record.taskId)
      yield row
    }
  }
  return { ledger: SessionFold.replay(passing(), entries), root, tasks }
}

/** Opens a session over its keeper; open calls and runs that a crash left are closed durably first (SES-10). */
export const make = (
  sessionId: string,
  found: Found,
  keeper: Keeper,
  newId: () => string
): Effect.Effect<OpenSession, StorageFailed> =>
  Clock.clockWith((clock) => opened(sessionId, found, keeper, newId, clock))

const opened = (
  sessionId: string,
  found: Found,
  keeper: Keeper,
  newId: () => string,
  clock: Clock.Clock
): Effect.Effect<OpenSession, StorageFailed> => {
  const { root, tasks } = found
  const conversations = new Map<string | null, Conversation.Conversation>([[null, root]])
  let { ledger } = found
  let closed = false

  const store = (batches: ReadonlyArray<SessionFold.Batch>): StorageFailed | null => {
    if (closed) return new StorageRefused({ message: `session ${sessionId} is closed` })
    const step = SessionFold.step(ledger, batches, newId)
    if (step.rows.length === 0) return null
    const refused = keeper.commit(step)
    if (refused !== null) return refused
    ledger = step.ledger
    for (const row of step.rows) {
      const { record } = row
      keeper.watch?.(row)
      conversations.get(record.taskId)?.take(record)
      if (record.taskId !== null) tasks.add(record.taskId)
      else if (record.kind === "run") {
        conversations.clear()
        conversations.set(null, root)
      }
    }
    return null
  }

  let waiting: Array<SessionFold.Batch & { readonly resume: (exit: Effect.Effect<void, StorageFailed>) => void }> = []
  const flush = () => {
    const group = waiting
    waiting = []
    if (group.length === 0) return
    const refused = store(group)
    const exit = refused === null ? Effect.void : Effect.fail(refused)
    for (const { resume } of group) resume(exit)
  }

  const append = (records: ReadonlyArray<Record>): Effect.Effect<void, StorageFailed> => {
    const batch = (): SessionFold.Batch => ({ at: timestamp(clock.currentTimeMillisUnsafe()), records })
    if (keeper.grouped) {
      return Effect.uninterruptible(Effect.callback<void, StorageFailed>((resume) => {
        if (waiting.push({ ...batch(), resume }) === 1) queueMicrotask(flush)
      }))
    }
    return Effect.suspend(() => {
      const refused = store([batch()])
      return refused === null ? Effect.void : Effect.fail(refused)
    })
  }

  const historyOf = (conversation: Conversation.Conversation, append: History["append"]): History => ({
    sessionId,
    messages: conversation.messages,
    revision: () => String(ledger.seq),
    append
  })

  const conversationOf = (taskId: string): Effect.Effect<Conversation.Conversation, StorageFailed> => {
    const live = conversations.get(taskId)
    if (live !== undefined) return Effect.succeed(live)
    const records = tasks.has(taskId) ? keeper.recordsOf(taskId) : Effect.succeed([])
    return Effect.map(records, (records) => {
      const conversation = new Conversation.Conversation()
      for (const record of records) conversation.take(record)
      conversations.set(taskId, conversation)
      return conversation
    })
  }

  const session: OpenSession = {
    sessionId,
    history: historyOf(root, append),
    entries: () => ledger.entries,
    taskHistory: (taskId, subagentId) =>
      Effect.map(
        conversationOf(taskId),
        (conversation) => ({
          ...historyOf(conversation, (records) => append(records.map((record) => ({ ...record, taskId, subagentId })))),
          known: conversation.messages.length > 0,
          scope: conversation.scope
        })
      ),
    close: Effect.suspend(() => {
      if (closed) return Effect.void
      flush()
      closed = true
      return keeper.release
    })
  }
  const repairs = SessionFold.repair(ledger)
  if (repairs.length === 0) return Effect.succeed(session)
  return append(repairs).pipe(Effect.as(session), Effect.tapError(() => session.close))
}
