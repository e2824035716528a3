/**
 * Text that fits a byte budget (BLT-1).
 *
 * Rule: a cut falls between characters, never inside one, and whoever cuts says in the text what was left out.
 */

import { Redaction } from "@errand/runtime"
import * as Result from "effect/Result"

const encoder = new TextEncoder()

/** Protection makes a text at most this many times as long: a control character of one byte becomes three (PRO-4). */
const GROWTH = 3

/** The mark that starts every line that tells what was left out. */
export const MARK = "…"

/** UTF-8 bytes of a text. */
export const size = (text: string): number => Buffer.byteLength(text)

/** A count as people read it: `12,345`. */
export const count = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")

/** A count with its noun: `1 line`, `2 lines`. */
export const counted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : plural}`

/** Whether a byte goes on with a character that an earlier byte began. */
export const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The longest beginning of UTF-8 `bytes` that is at most `budget` bytes long and cuts no character. */
export const headEnd = (bytes: Uint8Array, budget: number): number => {
  if (bytes.length <= budget) return bytes.length
  let end = Math.max(0, budget)
  while (end > 0 && budget - end < 3 && continues(bytes[end])) end--
  return end
}

/** Where the longest end of UTF-8 `bytes` that is at most `budget` bytes long and cuts no character starts. */
export const tailStart = (bytes: Uint8Array, budget: number): number => {
  if (bytes.length <= budget) return 0
  const earliest = bytes.length - Math.max(0, budget)
  let start = earliest
  while (start < bytes.length && start - earliest < 3 && continues(bytes[start])) start++
  return start
}

/** The longest beginning of a text within `budget` bytes. */
export const head = (text: string, budget: number): string => {
  if (text.length * 3 <= budget) return text
  const bytes = encoder.encode(text)
  return bytes.length <= budget ? text : Buffer.from(bytes.subarray(0, headEnd(bytes, budget))).toString("utf8")
}

/** The longest end of a text within `budget` bytes. */
export const tail = (text: string, budget: number): string => {
  if (text.length * 3 <= budget) return text
  const bytes = encoder.encode(text)
  return bytes.length <= budget ? text : Buffer.from(bytes.subarray(tailStart(bytes, budget))).toString("utf8")
}

/** A text cut to `characters` UTF-16 units for a person, with the rest counted. */
export const clip = (text: string, characters: number): string => {
  if (text.length <= characters) return text
  const last = text.charCodeAt(characters - 1)
  const end = last >= 0xd800 && last <= 0xdbff ? characters - 1 : characters
  return `${text.slice(0, end)}${MARK} (${counted(text.length - end, "more character")})`
}

/** A name as one line: quoted like a JSON string when it holds control characters or quotes. */
export const oneLine = (name: string): string =>
  /[\u0000-\u001f\u007f-\u009f"]/.test(name) ? JSON.stringify(name) : name

/** What was left out of some lines: whole lines, and bytes of the first line when it alone was too long. */
export interface Left {
  readonly rest: number
  readonly cut: number
}

/**
 * The lines that fit `budget` bytes with their line breaks; a first line that is longer than the whole budget is cut.
 */
export const lines = (
  all: ReadonlyArray<string>,
  budget: number
): Left & { readonly text: string } => {
  let used = 0
  let kept = 0
  while (kept < all.length) {
    const bytes = size(all[kept]!)
    if (used + bytes > budget) break
    used += bytes
    kept++
  }
  if (kept > 0 || all.length === 0) return { text: all.slice(0, kept).join(""), rest: all.length - kept, cut: 0 }
  const first = head(all[0]!, budget)
  return { text: first, rest: all.length - 1, cut: size(all[0]!) - size(first) }
}

const withNotices = (text: string, notices: ReadonlyArray<string>): string =>
  notices.length === 0
    ? text
    : `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${
      notices.map((notice) => `${MARK} ${notice}`).join("\n")
    }`

/** The lines that fit `budget` bytes, with lines below that say what was left out, for which `reserve` bytes are kept. */
export const listing = (
  all: ReadonlyArray<string>,
  budget: number,
  reserve: number,
  notices: (left: Left) => ReadonlyArray<string>
): string => {
  const whole = lines(all, budget)
  if (notices(whole).length === 0) return whole.text
  const part = lines(all, budget - reserve)
  return withNotices(part.text, notices(part))
}

/**
 * A text of at most `max` bytes, also once it is protected (PRO-5); `render` keeps the budget it is given.
 *
 * The pipeline protects what tools tell, and a result that grows beyond the bound there would be rejected whole.
 */
export const fit = (max: number, render: (budget: number) => string): string => {
  const text = render(max)
  return Result.isSuccess(Redaction.protectResult({ text }, max)) ? text : render(Math.floor(max / GROWTH))
}
