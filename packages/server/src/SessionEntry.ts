/**
 * The presentation history: what people may read of a session (SES-6, SES-7).
 *
 * Rule: an entry is complete compact JSON when it is stored, without arguments or results; rendering adds only its id
 * and, where negotiated, the card of a tool (CRD-1).
 */
import type { JsonText } from "@errand/protocol"
import type { Outcome, Owner, Record } from "@errand/runtime"
import { TextParts } from "@errand/runtime"

/** What a tool entry knows about the activity it shows, for whoever draws its card (CRD-1); times as in SES-4. */
export interface ToolActivity {
  readonly activityId: string
  /** The activity that it was made by: that of the subagent, or of the call that contains it; null for the root's own. */
  readonly parentId: string | null
  readonly subagentId: string | null
  readonly name: string
  readonly status: Outcome
  readonly startedAt: string
  readonly endedAt: string
}

/** An entry as it is stored: `body` is the JSON object of SES-6 but for `entry_id`. */
export interface StoredEntry {
  readonly body: JsonText
  readonly tool: ToolActivity | null
}

/** Draws the card of a tool entry, where `tool.cards` was negotiated; null: it has none. */
export type CardOf = (tool: ToolActivity) => JsonText | null

const bodyOf = (owner: Owner, at: string, kind: string, rest: object): JsonText =>
  JSON.stringify({
    at,
    run_id: owner.runId,
    task_id: owner.taskId,
    subagent_id: owner.subagentId,
    kind,
    ...rest
  }) as JsonText

/** What makes the entries of a text, one per part (SES-6); none for an empty text. */
export const ofText = (
  record: Record & { readonly kind: "user" | "assistant" },
  at: string
): ReadonlyArray<() => StoredEntry> => {
  const parts = TextParts.split(record.text)
  return parts.map((text, i) => () => ({
    body: bodyOf(record, at, record.kind, parts.length === 1 ? { text } : { text, part: i + 1, parts: parts.length }),
    tool: null
  }))
}

/** The entry of a tool call that has ended (SES-7). A name that is no part by itself is shown as far as its first. */
export const ofTool = (owner: Owner, tool: ToolActivity): StoredEntry => ({
  body: bodyOf(owner, tool.endedAt, "tool", { name: firstPart(tool.name), status: tool.status }),
  tool
})

/** The entry that ends a run; `error` is there only when it failed. */
export const ofRun = (record: Record & { readonly kind: "run" }, at: string): StoredEntry => {
  const { error } = record
  const shown = error === null ? {} : { error: { code: error.code, message: firstPart(error.message) } }
  return { body: bodyOf(record, at, "run", { status: record.status, ...shown }), tool: null }
}

/** The entry as it goes to the client; `n` is its place in the session, counted from 1. */
export const render = (entry: StoredEntry, n: number, cardOf: CardOf | undefined): JsonText => {
  const text = `{"entry_id":"${n}",${entry.body.slice(1)}`
  const card = entry.tool === null ? null : cardOf?.(entry.tool) ?? null
  return (card === null ? text : `${text.slice(0, -1)},"tool_card":${card}}`) as JsonText
}

const firstPart = (text: string): string => TextParts.split(text)[0] ?? ""
