/**
 * How the end of a call reads to the model (SCR-3, CAL-8).
 *
 * Rule: the text says plainly whether the tool ran, did not run, or may have run.
 */
import { Json, type JsonText } from "@errand/protocol"
import type { ToolKind } from "./Catalog.ts"
import type { Outcome } from "./ModelTurn.ts"
import type { ToolOutcome } from "./ToolExecutor.ts"

/** The outcome word and the content of a result record. */
export interface ToolContent {
  readonly outcome: Outcome
  readonly content: JsonText
}

const DENIED = new Set(["client_tool_denied", "tool_denied"])

const error = (code: string, message: string): string =>
  `{"error":{"code":${Json.quote(code)},"message":${Json.quote(message)}}`

/** Longer results are most of the frame that they came in. */
const SHORT_CHARACTERS = 8192

/**
 * What was added up is not one piece, and what was cut out of a frame keeps all of it: a short result is joined, which
 * copies it, so that the history does not hold the frame.
 */
const told = (head: string, text: string, structured: JsonText | undefined): JsonText => {
  const parts = structured === undefined
    ? [head, "\"text\":", Json.quote(text), "}"]
    : [head, "\"text\":", Json.quote(text), ",\"structured\":", structured, "}"]
  const short = text.length + (structured?.length ?? 0) <= SHORT_CHARACTERS
  return (short ? parts.join("") : parts.reduce((whole, part) => whole + part)) as JsonText
}

/** The content of a call's end; its texts are protected already. */
export const encode = (outcome: ToolOutcome, kind: ToolKind | undefined): ToolContent => {
  switch (outcome._tag) {
    case "Success":
      return { outcome: "success", content: told("{", outcome.text, outcome.structured) }
    case "Failure": {
      const head = kind === "client"
        ? error("client_tool_error", "The client's tool answered with an error.")
        : error("tool_error", "The tool failed.")
      return { outcome: "failure", content: told(`${head},`, outcome.text, outcome.structured) }
    }
    case "Refused":
      return {
        outcome: DENIED.has(outcome.code) ? "denied" : "failure",
        content: `${error(outcome.code, outcome.message)}}` as JsonText
      }
    case "Uncertain":
      return { outcome: "failure", content: `${error(outcome.code, outcome.message)}}` as JsonText }
  }
}

/** The content of a call that was cut off before its end was known (CAN-2). */
export const cancelled = (kind: ToolKind | undefined, started: boolean): ToolContent => ({
  outcome: "cancelled",
  content: `${
    error(
      kind === "client" ? "client_tool_cancelled" : "tool_cancelled",
      started
        ? "The call was cancelled before its answer came. It may have executed: do not repeat it blindly."
        : "The call was cancelled before it was started. It was not executed."
    )
  }}` as JsonText
})
