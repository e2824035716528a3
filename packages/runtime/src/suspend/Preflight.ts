/**
 * The fourteen checks before a suspended run goes on (section 5).
 *
 * Rule: one pure function decides, the first check that fails answers, and nothing has started by then; what it returns
 * is a plan that needs no further question about the host's input.
 */
import type { JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import type { ToolResult } from "../ModelTurn.ts"
import type { ToolOutcome } from "../ToolExecutor.ts"
import * as Digest from "./Digest.ts"
import * as ResultsCheck from "./ResultsCheck.ts"
import {
  DeferredRequestCategoryOverlap,
  DeferredRequestCompleted,
  DeferredRequestDuplicate,
  DeferredRequestMismatch,
  DeferredRequestMissing,
  DeferredRequestsEmpty,
  DeferredRequestsTooLarge,
  DeferredSurfaceMismatch,
  type RequestCategory,
  type ResumeError,
  SuspensionExpired,
  SuspensionIntegrityFailed,
  SuspensionInvalid
} from "./ResumeError.ts"
import * as State from "./State.ts"
import type { SurfaceTool } from "./Surface.ts"
import * as Suspension from "./Suspension.ts"

/** How many requests one suspension may hold, over both categories. */
export const maxRequests = 128

/** What a resume is decided on; `now` is in milliseconds since 1970. */
export interface Input {
  /** The stored value, or its JSON text. */
  readonly suspension: unknown
  /** Of type `Results.Results` or a list of `Results.Reply`, but nothing of it is believed. */
  readonly results: unknown
  readonly surface: { readonly tools: ReadonlyMap<string, SurfaceTool> }
  readonly now: number
  readonly keys: Digest.Keys | null
  /** Lets approvals of an unsigned suspension go on (SUS-2); false by default. */
  readonly trustUnsigned?: boolean | undefined
  readonly answerBytes?: number | undefined
  /**
   * For a recovery: whether the result of an external call is recorded already. Its tool is not looked at any more, and no
   * tool of an approval is, since a recovery executes nothing that was approved (RSM-7, HRN-D26).
   */
  readonly recorded?: (callId: string) => boolean
}

/** The call that a step is about. */
export interface Call {
  readonly callId: string
  readonly toolName: string
}

/**
 * What becomes of one call of the last response: it has its result, the host answered it, it may execute once under the
 * current rules, or the host denied it. `metadata` is the host's, as compact text.
 */
export type Step =
  | Call & { readonly _tag: "Completed"; readonly result: ToolResult }
  | Call & { readonly _tag: "Answered"; readonly outcome: ToolOutcome; readonly metadata: JsonText | null }
  | Call & {
    readonly _tag: "Execute"
    readonly arguments: JsonText
    readonly overridden: boolean
    readonly metadata: JsonText | null
  }
  | Call & { readonly _tag: "Denied"; readonly message: string | null; readonly metadata: JsonText | null }

/** A resume that may start: `steps` holds every call of the last response, in the order of the model (RSM-2). */
export interface ResumePlan {
  readonly suspension: Suspension.Suspension
  readonly steps: ReadonlyArray<Step>
}

type Requests = Suspension.Requests
type Pending = Suspension.PendingRequest
const categories = ["calls", "approvals"] as const

/** Checks 4 to 6: ids and counts of the envelope. */
const checkRequests = (requests: Requests): ResumeError | null => {
  for (const category of categories) {
    const seen = new Set<string>()
    for (const { call_id: callId } of requests[category]) {
      if (callId.trim() === "" || seen.has(callId)) {
        return new DeferredRequestDuplicate({ details: { callId, category } })
      }
      seen.add(callId)
    }
  }
  const calls = new Set(requests.calls.map((request) => request.call_id))
  const callIds = requests.approvals.map((request) => request.call_id).filter((id) => calls.has(id))
  if (callIds.length > 0) return new DeferredRequestCategoryOverlap({ details: { callIds } })
  const count = requests.calls.length + requests.approvals.length
  if (count === 0) return new DeferredRequestsEmpty({ details: {} })
  return count > maxRequests
    ? new DeferredRequestsTooLarge({ details: { count, limit: maxRequests } })
    : null
}

/**
 * Checks 11 to 13: the envelope against the last model response of the state. Gives the calls of that response, in the
 * order of the model.
 */
const checkState = (
  requests: Requests,
  state: State.State
): Result.Result<ReadonlyArray<State.CallState>, ResumeError> => {
  const last = State.lastResponse(state)
  if (last === null) return Result.fail(unreadable("suspension.state", state))
  const response = new Map(last.calls.map((call) => [call.id, call]))
  const states = new Map(state.calls.map((call) => [call.call_id, call]))
  const all = categories.flatMap((category) => requests[category].map((request) => ({ category, request })))
  const facts = ({ call_id, tool_name }: Pending | State.CallState) => ({ callId: call_id, toolName: tool_name })
  for (const { request } of all) {
    if (!response.has(request.call_id)) return Result.fail(new DeferredRequestMissing({ details: facts(request) }))
  }
  for (const { request } of all) {
    if (last.answered.has(request.call_id) || states.get(request.call_id)?.status === "completed") {
      return Result.fail(new DeferredRequestCompleted({ details: facts(request) }))
    }
  }
  for (const { category, request } of all) {
    const field = differing(request, category, response.get(request.call_id)?.name, states.get(request.call_id))
    if (field !== null) return Result.fail(new DeferredRequestMismatch({ details: { ...facts(request), field } }))
  }
  const strange = strangeCall(state, last)
  if (strange !== null) return Result.fail(new DeferredRequestMismatch({ details: strange }))
  const requested = new Set(all.map(({ request }) => request.call_id))
  const unasked = state.calls.find((call) => call.status !== "completed" && !requested.has(call.call_id))
  return unasked === undefined
    ? Result.succeed(state.calls)
    : Result.fail(new DeferredRequestMismatch({ details: { ...facts(unasked), field: "request" } }))
}

const unreadable = (path: string, state: State.State) =>
  new SuspensionInvalid({
    details: { path: `${path}.messages[${state.messages.length - 1}]`, rule: "is no message" }
  })

/** The first call that the calls of a state and its last response do not share, or null. */
const strangeCall = (
  { calls }: State.State,
  last: NonNullable<ReturnType<typeof State.lastResponse>>
): DeferredRequestMismatch["details"] | null => {
  const seen = new Set<string>()
  for (let index = 0; index < Math.max(calls.length, last.calls.length); index++) {
    const asked = last.calls[index]
    const call = calls[index]
    const callId = asked?.id ?? call!.call_id
    const toolName = asked?.name ?? call!.tool_name
    if (asked === undefined || call?.call_id !== callId || seen.has(callId) || last.answered.has(callId)) {
      return { callId, toolName, field: "request" }
    }
    if (call.tool_name !== toolName) return { callId, toolName, field: "tool_name" }
    seen.add(callId)
  }
  return null
}

/**
 * What is wrong with the open calls of a state, or null: they are those of its last response, each once and in its order,
 * and none has a result in the history yet. Else one approval would run a call twice (HRN-D25).
 */
export const checkCalls = (state: State.State): ResumeError | null => {
  if (state.calls.length === 0) return null
  const last = State.lastResponse(state)
  if (last === null) return unreadable("state", state)
  const strange = strangeCall(state, last)
  return strange === null ? null : new DeferredRequestMismatch({ details: strange })
}

const differing = (
  request: Pending,
  category: RequestCategory,
  name: string | undefined,
  call: State.CallState | undefined
): "tool_name" | "arguments" | "category" | "request" | null => {
  if (call === undefined) return "request"
  if (name !== request.tool_name || call.tool_name !== request.tool_name) return "tool_name"
  if (call.arguments !== request.arguments) return "arguments"
  return call.category === (category === "calls" ? "call" : "approval") ? null : "category"
}

/**
 * Check 14 for one request; `listed` is what the suspension's own surface says of the tool, undefined where the run did not
 * offer it. RSM-1: what does not need the tool any more is accepted when the tool is gone.
 */
const checkTool = (
  request: Pending,
  listed: string | undefined,
  tool: SurfaceTool | undefined,
  needed: boolean
): ResumeError | null => {
  if (tool === undefined && !needed) return null
  const { kind } = request
  const fingerprint = listed ?? request.fingerprint
  const isSame = fingerprint === request.fingerprint && tool?.kind === kind && tool.fingerprint === fingerprint
  if (isSame) return null
  const current = tool === undefined ? null : { kind: tool.kind, fingerprint: tool.fingerprint }
  return new DeferredSurfaceMismatch({
    details: { callId: request.call_id, toolName: request.tool_name, suspended: { kind, fingerprint }, current }
  })
}

const planned = (
  call: State.CallState,
  { answers, decisions, metadata: given }: ResultsCheck.Accepted
): Step => {
  const facts = { callId: call.call_id, toolName: call.tool_name }
  const metadata = given.get(call.call_id) ?? null
  const answer = answers.get(call.call_id)
  if (answer !== undefined) return { _tag: "Answered", ...facts, outcome: answer, metadata }
  const decision = decisions.get(call.call_id)
  if (decision !== undefined) {
    return decision.allow
      ? {
        _tag: "Execute",
        ...facts,
        arguments: decision.arguments ?? call.arguments as JsonText,
        overridden: decision.arguments !== null,
        metadata
      }
      : { _tag: "Denied", ...facts, message: decision.message, metadata }
  }
  const result = { id: call.call_id, name: call.tool_name, outcome: call.outcome!, content: call.content as JsonText }
  return { _tag: "Completed", ...facts, result }
}

/** Decides whether a suspension can go on with these results on this surface, and how. */
export const check = (input: Input): Result.Result<ResumePlan, ResumeError> => {
  const opened = Suspension.open(input.suspension, input.keys)
  if (Result.isFailure(opened)) return Result.fail(opened.failure)
  const suspension = opened.success
  const { requests, state } = suspension
  if (requests.approvals.length > 0 && input.trustUnsigned !== true && !Digest.isKeyed(suspension.digest)) {
    return Result.fail(new SuspensionIntegrityFailed({ details: { reason: "unsigned_approvals" } }))
  }
  if (suspension.expires_at !== null && input.now > Date.parse(suspension.expires_at)) {
    return Result.fail(new SuspensionExpired({ details: { expiresAt: suspension.expires_at } }))
  }
  const malformed = checkRequests(requests)
  if (malformed !== null) return Result.fail(malformed)

  const { recorded, surface: { tools } } = input
  const approvals = new Set(requests.approvals)
  const isJudged = (request: Pending): boolean =>
    recorded === undefined || !(approvals.has(request) || recorded(request.call_id))
  const toolOf = (request: Pending) => isJudged(request) ? tools.get(request.tool_name) : undefined
  const limit = input.answerBytes ?? ResultsCheck.limits.answerBytes
  const accepted = ResultsCheck.check(requests, input.results, toolOf, limit)
  if (Result.isFailure(accepted)) return Result.fail(accepted.failure)
  const { answers, decisions } = accepted.success

  const open = checkState(requests, state)
  if (Result.isFailure(open)) return Result.fail(open.failure)
  for (const request of [...requests.calls, ...requests.approvals].filter(isJudged)) {
    const needed = answers.get(request.call_id)?._tag === "Success" || decisions.get(request.call_id)?.allow === true
    const name = request.tool_name
    const listed = Object.hasOwn(suspension.surface, name) ? suspension.surface[name] : undefined
    const changed = checkTool(request, listed, tools.get(name), needed)
    if (changed !== null) return Result.fail(changed)
  }
  return Result.succeed({ suspension, steps: open.success.map((call) => planned(call, accepted.success)) })
}
