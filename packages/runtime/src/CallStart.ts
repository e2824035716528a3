/**
 * The moment from which a call may have executed (RSM-9).
 *
 * Rule: whoever executes a call marks its start, and begins only when the mark is stored; who defers it does not, because
 * a call that is deferred has not begun. So nobody has to know which executor there is (PRK-1).
 */
import * as Effect from "effect/Effect"
import type { ExecutionOutcome, ToolInvocation, ToolOutcome } from "./ToolExecutor.ts"

const unsaved: ToolOutcome = {
  _tag: "Refused",
  code: "storage_failed",
  message: "That the call starts could not be recorded. It was not executed."
}

/** Executes a call after its start is stored, where its history keeps starts; one that cannot be stored ends the run. */
export const marked = <O extends ExecutionOutcome>(
  call: ToolInvocation,
  execute: (call: ToolInvocation) => Effect.Effect<O>
): Effect.Effect<O | ToolOutcome> => {
  const { history, run } = call.agent
  return history.start === undefined ? execute(call) : Effect.matchEffect(history.start(call.callId, call.arguments), {
    onFailure: (error) => {
      run.failure ??= error
      return Effect.succeed<O | ToolOutcome>(unsaved)
    },
    onSuccess: () => execute(call)
  })
}
