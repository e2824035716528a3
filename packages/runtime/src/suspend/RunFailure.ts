/**
 * Why a run failed, in the codes that hosts see (RUN-1, RUN-6).
 *
 * Rule: a message is protected and for a person; what a program decides on stands in `code` and `details`.
 */
import type { LoopError } from "../AgentLoop.ts"
import * as Diagnosis from "../Diagnosis.ts"
import type { Failure } from "./RunResult.ts"

const failure = (
  code: string,
  message: string,
  details: Failure["details"] = {},
  retryHint: Failure["retryHint"] = null
): Failure => ({ code, message: Diagnosis.message(message), details, retryHint })

/** A text of the history is no message (HRN-D16). */
export const stateInvalid = (index: number): Failure =>
  failure("suspension_invalid", `Message ${index} of the state is no message.`, { path: `state.messages[${index}]` })

/** Something is pending at the end of a run whose host cannot resume it (SUR-6). */
export const unsupported: Failure = failure(
  "deferred_tools_unsupported",
  "Calls wait for answers, but deferred tool interaction is unavailable for this run."
)

/** The model's last answers did not fit the output schema (RUN-7). */
export const outputInvalid = (rule: string, retries: number): Failure =>
  failure("output_invalid", `The model's answer did not fit the output schema: ${rule}.`, { retries }, {
    afterMs: null
  })

/** A fault of ours; the log tells more. */
export const internal: Failure = failure(
  "internal_error",
  "The run failed by a fault of the program; its log tells more."
)

/** The failure of a loop. */
export const ofLoop = (error: LoopError): Failure => {
  switch (error._tag) {
    case "ModelFailed":
      return failure(
        error.code,
        error.message,
        {},
        error.retryable === true ? { afterMs: error.retryAfterMs ?? null } : null
      )
    case "StorageFailed":
      return failure("storage_failed", error.message, {}, { afterMs: null })
    case "UsageLimitExceeded":
      return error.bound === "retries"
        ? failure(
          "retry_limit_exceeded",
          `The model wrote arguments that do not fit ${error.limit + 1} times in a row.`,
          {
            limit: error.limit
          }
        )
        : failure("usage_limit_exceeded", `The run used up its bound of ${error.limit} ${error.bound}.`, {
          bound: error.bound,
          limit: error.limit
        })
    case "TurnLimitReached":
      return failure("usage_limit_exceeded", `The run made ${error.limit} model requests.`, { limit: error.limit })
    case "HistoryInvalid":
      return failure("history_invalid", "The conversation breaks the rules of providers; it was not sent.", {
        violations: error.violations
      })
  }
}
