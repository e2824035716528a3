/**
 * What an earlier run left open, settled before the model is asked again (RSM-2, RSM-5, RSM-7, RSM-8).
 *
 * Rule: each open call takes the rest of its own way through the pipeline: an answer from protection on, an allowed call
 * from the current rules and hooks on; and each ends with one result, in the order of the model.
 */
import { type Ids, Json, type JsonText } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Agent } from "../Agent.ts"
import * as Bounds from "../Bounds.ts"
import type { StorageFailed } from "../History.ts"
import type { ModelToolCall } from "../ModelTurn.ts"
import type { PipelineCall } from "../PipelineCall.ts"
import * as Redaction from "../Redaction.ts"
import type { Answered, ToolOutcome } from "../ToolExecutor.ts"
import type { Engine } from "./Engine.ts"
import type * as Preflight from "./Preflight.ts"
import * as Recovery from "./Recovery.ts"
import type { CallState } from "./State.ts"
import type { Thread } from "./Thread.ts"

/** What becomes of one open call, decided by a resume, a recovery or a new prompt. */
export type Step = Preflight.Step | Recovery.Step

const uncertain = `{"error":{"code":"interrupted","message":${
  Json.quote(
    "Nobody knows how the call ended: no answer was given. It may have executed: do not repeat it blindly."
  )
}}}` as JsonText

const denied = (message: string | null): ToolOutcome => ({
  _tag: "Refused",
  code: "tool_denied",
  message: `Permission for this call was denied. It was not executed.${
    message === null ? "" : ` The reason given: ${Redaction.protectMessage(message, 1000)}`
  }`
})

/** What the host said of a call: known from the beginning, so that a run which is cut off keeps it too. */
const answerOf = (step: Step): Answered =>
  step._tag === "Answered"
    ? { answer: step.outcome }
    : step._tag === "Denied"
    ? { answer: denied(step.message) }
    : {}

/** What an approval of a call covers: nothing but its arguments as they were shown, or those that the host gave instead. */
const approvalOf = (step: Step, call: CallState): Pick<PipelineCall, "approved"> =>
  step._tag === "Execute" ? { approved: step.overridden ? true : call.arguments as JsonText } : {}

const resumed = (
  step: Step,
  call: CallState,
  asked: ModelToolCall | undefined,
  index: number,
  messageId: Ids.MessageId,
  newId: () => string
): PipelineCall => ({
  messageId,
  index,
  id: call.call_id,
  asked: call.tool_name,
  name: call.tool_name,
  arguments: Bounds.read(
    step._tag === "Execute" && step.overridden ? step.arguments : asked?.arguments ?? call.arguments
  ),
  activityId: newId() as Ids.ActivityId,
  // told to the model if the call is cut off: whatever was outside of this process may have executed
  started: step._tag !== "Execute" && step._tag !== "Begin" && step._tag !== "Denied",
  settled: step._tag === "Completed",
  deferred: undefined,
  ...approvalOf(step, call),
  ...answerOf(step)
})

/** The rest of one call's way; null where there is none. */
const rest = (
  { pipeline }: Engine,
  agent: Agent,
  thread: Thread,
  step: Step,
  call: PipelineCall,
  before: CallState
): Effect.Effect<void, StorageFailed> | null => {
  switch (step._tag) {
    case "Completed":
      return null
    case "Answered":
    case "Denied":
      return pipeline.deliver(agent, call, before.arguments as JsonText, call.answer!)
    case "Execute":
    case "Begin":
      return pipeline.settle(agent, call)
    case "SuspendAgain":
      thread.defer(call.id, before.category === "call" ? "call" : "approval", step.arguments)
      return null
    case "Unknown":
      return Effect.andThen(
        thread.append([{
          kind: "result",
          runId: agent.run.runId,
          taskId: null,
          subagentId: null,
          messageId: call.messageId,
          index: call.index,
          activityId: call.activityId,
          id: call.id,
          name: call.name,
          outcome: "unknown",
          content: uncertain
        }]),
        Effect.sync(() => {
          call.settled = true
        })
      )
  }
}

/** The open calls of a thread on their way, each with what was decided of it. */
const openCalls = (
  thread: Thread,
  stepOf: (call: CallState) => Step,
  newId: () => string
): ReadonlyArray<PipelineCall> => {
  const messageId = newId() as Ids.MessageId
  const last = thread.messages.at(-1)
  const asked = new Map(last?.role === "assistant" ? last.toolCalls.map((call) => [call.id, call]) : [])
  return thread.open.map((call, index) => resumed(stepOf(call), call, asked.get(call.call_id), index, messageId, newId))
}

/** Settles what is open; the calls that it gives may be deferred anew. However it ends, history stays valid (SES-11). */
export const settle = (
  engine: Engine,
  agent: Agent,
  thread: Thread,
  steps: ReadonlyArray<Step>,
  newId: () => string
): Effect.Effect<ReadonlyArray<PipelineCall>, StorageFailed> =>
  Effect.uninterruptibleMask((restore) => {
    const open = thread.open.slice()
    const byId = new Map(steps.map((step) => [step.callId, step]))
    const calls = openCalls(thread, (call) => byId.get(call.call_id)!, newId)
    const ways = calls.flatMap((call, index) =>
      rest(engine, agent, thread, byId.get(call.id)!, call, open[index]!) ?? []
    )
    const all = ways.length === 1
      ? ways[0]!
      : Effect.forEach(ways, (way) => way, { concurrency: "unbounded", discard: true })
    return restore(all).pipe(
      Effect.onExit((exit) =>
        Exit.isSuccess(exit) ? Effect.void : Effect.ignore(engine.pipeline.close(agent, calls), { log: "Error" })
      ),
      Effect.as(calls)
    )
  })

/** What a call without a result, about which nobody decided, is when its run is cut off. */
const undecided = (call: CallState): Step => {
  const facts = { callId: call.call_id, toolName: call.tool_name }
  return call.status === "started"
    ? { _tag: "Unknown", ...facts }
    : { _tag: "Begin", ...facts, arguments: call.arguments as JsonText }
}

/** Closes what a run that was cut off left open, with what was decided as far as it was: its state can go on (RUN-1). */
export const close = (
  { pipeline }: Engine,
  agent: Agent,
  thread: Thread,
  steps: ReadonlyArray<Step>,
  newId: () => string
): Effect.Effect<void> => {
  if (thread.open.length === 0) return Effect.void
  const byId = new Map(steps.map((step) => [step.callId, step]))
  const stepOf = (call: CallState) => Recovery.completed(call) ?? byId.get(call.call_id) ?? undecided(call)
  const calls = openCalls(thread, stepOf, newId)
  return Effect.ignore(pipeline.close(agent, calls), { log: "Error" })
}
