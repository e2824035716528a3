/**
 * What people may read of a session: the entries of a history page (SES-6, SES-7).
 *
 * Rule: names, texts and outcomes; never arguments or results.
 */
import * as Schema from "effect/Schema"
import { toolCard } from "./Events.ts"
import * as Ids from "./Ids.ts"
import { lazy } from "./Shape.ts"

/** An entry of a history page (SES-6). */
export const historyEntry = lazy(() => {
  const base = {
    entry_id: Schema.String,
    at: Schema.String,
    run_id: Ids.RunId,
    task_id: Schema.NullOr(Ids.TaskId),
    subagent_id: Schema.NullOr(Ids.SubagentId)
  }
  const text = { text: Schema.String, part: Schema.optionalKey(Schema.Int), parts: Schema.optionalKey(Schema.Int) }
  return Schema.Union([
    Schema.Struct({ ...base, kind: Schema.Literal("user"), ...text }),
    Schema.Struct({ ...base, kind: Schema.Literal("assistant"), ...text }),
    Schema.Struct({
      ...base,
      kind: Schema.Literal("tool"),
      name: Schema.String,
      status: Schema.Literals(["success", "failure", "cancelled", "denied", "unknown"]),
      tool_card: Schema.optionalKey(toolCard())
    }),
    Schema.Struct({
      ...base,
      kind: Schema.Literal("run"),
      status: Schema.Literals(["completed", "failed", "cancelled"]),
      error: Schema.optionalKey(Schema.Struct({ code: Schema.String, message: Schema.String }))
    })
  ])
})

/** An entry of a history page (SES-6). */
export type HistoryEntry = ReturnType<typeof historyEntry>["Type"]
