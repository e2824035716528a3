/**
 * What records make of a session: rows to store and entries to show (SES-6, SES-10, SES-11).
 *
 * Rule: the fold is pure and total. Every call of the stored history has at most one result, and a record that opens
 * the next step first closes the calls before it that have none, with outcome `unknown`; one that opens the next run
 * first ends the run before it. So repairing a crashed session is no more than ending its open runs, and doing it again
 * changes nothing.
 *
 * The state before a batch is never changed by `step`: a batch that storage refuses leaves no trace.
 */
import type { JsonText } from "@errand/protocol"
import type { ModelToolCall, Owner, Record } from "@errand/runtime"
import { Redaction } from "@errand/runtime"
import * as SessionEntry from "./SessionEntry.ts"

/** A record as it is stored; `seq` counts records from 1, `at` is ISO 8601 UTC with milliseconds. */
export interface Row {
  readonly seq: number
  readonly at: string
  readonly record: Record
}

type Result = Record & { readonly kind: "result" }
type Activity = Record & { readonly kind: "activity" }

/** Calls of one owner that have ended, as the entries show them; of an open message null stands where an end is missing. */
interface Ended {
  readonly owner: Owner
  readonly ends: ReadonlyArray<SessionEntry.ToolActivity | null>
}

/** The calls of an assistant message while some of them have no result; `ends` is by index. */
interface OpenCalls extends Ended {
  readonly messageId: string
  readonly at: string
  readonly calls: ReadonlyArray<ModelToolCall>
  readonly missing: number
}

/** A call that another call makes, and when it began. */
type Begun = Record & { readonly kind: "begun" } & { readonly at: string }

/** What must be known of a session to append to it; small, whatever its length. */
export interface Ledger {
  /** Number of the last record; 0 for none. */
  readonly seq: number
  /** How many entries there are; also the number of the last one. */
  readonly entries: number
  readonly titled: boolean
  /** Open calls by conversation: the task's id, null for the root. */
  readonly open: ReadonlyMap<string | null, OpenCalls>
  /** Calls that other calls make and that have no end, by activity. */
  readonly begun: ReadonlyMap<string, Begun>
  /** Runs that have records but no end. */
  readonly runs: ReadonlySet<string>
}

/** The ledger of a session without records. */
export const empty: Ledger = { seq: 0, entries: 0, titled: false, open: new Map(), begun: new Map(), runs: new Set() }

/** What a batch of records comes to. `title` is set when the batch holds the first prompt of the root (SES-4). */
export interface Step {
  readonly ledger: Ledger
  readonly rows: ReadonlyArray<Row>
  /** The entries of the rows; a store that keeps rows alone can have them from `Entries` later, and pays nothing here. */
  readonly shown: () => ReadonlyArray<SessionEntry.StoredEntry>
  readonly title: string | null
}

/** Records that were appended together, and when. */
export interface Batch {
  readonly at: string
  readonly records: ReadonlyArray<Record>
}

/** Characters of a title (SES-4). */
const TITLE_CHARACTERS = 80

/** What the model reads of a call that a crash cut off (SES-10). */
export const interruptedResult = JSON.stringify({
  error: {
    code: "interrupted",
    message: "The call was interrupted before its result was recorded. It may have executed: do not repeat it blindly."
  }
}) as JsonText

/** Appends batches in order. A result of a call that is not open is left out: the first result stands (CAL-7). */
export const step = (ledger: Ledger, batches: ReadonlyArray<Batch>, newId: () => string): Step => {
  const draft = new Draft(ledger, newId)
  for (const batch of batches) for (const record of batch.records) draft.append(record, batch.at)
  return draft
}

/** The entries of rows that are read in order. */
export class Entries {
  private readonly draft = new Draft(empty, () => "")

  /** The entries that a row adds. */
  take({ at, record }: Row): ReadonlyArray<SessionEntry.StoredEntry> {
    return entriesOf(record, at, this.draft.note(record, at)).map((make) => make())
  }
}

/** What makes the entries of a record, one each; `ended` are the calls that it is the last end of. */
const entriesOf = (
  record: Record,
  at: string,
  ended: Ended | null
): ReadonlyArray<() => SessionEntry.StoredEntry> => {
  switch (record.kind) {
    case "user":
    case "assistant":
      return SessionEntry.ofText(record, at)
    case "run":
      return [() => SessionEntry.ofRun(record, at)]
    default:
      return ended === null ? [] : ended.ends.map((tool) => () => SessionEntry.ofTool(ended.owner, tool!))
  }
}

/** The ledger of what is stored already; `entries` is the number that storage holds. */
export const replay = (rows: Iterable<Row>, entries: number): Ledger => {
  const draft = new Draft(empty, () => "")
  for (const row of rows) draft.note(row.record, row.at)
  return { ...draft.ledger, entries }
}

/** The records that close what a crash or a full disk left open: a failed end for each run without one (SES-10). */
export const repair = ({ runs }: Pick<Ledger, "runs">): ReadonlyArray<Record> =>
  [...runs].map((runId): Record => ({
    kind: "run",
    runId,
    taskId: null,
    subagentId: null,
    status: "failed",
    error: { code: "interrupted", message: "The run was interrupted before its end was recorded." }
  }))

class Draft implements Step {
  seq: number
  entries: number
  titled: boolean
  readonly open: Map<string | null, OpenCalls>
  begun: ReadonlyMap<string, Begun>
  runs: ReadonlySet<string>
  readonly rows: Array<Row> = []
  private readonly making: Array<() => SessionEntry.StoredEntry> = []
  title: string | null = null

  private readonly newId: () => string

  constructor(ledger: Ledger, newId: () => string) {
    this.newId = newId
    this.seq = ledger.seq
    this.entries = ledger.entries
    this.titled = ledger.titled
    this.open = new Map(ledger.open)
    this.begun = ledger.begun
    this.runs = ledger.runs
  }

  get ledger(): Ledger {
    const { begun, entries, open, runs, seq, titled } = this
    return { seq, entries, titled, open, begun, runs }
  }

  append(record: Record, at: string): void {
    if (record.kind === "result") {
      if (this.isOpen(record)) this.keep(record, at)
      return
    }
    if (record.kind === "begun") return this.keep(record, at)
    if (record.kind === "activity") {
      if (this.begun.has(record.activityId)) this.keep(record, at)
      return
    }
    if (record.kind === "run" && record.taskId === null) {
      this.abandon((call) => call.runId === record.runId, at)
      for (const calls of this.open.values()) if (calls.owner.runId === record.runId) this.close(calls, at)
    }
    if (record.kind === "user" && record.taskId === null) {
      if (!this.runs.has(record.runId)) { for (const end of repair(this)) this.append(end, at) }
      if (!this.titled) this.title = Redaction.protectMessage(record.text, TITLE_CHARACTERS)
    }
    const before = this.open.get(record.taskId)
    if (before !== undefined) {
      this.abandon((call) => call.taskId === record.taskId, at)
      this.close(before, at)
    }
    this.keep(record, at)
  }

  /** Takes a record into the state without making anything of it; tells the calls that it is the last end of. */
  note(record: Record, at: string): Ended | null {
    this.seq++
    if (record.kind === "run" && record.taskId === null) {
      const runs = new Set(this.runs)
      runs.delete(record.runId)
      this.runs = runs
      return null
    }
    if (!this.runs.has(record.runId)) this.runs = new Set([...this.runs, record.runId])
    if (record.kind === "user" && record.taskId === null) this.titled = true
    if (record.kind === "assistant" && record.toolCalls.length > 0) {
      const { messageId, runId, subagentId, taskId, toolCalls } = record
      this.open.set(taskId, {
        owner: { runId, taskId, subagentId },
        messageId,
        at,
        calls: toolCalls,
        ends: Array.from(toolCalls, () => null),
        missing: toolCalls.length
      })
    }
    if (record.kind === "begun") {
      this.begun = new Map([...this.begun, [record.activityId, { ...record, at }]])
      return null
    }
    if (record.kind === "activity") return this.noteEnd(record, at)
    if (record.kind !== "result") return null
    const calls = this.open.get(record.taskId)
    if (calls === undefined) return null
    const after = {
      ...calls,
      ends: calls.ends.with(record.index, {
        activityId: record.activityId,
        parentId: record.subagentId,
        subagentId: record.subagentId,
        name: record.name,
        status: record.outcome,
        startedAt: calls.at,
        endedAt: at
      }),
      missing: calls.missing - 1
    }
    if (after.missing > 0) this.open.set(record.taskId, after)
    else this.open.delete(record.taskId)
    return after.missing > 0 ? null : after
  }

  private noteEnd({ activityId, name, outcome, parentId, startedAt, ...owner }: Activity, at: string): Ended {
    const begun = new Map(this.begun)
    const since = begun.get(activityId)?.at ?? startedAt ?? at
    begun.delete(activityId)
    this.begun = begun
    const { subagentId } = owner
    const end = { activityId, parentId, subagentId, name, status: outcome, startedAt: since, endedAt: at }
    return { owner, ends: [end] }
  }

  private isOpen(record: Result): boolean {
    const calls = this.open.get(record.taskId)
    return calls !== undefined && calls.messageId === record.messageId && calls.ends[record.index] === null
  }

  private keep(record: Record, at: string): void {
    const entries = entriesOf(record, at, this.note(record, at))
    this.rows.push({ seq: this.seq, at, record })
    for (const make of entries) this.making.push(make)
    this.entries += entries.length
  }

  shown(): ReadonlyArray<SessionEntry.StoredEntry> {
    return this.making.map((make) => make())
  }

  /** Ends calls that other calls make and that nobody will end any more. */
  private abandon(which: (call: Owner) => boolean, at: string): void {
    for (const { at: _, kind: __, ...call } of this.begun.values()) {
      if (which(call)) this.keep({ kind: "activity", ...call, outcome: "unknown" }, at)
    }
  }

  private close({ calls, ends, messageId, owner }: OpenCalls, at: string): void {
    for (const [index, call] of calls.entries()) {
      if (ends[index] !== null) continue
      this.keep({
        kind: "result",
        ...owner,
        messageId,
        index,
        activityId: this.newId(),
        id: call.id,
        name: call.name,
        outcome: "unknown",
        content: interruptedResult
      }, at)
    }
  }
}
