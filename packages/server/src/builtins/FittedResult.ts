/**
 * A result of a tool of ours, within the bound of all results (BLT-1).
 *
 * Rule: what is left out is said in the text; a structured value comes whole or, cut, as text.
 */
import type { JsonText } from "@errand/protocol"
import { Redaction } from "@errand/runtime"
import * as Result from "effect/Result"
import * as Excerpt from "./Excerpt.ts"

/** Bytes kept for a line that says what was left out. */
const NOTICE_BYTES = 64

const cut = (text: string, budget: number): string => {
  const bytes = Excerpt.size(text)
  if (bytes <= budget) return text
  const kept = Excerpt.head(text, Math.max(0, budget - NOTICE_BYTES))
  return `${kept}\n${Excerpt.MARK} ${Excerpt.counted(bytes - Excerpt.size(kept), "byte")} left out\n`
}

/** Two texts, one after the other, each cut only when both do not fit; the second has half of the room at least. */
export const texts = (first: string, second: string, max: number): string =>
  Excerpt.fit(max, (budget) => {
    const shown = cut(second, Math.max(budget / 2, budget - Excerpt.size(first)))
    return cut(first, budget - Excerpt.size(shown)) + shown
  })

/** A text and perhaps a structured value. What protection refuses for another reason than size is left to it (PRO-5). */
export const of = (
  text: string,
  structured: JsonText | undefined,
  max: number
): { readonly text: string; readonly structured?: JsonText } => {
  if (structured === undefined) return { text: texts(text, "", max) }
  const whole = Redaction.protectResult({ text, structured }, max)
  return Result.isSuccess(whole) || whole.failure.rule !== "result_bytes"
    ? { text, structured }
    : { text: texts(text, `The structured value is too large to be told whole: ${structured}`, max) }
}
