/**
 * What a program sees of a turn, as typed values (TRN-3).
 *
 * Rule: events tell what was observed. `Delta`s are provisional and may be missing; each `Message` carries its whole text,
 * put together from its parts (TRN-4, SES-6). `Finished` is the last event of a turn that the server ended.
 */
import type { Events, Ids, ToolCall } from "@errand/protocol"

/** The server began the turn. */
export interface Started {
  readonly _tag: "Started"
  readonly runId: string
}

/** A piece of a message as it is written; more may come, and some may be missing. */
export interface Delta {
  readonly _tag: "Delta"
  readonly messageId: string
  readonly text: string
}

/** A whole message of the assistant. */
export interface Message {
  readonly _tag: "Message"
  readonly messageId: string
  readonly text: string
}

/** How a tool call of any kind stands. */
export type ActivityStatus = "running" | "success" | "failure" | "cancelled" | "denied" | "unknown"

/** A tool call of any kind began or ended on the server. */
export interface ToolActivity {
  readonly _tag: "ToolActivity"
  readonly activityId: string
  readonly parentId: string | null
  readonly taskId: string | null
  readonly subagentId: string | null
  readonly name: string
  readonly status: ActivityStatus
}

/** A snapshot of a tool card, only when `tool.cards` was negotiated; as it came (CRD-1). */
export interface ToolCard {
  readonly _tag: "ToolCard"
  readonly card: Events.ToolCard
}

/** The server asks for permission; the client's `approve` answers it. */
export interface ApprovalRequested {
  readonly _tag: "ApprovalRequested"
  readonly sessionId: Ids.SessionId
  readonly runId: Ids.RunId
  readonly approvalId: Ids.ApprovalId
  readonly activityId: string
  readonly name: string
  /** What would be done, in words. */
  readonly summary: string
  readonly expiresInMs: number
}

/** A question for permission is closed. */
export interface ApprovalResolved {
  readonly _tag: "ApprovalResolved"
  readonly approvalId: string
  readonly outcome: "allowed" | "denied" | "expired" | "cancelled"
}

/** The server called one of this client's tools; its handler starts right after. */
export interface ToolCalled {
  readonly _tag: "ToolCalled"
  readonly call: ToolCall
}

/** This client sent its answer to a call; whether the server still took it is not known from this. */
export interface ToolAnswered {
  readonly _tag: "ToolAnswered"
  readonly call: ToolCall
  readonly status: "success" | "error"
}

/** The server no longer waits for a call; its handler was stopped when it still ran. */
export interface ToolCancelled {
  readonly _tag: "ToolCancelled"
  readonly callId: string
  readonly reason: "cancelled" | "timeout" | "run_finished" | "shutdown"
}

/** What a turn cost. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly modelRequests: number
  readonly toolCalls: number
}

/** The turn ended; `error` is there when it failed (TRN-7). */
export interface Finished {
  readonly _tag: "Finished"
  readonly runId: string
  readonly status: "completed" | "failed" | "cancelled"
  readonly error: { readonly code: string; readonly message: string } | null
  readonly historyRevision: string
  readonly usage: Usage
}

/** Everything that the stream of a turn can carry. */
export type TurnEvent =
  | Started
  | Delta
  | Message
  | ToolActivity
  | ToolCard
  | ApprovalRequested
  | ApprovalResolved
  | ToolCalled
  | ToolAnswered
  | ToolCancelled
  | Finished
