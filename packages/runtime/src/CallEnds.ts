/**
 * What the pipeline itself says of a call that it shows, refuses or ends (PRM-1, PRO-1, PRO-5, TRN-8).
 *
 * Rule: the words tell the model plainly whether the tool ran; what came from outside is protected before it is in them.
 */
import type { JsonText } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { CatalogTool, ToolKind } from "./Catalog.ts"
import type { AttemptedCall } from "./PipelineCall.ts"
import * as Redaction from "./Redaction.ts"
import type { ExecutionOutcome, ToolOutcome } from "./ToolExecutor.ts"

/** How much a person who is asked is shown. */
const SUMMARY_CHARACTERS = 2000

/** What a person who is asked is shown: protected on both levels, as JSON and as text. */
export const summaryOf = (tool: CatalogTool, args: JsonText): string => {
  if (tool.summary !== undefined) return Redaction.protectMessage(tool.summary(args), SUMMARY_CHARACTERS)
  const shown = Redaction.protectJson(args)
  const text = Result.isSuccess(shown) ? shown.success : "with arguments that cannot be shown"
  return Redaction.protectMessage(`${tool.name} ${text}`, SUMMARY_CHARACTERS)
}

/** A step that must not end unanswered met a call that would have (SUR-6, CHD-2). */
export const undeferrable = "Deferred tool interaction is unavailable for this run. The call was not executed."
/** A call inside another one met the same (CHD-3). */
export const undeferrableInside =
  "A call that is made inside another one cannot be answered later. It was not executed: "
  + "call the tool directly."

/** Only a step of an agent that can be resumed may end unanswered (CHD-2, CHD-3, SUR-6). */
export const endOf = (outcome: ExecutionOutcome, kind: ToolKind | undefined, message: string): ToolOutcome =>
  outcome._tag === "Deferred"
    ? { _tag: "Refused", code: kind === "client" ? "client_tool_denied" : "tool_denied", message }
    : outcome

/** A fault of ours or of the tool. */
const unexpected: ToolOutcome = {
  _tag: "Uncertain",
  code: "internal_error",
  message: "The tool failed unexpectedly. It may have executed: do not repeat it blindly."
}

/** A fault before the tool was given the call. */
const unstarted: ToolOutcome = {
  _tag: "Refused",
  code: "internal_error",
  message: "The call failed unexpectedly before the tool was started. It was not executed."
}

/** What a tool reads of a call whose end storage refused; the run fails with that all the same (SES-9). */
export const unrecorded: ToolOutcome = {
  _tag: "Uncertain",
  code: "storage_failed",
  message: "The call ended, but that cannot be recorded. Do not repeat it blindly."
}

/** What a tool reads of a call whose beginning storage refused; the run fails with that all the same (SES-9). */
export const unmade: ToolOutcome = {
  _tag: "Refused",
  code: "storage_failed",
  message: "The call cannot be recorded, so it was not made."
}

const deniedCode = (tool: CatalogTool) => tool.kind === "client" ? "client_tool_denied" : "tool_denied"

/** A hook said no. */
export const refusedByHook = (tool: CatalogTool, reason: string): ToolOutcome => ({
  _tag: "Refused",
  code: deniedCode(tool),
  message: Redaction.protectMessage(`A hook refused the call (${reason}). It was not executed.`, 1000)
})

/** Nobody said yes. */
export const notApproved = (tool: CatalogTool, verdict: keyof typeof unapproved): ToolOutcome => ({
  _tag: "Refused",
  code: deniedCode(tool),
  message: unapproved[verdict]
})

const unapproved = {
  denied: "Permission for this call was denied. It was not executed.",
  expired: "Nobody answered the question for permission in time. The call was not executed.",
  failed: "Nobody could be asked for permission. The call was not executed."
}

/** Step 6: what a tool told is untrusted until it went through here (PRO-1, PRO-5). */
export const protect = <O extends ExecutionOutcome>(
  tool: CatalogTool | undefined,
  outcome: O,
  maxBytes: number
): O | ToolOutcome => {
  if (outcome._tag !== "Success" && outcome._tag !== "Failure") return outcome
  const safe = Redaction.protectResult(outcome, maxBytes)
  if (Result.isFailure(safe)) return rejected(tool, safe.failure.message)
  const { structured, text } = safe.success
  return structured === undefined ? { _tag: outcome._tag, text } : { _tag: outcome._tag, text, structured }
}

/** The result is known and cannot be shown. */
export const rejected = (tool: CatalogTool | undefined, reason: string): ToolOutcome => ({
  _tag: "Uncertain",
  code: tool?.kind === "client" ? "client_tool_result_rejected" : "result_rejected",
  message: Redaction.protectMessage(`The tool executed, but its result cannot be shown: ${reason}.`, 1000)
})

/** What makes an effect interruptible again in a region that is not. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * What came of an attempt. One that somebody cut off before the tool told anything stays interrupted; a tool that
 * interrupts itself failed, like one that dies, and takes nobody with it (RUN-2).
 */
export const ofExit = <O extends ExecutionOutcome>(
  call: AttemptedCall,
  exit: Exit.Exit<O>,
  restore: Restore
): Effect.Effect<O | ToolOutcome> => {
  if (Exit.isSuccess(exit)) return exit
  const reached = call.started || call.answer !== undefined
  const told = reached ? unexpected : unstarted
  const failed = Effect.as(Effect.logError(`tool ${call.name} failed unexpectedly`, exit.cause), told)
  if (!Cause.hasInterrupts(exit.cause)) return failed
  // whoever was interrupted from outside is so again as soon as that is allowed
  return call.answer === undefined ? Effect.andThen(restore(Effect.void), failed) : Effect.succeed(call.answer)
}
