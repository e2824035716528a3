/**
 * The events of version 1 (TRN-3, CAL-1, CAN-1, CRD-1, CLS-2): one table of names and data.
 *
 * Rule: an event that an extension adds later is one more row here, and nothing else.
 */
import * as Schema from "effect/Schema"
import * as Ids from "./Ids.ts"
import { count, lazy, nullable, opaque } from "./Shape.ts"

/** What a card shows of one activity: names and status only (CRD-1, CRD-2). */
export const toolCard = lazy(() =>
  Schema.Struct({
    card_id: Ids.ActivityId,
    parent_id: Schema.NullOr(Ids.ActivityId),
    revision: Schema.Int,
    name: Schema.String,
    kind: Schema.Literals(["builtin", "mcp", "client", "task", "code"]),
    status: Schema.String,
    outcome: nullable,
    started_at: Schema.String,
    ended_at: nullable
  })
)

/** What a card shows of one activity (CRD-1). */
export type ToolCard = ReturnType<typeof toolCard>["Type"]

const run = { session_id: Ids.SessionId, run_id: Ids.RunId }

const owner = { task_id: Schema.NullOr(Ids.TaskId), subagent_id: Schema.NullOr(Ids.SubagentId) }

const identity = { ...run, call_id: Ids.CallId, ...owner }

/** Every event of version 1 with its data. */
export const table = {
  "run.started": lazy(() => Schema.Struct(run)),
  "message.delta": lazy(() => Schema.Struct({ ...run, message_id: Ids.MessageId, text: Schema.String })),
  "message.reconcile": lazy(() =>
    Schema.Struct({
      ...run,
      message_id: Ids.MessageId,
      role: Schema.Literal("assistant"),
      part: Schema.Int,
      parts: Schema.Int,
      text: Schema.String
    })
  ),
  "tool.activity": lazy(() =>
    Schema.Struct({
      ...run,
      activity_id: Ids.ActivityId,
      parent_id: Schema.NullOr(Ids.ActivityId),
      ...owner,
      name: Schema.String,
      status: Schema.Literals(["running", "success", "failure", "cancelled", "denied", "unknown"])
    })
  ),
  "approval.requested": lazy(() =>
    Schema.Struct({
      ...run,
      approval_id: Ids.ApprovalId,
      activity_id: Ids.ActivityId,
      name: Schema.String,
      summary: Schema.String,
      expires_in_ms: count
    })
  ),
  "approval.resolved": lazy(() =>
    Schema.Struct({
      ...run,
      approval_id: Ids.ApprovalId,
      outcome: Schema.Literals(["allowed", "denied", "expired", "cancelled"])
    })
  ),
  "client.tool.call": lazy(() =>
    Schema.Struct({ ...identity, name: Schema.String, arguments: opaque({ type: "object" }), timeout_ms: Schema.Int })
  ),
  "client.tool.cancel": lazy(() =>
    Schema.Struct({ ...identity, reason: Schema.Literals(["cancelled", "timeout", "run_finished", "shutdown"]) })
  ),
  "tool.card": lazy(() => Schema.Struct({ ...run, card: toolCard() })),
  "run.finished": lazy(() =>
    Schema.Struct({
      ...run,
      status: Schema.Literals(["completed", "failed", "cancelled"]),
      error: Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String })),
      history_revision: Schema.String,
      usage: Schema.Struct({ input_tokens: count, output_tokens: count, model_requests: count, tool_calls: count })
    })
  ),
  "connection.closing": lazy(() =>
    Schema.Struct({
      reason: Schema.Literals([
        "shutdown",
        "input_closed",
        "input_overflow",
        "output_stalled",
        "output_closed",
        "internal_error",
        "terminated"
      ])
    })
  )
}

/** An event of version 1. */
export type EventName = keyof typeof table

/** The data of an event; the `arguments` of a call are compact text (FRM-12). */
export type EventData<E extends EventName> = ReturnType<typeof table[E]>["Type"]

/** An event with its data, before it has a place in the sequence of a connection. */
export type ServerEvent = { readonly [E in EventName]: { readonly event: E; readonly data: EventData<E> } }[EventName]

/** Why a connection closes (CLS-1). */
export type ClosingReason = EventData<"connection.closing">["reason"]

/** Every event, in the order of the table. */
export const names = Object.keys(table) as ReadonlyArray<EventName>

const known = new Set<string>(names)

/** Whether a name is that of an event of version 1. */
export const isEvent = (name: string): name is EventName => known.has(name)

/** The member of an event's data that travels as opaque JSON. */
export const opaqueMember: { readonly [E in EventName]?: string } = { "client.tool.call": "arguments" }
