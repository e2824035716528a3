/**
 * What a conversation keeps: required appends, and the messages that the model must see again (SES-8, SES-9).
 *
 * Rule: what `append` has acknowledged is on stable storage; the runner does nothing that depends on a record before.
 */
import type { JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Checker } from "./HistoryCheck.ts"
import type { Message, ModelToolCall, Outcome } from "./ModelTurn.ts"

/** Whose record it is; `taskId` and `subagentId` are both null for the root (SES-6). */
export interface Owner {
  readonly runId: string
  readonly taskId: string | null
  readonly subagentId: string | null
}

/** One durable fact of a conversation. An `assistant` record whose calls lack `result` records is what a crash leaves (SES-10). */
export type Record =
  | Owner & { readonly kind: "user"; readonly text: string }
  | Owner & {
    readonly kind: "assistant"
    readonly messageId: string
    readonly text: string
    readonly toolCalls: ReadonlyArray<ModelToolCall>
    readonly provider?: JsonText
  }
  | Owner & {
    readonly kind: "result"
    readonly messageId: string
    /** Position of the call in its assistant message, from 0. */
    readonly index: number
    readonly activityId: string
    readonly id: string
    readonly name: string
    readonly outcome: Outcome
    readonly content: JsonText
  }
  | Owner & {
    /** A call that another call makes, before anything of it is done; `activity` of the same id is its end (BLT-3, SES-9). */
    readonly kind: "begun"
    readonly activityId: string
    readonly parentId: string | null
    readonly name: string
  }
  | Owner & {
    /** How such a call ended; the model reads only the outer call's result (SES-6). */
    readonly kind: "activity"
    readonly activityId: string
    readonly parentId: string | null
    readonly name: string
    readonly outcome: Outcome
    /** ISO 8601 UTC with milliseconds; only where the beginning has no record of its own, in older stores. */
    readonly startedAt?: string
  }
  | Owner & {
    /** What a delegated agent may have, saved once with its task; it is checked when it is read (DEL-2). */
    readonly kind: "scope"
    readonly scope: unknown
  }
  | Owner & {
    readonly kind: "run"
    readonly status: "completed" | "failed" | "cancelled"
    readonly error: { readonly code: string; readonly message: string } | null
  }

/** Stable storage refused an append; the run fails with it and nothing pretends to be saved (SES-9). */
export class StorageFailed extends Data.TaggedError("StorageFailed")<{ readonly message: string }> {}

/**
 * One agent's conversation in an open session.
 *
 * `messages` is live: it grows by what was appended and is always acceptable to a provider (SES-11) when no call is
 * open. `revision` changes with every append.
 */
export interface History {
  readonly sessionId: string
  readonly messages: ReadonlyArray<Message>
  /** How many messages at the beginning were checked when they were recorded; 0 when absent. */
  readonly checked?: number
  /** What has checked the messages so far; the loop that sends them puts it here, so that each is looked at once. */
  checker?: Checker | undefined
  /** Whether a run works in it; the runner puts that here, and starts no second one beside it. */
  running?: boolean
  readonly revision: () => string
  readonly append: (records: ReadonlyArray<Record>) => Effect.Effect<void, StorageFailed>
  /** Notes that a call starts with these arguments, where a run may be recovered; absent where nothing asks (RSM-9). */
  readonly start?: (callId: string, args: JsonText) => Effect.Effect<void, StorageFailed>
}

/** The conversation of a delegated task; `known` says whether it had one before, `scope` what was saved with it. */
export interface TaskHistory extends History {
  readonly known: boolean
  readonly scope: unknown
}

/** Opens the conversations of tasks in the session that a run works in; null where nothing keeps them (BLT-2). */
export const TaskHistories = Context.Reference<
  {
    readonly open: (taskId: string, subagentId: string) => Effect.Effect<TaskHistory, StorageFailed>
  } | null
>("@errand/runtime/TaskHistories", { defaultValue: () => null })
