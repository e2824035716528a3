/**
 * The client tools of `errand demo`, as `DemoScript` of `@errand/models` expects them (PGM-2).
 *
 * Rule: they are what any program would write: a schema, a handler, an answer.
 */
import { Tool, ToolAnswer, type ToolCall, type ToolHandler } from "@errand/client"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A number that no double can hold. */
export const LEDGER = "9007199254740993000000001"

const lookupRecord = Tool.make("lookup_record", {
  description: "Finds a record.",
  timeoutMs: 5000,
  parameters: Schema.Struct({ record_id: Schema.String })
}).handle(({ record_id }) =>
  record_id === "ledger"
    ? Effect.delay(Effect.succeed(ToolAnswer.structuredText(`{"balance":${LEDGER}}`)), 500)
    : Effect.delay(Effect.succeed({ record_id, state: "open" }), 1300)
)

const renderReport = Tool.make("render_report", {
  description: "Renders a report about records.",
  timeoutMs: 3000,
  parameters: Schema.Struct({ title: Schema.String, record_ids: Schema.Array(Schema.String) }),
  success: Schema.String
}).handle(({ record_ids, title }) =>
  Effect.delay(Effect.succeed(`${title}: ${record_ids.length} records on 3 pages`), 700)
)

const deleteRecord = Tool.make("delete_record", {
  description: "Deletes a record.",
  timeoutMs: 3000,
  parameters: Schema.Struct({ record_id: Schema.String })
}).handle(({ record_id }) => Effect.delay(Effect.fail(`${record_id} is under audit and stays`), 400))

const slowExport = Tool.make("slow_export", {
  description: "Exports everything, in its own time.",
  timeoutMs: 1500,
  parameters: Schema.Struct({ format: Schema.Literals(["csv", "pdf"]) })
}).handle(() => Effect.never)

/** All four. */
export const tools: ReadonlyArray<ToolHandler> = [lookupRecord, renderReport, deleteRecord, slowExport]

/** The same tools, which tell what their handlers do. */
export const told = (
  answered: (call: ToolCall, answer: ToolAnswer.ToolAnswer) => void,
  stopped: (call: ToolCall) => void
): ReadonlyArray<ToolHandler> =>
  tools.map(({ answer, declaration }) => ({
    declaration,
    answer: (call) =>
      answer(call).pipe(
        Effect.tap((given) => Effect.sync(() => answered(call, given))),
        Effect.onInterrupt(() => Effect.sync(() => stopped(call)))
      )
  }))
