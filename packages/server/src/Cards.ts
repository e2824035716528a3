/**
 * The optional capability `tool.cards`: what people see of each tool call, live and in history (CRD-1, CRD-2).
 *
 * Rule: cards are drawn from what is told anyway: `tool.activity`, the times of records and the entries of history. Nothing
 * depends on them, and of arguments and results nothing is read here.
 */
import type { Events, Ids, JsonText } from "@errand/protocol"
import { isClientName, Outbox, type ToolKind } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { RowWatch, timestamp } from "./OpenSession.ts"
import type { ToolActivity } from "./SessionEntry.ts"
import type { Row } from "./SessionFold.ts"

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

/** When calls began and ended, as their records say: so a card is the same live and in history. */
class Times {
  /** When the message was recorded whose calls are settled, by task. */
  private readonly asked = new Map<string | null, string>()
  private readonly began = new Map<string, string>()
  private readonly ended = new Map<string, string>()

  note({ at, record }: Row): void {
    switch (record.kind) {
      case "assistant":
        this.asked.set(record.taskId, at)
        return
      case "begun":
        this.began.set(record.activityId, at)
        return
      case "result":
      case "activity":
        this.ended.set(record.activityId, at)
        return
      case "run":
        if (record.taskId === null) { for (const times of [this.asked, this.began, this.ended]) times.clear() }
    }
  }

  /** When a call began and ended; `now` where it is not recorded. */
  of({ activity_id, status, task_id }: Events.EventData<"tool.activity">, now: string): readonly [string, string] {
    const startedAt = this.began.get(activity_id) ?? this.asked.get(task_id) ?? now
    const endedAt = this.ended.get(activity_id) ?? now
    if (status !== "running") { for (const times of [this.began, this.ended]) times.delete(activity_id) }
    return [startedAt, endedAt]
  }
}

/** An outbox that sends the card of each activity right after the activity itself, and the watch that gives it its times. */
export const withCards = (services: Context.Context<Outbox>): Effect.Effect<Context.Context<Outbox>> =>
  Effect.map(Clock.Clock, (clock) => {
    const outbox = Context.get(services, Outbox)
    const times = new Times()

    const draw = (data: Events.EventData<"tool.activity">): Events.ToolCard => {
      const { activity_id, name, parent_id, status } = data
      const [startedAt, endedAt] = times.of(data, timestamp(clock.currentTimeMillisUnsafe()))
      if (status !== "running") {
        return ended({ activityId: activity_id, parentId: parent_id, name }, status, startedAt, endedAt)
      }
      return {
        card_id: activity_id,
        parent_id,
        revision: RUNNING,
        name,
        kind: kindOf(name),
        status: "running",
        outcome: null,
        started_at: startedAt,
        ended_at: null
      }
    }

    const drawing = Context.make(Outbox, {
      ...outbox,
      enqueue: (event, queued) => {
        if (event.event !== "tool.activity") return outbox.enqueue(event, queued)
        const { run_id, session_id } = event.data
        outbox.enqueue(event)
        return outbox.enqueue({ event: "tool.card", data: { session_id, run_id, card: draw(event.data) } }, queued)
      }
    })
    return Context.add(drawing, RowWatch, (row) => times.note(row))
  })
