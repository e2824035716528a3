/**
 * How a resume that was interrupted, or a suspension that nobody answered, goes on (RSM-7, RSM-8, RSM-9).
 *
 * Rule: a positive approval is used once, by the resume that it was given to; whatever may have executed since is never
 * executed again without being asked for again.
 */
import type { JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import * as MessageText from "./MessageText.ts"
import * as Preflight from "./Preflight.ts"
import { DeferredRequestMismatch, type ResumeError } from "./ResumeError.ts"
import type * as State from "./State.ts"
import { readState, type Suspension } from "./Stored.ts"

/**
 * What becomes of one open call: it has its result, the host answered or denied it, it has not begun and takes its whole
 * way, the question included, it may have executed and is closed so, or it is pending again under the same id.
 */
export type Step =
  | Extract<Preflight.Step, { readonly _tag: "Completed" | "Answered" | "Denied" }>
  | Preflight.Call & { readonly _tag: "Begin"; readonly arguments: JsonText }
  | Preflight.Call & { readonly _tag: "Unknown" }
  | Preflight.Call & { readonly _tag: "SuspendAgain"; readonly arguments: JsonText }

/** A recovery that may start: from `state` on, with every open call of its last response in the order of the model. */
export interface RecoveryPlan {
  readonly suspension: Suspension
  readonly state: State.State
  readonly steps: ReadonlyArray<Step>
}

/** What a recovery is decided on, besides what the interrupted resume was given. */
export interface Input extends Preflight.Input {
  /** The last state that `checkpoint` got; null when the run had none (RSM-9). */
  readonly laterState: unknown
  /** Whether the tool of a name may execute twice. */
  readonly retrySafe: (toolName: string) => boolean
}

const again = (call: State.CallState): Step => ({
  _tag: "SuspendAgain",
  callId: call.call_id,
  toolName: call.tool_name,
  arguments: call.arguments as JsonText
})

const uncertain = (call: State.CallState, retrySafe: Input["retrySafe"]): Step =>
  retrySafe(call.tool_name) ? again(call) : { _tag: "Unknown", callId: call.call_id, toolName: call.tool_name }

/** The step of a call that has its result already, or null. */
export const completed = (call: State.CallState): Step | null =>
  call.outcome === null || call.content === null ? null : {
    _tag: "Completed",
    callId: call.call_id,
    toolName: call.tool_name,
    result: { id: call.call_id, name: call.tool_name, outcome: call.outcome, content: call.content as JsonText }
  }

/** A call of the suspended response: the host's values and denials hold, its approvals do not. */
const ofSuspended = (call: State.CallState, planned: Preflight.Step, input: Input): Step => {
  const done = completed(call)
  if (done !== null) return done
  if (planned._tag !== "Execute") return planned
  return call.status === "pending" && input.laterState !== null ? again(call) : uncertain(call, input.retrySafe)
}

/** A call of a later response, about which the host has not been asked. */
const ofLater = (call: State.CallState, input: Input): Step => {
  const done = completed(call)
  if (done !== null) return done
  if (call.status === "started") return uncertain(call, input.retrySafe)
  return call.category === "local"
    ? { _tag: "Begin", callId: call.call_id, toolName: call.tool_name, arguments: call.arguments as JsonText }
    : again(call)
}

/** What is more than a suspension may hold does not wait again: nobody could resume it (HRN-D34). */
const bounded = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => {
  let waiting = 0
  return steps.map((step) =>
    step._tag !== "SuspendAgain" || ++waiting <= Preflight.maxRequests
      ? step
      : { _tag: "Unknown", callId: step.callId, toolName: step.toolName }
  )
}

const startsWith = (later: State.State, earlier: State.State): boolean =>
  later.thread_id === earlier.thread_id && later.messages.length >= earlier.messages.length &&
  earlier.messages.every((text, index) => later.messages[index] === text)

const inOrder = (calls: ReadonlyArray<State.CallState>, steps: ReadonlyArray<Preflight.Step>): boolean =>
  calls.length === steps.length &&
  calls.every((call, index) => call.call_id === steps[index]!.callId && call.tool_name === steps[index]!.toolName)

/**
 * Decides how an interrupted resume goes on. The suspension and the results are checked like those of a resume, except
 * that a suspension which expired meanwhile is accepted: its results came in time, or the resume had not begun.
 */
export const check = (input: Input): Result.Result<RecoveryPlan, ResumeError> => {
  const later = input.laterState === null ? null : readState(input.laterState)
  const recorded = (callId: string): boolean =>
    later !== null && Result.isSuccess(later) &&
    later.success.calls.find((call) => call.call_id === callId)?.status !== "pending"
  const planned = Preflight.check({ ...input, now: 0, recorded })
  if (Result.isFailure(planned)) return Result.fail(planned.failure)
  const { steps, suspension } = planned.success
  if (later !== null && Result.isFailure(later)) return Result.fail(later.failure)
  const state = later?.success ?? suspension.state
  const same = state.messages.length === suspension.state.messages.length
  if (!startsWith(state, suspension.state) || (same && !inOrder(state.calls, steps))) {
    const { callId, toolName } = steps[0]!
    return Result.fail(new DeferredRequestMismatch({ details: { callId, toolName, field: "request" } }))
  }
  const strange = Preflight.checkCalls(state)
  if (strange !== null) return Result.fail(strange)
  return Result.succeed({
    suspension,
    state,
    steps: bounded(
      state.calls.map((call, index) => same ? ofSuspended(call, steps[index]!, input) : ofLater(call, input))
    )
  })
}

/** An input as far as the history of the later state does not hold it already: it is told once, like an answer (RSM-7). */
export const untold = ({ state, suspension }: RecoveryPlan, input: string | null): string | null =>
  input !== null &&
    state.messages.slice(suspension.state.messages.length).includes(MessageText.encode({ role: "user", text: input }))
    ? null
    : input

/**
 * What becomes of the open calls of a suspended state when a new prompt comes without results: each may have executed
 * somewhere, so it is closed as unknown, or pending again where that does no harm (RSM-8).
 */
export const abandon = (
  state: State.State,
  retrySafe: (toolName: string) => boolean
): Result.Result<ReadonlyArray<Step>, ResumeError> => {
  const strange = Preflight.checkCalls(state)
  return strange === null
    ? Result.succeed(bounded(state.calls.map((call) => completed(call) ?? uncertain(call, retrySafe))))
    : Result.fail(strange)
}
