/**
 * Identities that travel: branded strings, so that no id is taken for another.
 *
 * Rule: every id that we make is a fresh UUID from `Generator` and is never used twice (CAL-3, REQ-8).
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/** One process of the server; the same in every frame it writes (REQ-8). */
export const InstanceId = Schema.String.pipe(Schema.brand("InstanceId"))
export type InstanceId = typeof InstanceId.Type

/** A conversation that outlives processes (SES-1). */
export const SessionId = Schema.String.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** One turn of a session (TRN-1). */
export const RunId = Schema.String.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type

/** One published client tool call; a fresh UUID, never a provider's id (CAL-3). */
export const CallId = Schema.String.pipe(Schema.brand("CallId"))
export type CallId = typeof CallId.Type

/** A delegated task; kept when the task is resumed (CAL-2). */
export const TaskId = Schema.String.pipe(Schema.brand("TaskId"))
export type TaskId = typeof TaskId.Type

/** The activity that executes a delegated task (CAL-2). */
export const SubagentId = Schema.String.pipe(Schema.brand("SubagentId"))
export type SubagentId = typeof SubagentId.Type

/** One tool call of any kind as shown to people, on the surface it was made (TRN-3). */
export const ActivityId = Schema.String.pipe(Schema.brand("ActivityId"))
export type ActivityId = typeof ActivityId.Type

/** One question for permission (TRN-8). */
export const ApprovalId = Schema.String.pipe(Schema.brand("ApprovalId"))
export type ApprovalId = typeof ApprovalId.Type

/** One assistant message (TRN-3). */
export const MessageId = Schema.String.pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

/** Makes a fresh UUID, lower case; replaced in tests by one that counts. */
export const Generator = Context.Reference<() => string>("@errand/protocol/Ids/Generator", {
  defaultValue: () => () => globalThis.crypto.randomUUID()
})
