/**
 * The optional capability `tool.cards`: what people see of each tool call, live and in history (CRD-1, CRD-2).
 *
 * Rule: cards are drawn from what is told anyway, `tool.activity` and the entries of history; nothing depends on them, and
 * no argument and no result is ever at hand here.
 */
import type { Events, Ids, JsonText } from "@errand/protocol"
import { isClientName, Outbox, type ToolKind } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { timestamp } from "./OpenSession.ts"
import type { ToolActivity } from "./SessionEntry.ts"

/** An activity has two snapshots; the second is also the one that history shows. */
const RUNNING = 1
const ENDED = 2

/** The kind of tool that a name belongs to; names of different kinds never meet (PRM-3). */
const kindOf = (name: string): ToolKind => {
  if (isClientName(name)) return "client"
  if (name.startsWith("mcp__")) return "mcp"
  return name === "task" ? "task" : name === "run_code" ? "code" : "builtin"
}

/** The card of an entry in history. */
export const ofEntry = (tool: ToolActivity): JsonText =>
  JSON.stringify(ended(tool, tool.status, tool.startedAt, tool.endedAt)) as JsonText

const ended = (
  tool: { readonly activityId: string; readonly parentId: string | null; readonly name: string },
  outcome: string,
  startedAt: string,
  endedAt: string
): Events.ToolCard => ({
  card_id: tool.activityId as Ids.ActivityId,
  parent_id: tool.parentId as Ids.ActivityId | null,
  revision: ENDED,
  name: tool.name,
  kind: kindOf(tool.name),
  status: "ended",
  outcome,
  started_at: startedAt,
  ended_at: endedAt
})

/** An outbox that sends the card of each activity right after the activity itself. */
export const withCards = (services: Context.Context<Outbox>): Effect.Effect<Context.Context<Outbox>> =>
  Effect.map(Clock.Clock, (clock) => {
    const outbox = Context.get(services, Outbox)
    const began = new Map<string, string>()

    const draw = ({ activity_id, name, parent_id, status }: Events.EventData<"tool.activity">): Events.ToolCard => {
      const now = timestamp(clock.currentTimeMillisUnsafe())
      if (status !== "running") {
        const startedAt = began.get(activity_id) ?? now
        began.delete(activity_id)
        return ended({ activityId: activity_id, parentId: parent_id, name }, status, startedAt, now)
      }
      began.set(activity_id, now)
      return {
        card_id: activity_id,
        parent_id,
        revision: RUNNING,
        name,
        kind: kindOf(name),
        status: "running",
        outcome: null,
        started_at: now,
        ended_at: null
      }
    }

    return Context.make(Outbox, {
      ...outbox,
      enqueue: (event, queued) => {
        if (event.event !== "tool.activity") return outbox.enqueue(event, queued)
        const { run_id, session_id } = event.data
        outbox.enqueue(event)
        return outbox.enqueue({ event: "tool.card", data: { session_id, run_id, card: draw(event.data) } }, queued)
      }
    })
  })
