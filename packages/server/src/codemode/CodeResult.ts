/**
 * What code came to, as a tool result: what it logged and returned, or why it failed (BLT-3).
 *
 * Rule: the result keeps the bound of every result, and says in its text what was left out.
 */
import { Json, type JsonText } from "@errand/protocol"
import { Redaction, type ToolOutcome } from "@errand/runtime"
import * as Result from "effect/Result"
import * as Excerpt from "../builtins/Excerpt.ts"
import type { Ended } from "./SandboxMessage.ts"

/** How deep a returned value may nest. */
const MOST_DEPTH = 128

/** Bytes kept for a line that says what was left out. */
const NOTICE_BYTES = 64

const cut = (text: string, budget: number): string => {
  const bytes = Excerpt.size(text)
  if (bytes <= budget) return text
  const kept = Excerpt.head(text, Math.max(0, budget - NOTICE_BYTES))
  return `${kept}\n${Excerpt.MARK} ${Excerpt.counted(bytes - Excerpt.size(kept), "byte")} left out\n`
}

/** The log and what comes after it, each cut only when both do not fit; what comes after has half of the room at least. */
const joined = (log: string, last: string, max: number): string =>
  Excerpt.fit(max, (budget) => {
    const shown = cut(last, Math.max(budget / 2, budget - Excerpt.size(log)))
    return cut(log, budget - Excerpt.size(shown)) + shown
  })

const logOf = ({ log, logLeft }: Ended): string =>
  logLeft === 0 ? log : `${log}\n${Excerpt.MARK} ${Excerpt.counted(logLeft, "more character")} logged and left out\n`

/** The outcome of the call of `run_code`: a returned string is the text, another value is structured. */
export const of = (ended: Ended, max: number): ToolOutcome => {
  const { outcome } = ended
  const log = logOf(ended)
  switch (outcome._tag) {
    case "Failed":
      return { _tag: "Failure", text: joined(log, outcome.message, max) }
    case "Nothing":
      return { _tag: "Success", text: log === "" ? "(the code returned nothing)" : joined(log, "", max) }
    case "Text":
      return { _tag: "Success", text: joined(log, outcome.text, max) }
    case "Json":
      return valued(log, outcome.json, max)
  }
}

const valued = (log: string, json: string, max: number): ToolOutcome => {
  const checked = Json.compact(json, { maxDepth: MOST_DEPTH })
  if (Result.isFailure(checked)) {
    return { _tag: "Failure", text: joined(log, `The returned value cannot be told: ${checked.failure.message}.`, max) }
  }
  const structured: JsonText = checked.success.text
  const whole = Redaction.protectResult({ text: log, structured }, max)
  return Result.isSuccess(whole) || whole.failure.rule !== "result_bytes"
    ? { _tag: "Success", text: log, structured }
    : { _tag: "Success", text: joined(log, `The returned value is too large to be told whole: ${structured}`, max) }
}
