/**
 * What code came to, as a tool result: what it logged and returned, or why it failed (BLT-3).
 *
 * Rule: the result keeps the bound of every result, and says in its text what was left out.
 */
import { Json } from "@errand/protocol"
import type { ToolOutcome } from "@errand/runtime"
import * as Result from "effect/Result"
import * as FittedResult from "../builtins/FittedResult.ts"
import type { Ended } from "./SandboxMessage.ts"

/** How deep a returned value may nest. */
const MOST_DEPTH = 128

/** The outcome of the call of `run_code`: a returned string is the text, another value is structured. */
export const of = (ended: Ended, max: number): ToolOutcome => {
  const { log, logLeft, outcome } = ended
  switch (outcome._tag) {
    case "Failed":
      return { _tag: "Failure", text: FittedResult.texts(log, outcome.message, max, logLeft) }
    case "Nothing":
      return {
        _tag: "Success",
        text: log === "" ? "(the code returned nothing)" : FittedResult.texts(log, "", max, logLeft)
      }
    case "Text":
      return { _tag: "Success", text: FittedResult.texts(log, outcome.text, max, logLeft) }
    case "Json": {
      const value = Json.compact(outcome.json, { maxDepth: MOST_DEPTH })
      if (Result.isSuccess(value)) return { _tag: "Success", ...FittedResult.of(log, value.success.text, max, logLeft) }
      const problem = `The returned value cannot be told: ${value.failure.message}.`
      return { _tag: "Failure", text: FittedResult.texts(log, problem, max, logLeft) }
    }
  }
}
