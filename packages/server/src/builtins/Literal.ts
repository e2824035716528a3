/**
 * Where some bytes occur in others.
 *
 * Rule: time is linear in the bytes searched, whatever the pattern. `Buffer.indexOf` is fast, but its worst case grows
 * with the pattern's length, so long patterns are found by Knuth, Morris and Pratt's algorithm instead.
 */

/** Bytes of the longest pattern that `Buffer.indexOf` is trusted with. */
const SHORT_BYTES = 32

/** Finds the first occurrence from an index on, or -1. */
export type Find = (content: Buffer, from: number) => number

/** A search for `pattern`, which is not empty. */
export const find = (pattern: Buffer): Find => {
  if (pattern.length <= SHORT_BYTES) return (content, from) => content.indexOf(pattern, from)
  const borders = bordersOf(pattern)
  return (content, from) => {
    let matched = 0
    for (let at = from; at < content.length; at++) {
      const byte = content[at]!
      while (matched > 0 && pattern[matched] !== byte) matched = borders[matched - 1]!
      if (pattern[matched] === byte) matched++
      if (matched === pattern.length) return at + 1 - matched
    }
    return -1
  }
}

/** For each beginning of a pattern, the length of the longest shorter beginning that is also its end. */
const bordersOf = (pattern: Buffer): Uint16Array => {
  const borders = new Uint16Array(pattern.length)
  let border = 0
  for (let at = 1; at < pattern.length; at++) {
    while (border > 0 && pattern[border] !== pattern[at]) border = borders[border - 1]!
    if (pattern[border] === pattern[at]) border++
    borders[at] = border
  }
  return borders
}
