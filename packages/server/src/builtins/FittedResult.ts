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

/** The beginning of a text that fits, and how many bytes are missing; `left` are missing already. */
const cut = (text: string, budget: number, left = 0): string => {
  const bytes = Excerpt.size(text)
  if (left === 0 && bytes <= budget) return text
  const kept = Excerpt.head(text, Math.max(0, budget - NOTICE_BYTES))
  return `${kept}\n${Excerpt.MARK} ${Excerpt.counted(bytes - Excerpt.size(kept) + left, "byte")} left out\n`
}

/**
 * Two texts, one after the other, each cut only when both do not fit; the second has half of the room at least. `left` bytes
 * of the first are missing already.
 */
export const texts = (first: string, second: string, max: number, left = 0): string =>
  Excerpt.fit(max, (budget) => {
    const shown = cut(second, Math.max(budget / 2, budget - Excerpt.size(first)))
    return cut(first, budget - Excerpt.size(shown), left) + shown
  })

/**
 * A text, of which `left` bytes are missing already, and perhaps a structured value. What protection refuses for another
 * reason than size is left to it (PRO-5).
 */
export const of = (
  text: string,
  structured: JsonText | undefined,
  max: number,
  left = 0
): { readonly text: string; readonly structured?: JsonText } => {
  if (structured === undefined) return { text: texts(text, "", max, left) }
  // a value that leaves half of the room stays one, and the text is cut
  const room = max - Excerpt.size(structured)
  const keeps = room >= max / 2
  const short = keeps ? texts(text, "", room, left) : text
  const whole = Redaction.protectResult({ text: short, structured }, max)
  const fits = Result.isSuccess(whole) ? keeps || left === 0 : whole.failure.rule !== "result_bytes"
  return fits
    ? { text: short, structured }
    : { text: texts(text, `The structured value is too large to be told whole: ${structured}`, max, left) }
}
