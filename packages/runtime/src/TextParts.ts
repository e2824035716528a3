/**
 * Long texts cut into parts that fit an event and a history entry (SES-6, TRN-3).
 *
 * Rule: parts are cut between characters, and joined they are the text.
 */

/** The largest part: UTF-8 bytes, and bytes as a compact JSON string (SES-6, FRM-13). */
export const PART_BYTES = 16_384
export const PART_COMPACT_BYTES = 30_000

/** What the quotes leave of it. */
const COMPACT_ROOM = PART_COMPACT_BYTES - 2

/** UTF-8 bytes of one code point. */
const utf8 = (point: number): number => point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4

/** Bytes of one code point inside a compact JSON string. */
const compact = (point: number): number => {
  if (point === 0x22 || point === 0x5c) return 2
  if (point >= 0x20) return utf8(point)
  return point === 8 || point === 9 || point === 10 || point === 12 || point === 13 ? 2 : 6
}

/** The parts of a text, in order; none for the empty text. */
export const split = (text: string): ReadonlyArray<string> => {
  if (text.length * 6 <= PART_BYTES) return text === "" ? [] : [text]
  const parts: Array<string> = []
  let from = 0
  let bytes = 0
  let compactBytes = 0
  for (let at = 0; at < text.length;) {
    const point = text.codePointAt(at)!
    const more = utf8(point)
    const compactMore = compact(point)
    if (bytes + more > PART_BYTES || compactBytes + compactMore > COMPACT_ROOM) {
      parts.push(text.slice(from, at))
      from = at
      bytes = compactBytes = 0
    }
    bytes += more
    compactBytes += compactMore
    at += point > 0xffff ? 2 : 1
  }
  parts.push(text.slice(from))
  return parts
}
