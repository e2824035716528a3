/**
 * Whether protection would leave a text as it is, told in one pass over its characters (PRO-3, PRO-4, PRO-6).
 *
 * Rule: `true` is certain, and most texts get it here. Each character is classified once; only where one of the few that
 * secrets cannot do without stands is more looked at, and the exact rules are asked when something is suspicious.
 */
import { Buffer } from "node:buffer"
import * as ControlText from "./ControlText.ts"
import * as SecretPairs from "./SecretPairs.ts"
import * as SecretPatterns from "./SecretPatterns.ts"

/** What a UTF-16 code unit can begin or end; 0 is nothing. */
const UNSAFE = 1
const SURROGATE = 2
const BACKSLASH = 3
const DASH = 4
const UNDERSCORE = 5
const K = 6
const I = 7
const J = 8
const B = 9
const AT = 10
const COLON = 11
const EQUALS = 12

const kinds = new Uint8Array(65_536)
for (const [from, to] of ControlText.unsafeRanges) kinds.fill(UNSAFE, from, to + 1)
kinds.fill(SURROGATE, 0xd800, 0xe000)
for (
  const [characters, kind] of [
    ["\\", BACKSLASH],
    ["-", DASH],
    ["_", UNDERSCORE],
    ["K", K],
    ["I", I],
    ["J", J],
    ["bB", B],
    ["@", AT],
    [":", COLON],
    ["=", EQUALS]
  ] as const
) for (const character of characters) kinds[character.charCodeAt(0)] = kind

/** Longer texts get a copy of their own. */
const SCRATCH_UNITS = 32_768
const scratch = new Uint16Array(SCRATCH_UNITS + 1)
const scratchBytes = Buffer.from(scratch.buffer)

/** The code units of a text with a 0 behind them, at which every scan stops. */
const unitsOf = (text: string): Uint16Array => {
  const fits = text.length <= SCRATCH_UNITS
  const units = fits ? scratch : new Uint16Array(text.length + 1)
  const bytes = fits ? scratchBytes : Buffer.from(units.buffer)
  bytes.write(text, "utf16le")
  units[text.length] = 0
  return units
}

const isAt = (units: Uint16Array, from: number, word: string): boolean => {
  if (from < 0) return false
  for (let i = 0; i < word.length; i++) if (units[from + i] !== word.charCodeAt(i)) return false
  return true
}

/** Behind these a scan of JSON text could overlook what the decoded string shows. */
const isOpaqueEscape = (units: Uint16Array, at: number): boolean => {
  switch (units[at + 1]) {
    case 0x75: // u
    case 0x62: // b
    case 0x66: // f
    case 0x2f: // /
      return true
    case 0x74: { // t
      let next = at + 2
      while (units[next] === 0x20) next++
      const code = units[next]!
      return code === 0x3a || code === 0x3d || code === 0x5c || code === 0x5d || code === 0x27 || code === 0x60
    }
    default:
      return false
  }
}

/** `bearer` or `basic`, as far as its first five letters tell. */
const beginsScheme = (units: Uint16Array, at: number): boolean => {
  const letter = (i: number) => units[at + i]! | 0x20
  return letter(1) === 0x65 // bear
    ? letter(2) === 0x61 && letter(3) === 0x72
    : letter(1) === 0x61 && letter(2) === 0x73 && letter(3) === 0x69 // basi
}

/** Whether a text without escapes would be protected to itself. */
export const isClean = (text: string): boolean => look(text, false)

/** Whether compact JSON text would be: its strings are looked at as they are escaped, keys and values alike. */
export const isCleanJson = (json: string): boolean => look(json, true)

const look = (text: string, escaped: boolean): boolean => {
  const units = unitsOf(text)
  let shape = false
  let scheme = false
  let sign = false
  let url = false
  for (let at = 0;; at++) {
    let kind: number
    while ((kind = kinds[units[at]!]!) === 0) at++
    switch (kind) {
      case UNSAFE:
        if (at < text.length) return false
        return !(shape && SecretPatterns.shapes.test(text)) && !(scheme && SecretPatterns.scheme.test(text)) &&
          !(sign && url && SecretPatterns.nextUrlPassword(text, 0) !== undefined)
      case SURROGATE:
        if (units[at]! >= 0xdc00 || (units[at + 1]! & 0xfc00) !== 0xdc00) return false
        at++
        break
      case BACKSLASH:
        if (!escaped) break
        if (isOpaqueEscape(units, at)) return false
        at++
        break
      case DASH:
        if (isAt(units, at, SecretPatterns.pemStart)) return false
        if (isAt(units, at - 2, "sk") || isAt(units, at - 4, "xox") || isAt(units, at - 5, "glpat")) shape = true
        break
      case UNDERSCORE:
        if (isAt(units, at - 3, "ghp") || isAt(units, at - 4, "_pat")) shape = true
        break
      case K:
        if (isAt(units, at - 1, "AKIA")) shape = true
        break
      case I:
        if (isAt(units, at - 1, "AIza")) shape = true
        break
      case J:
        if (isAt(units, at - 2, "ey")) return false
        break
      case B:
        if (beginsScheme(units, at)) scheme = true
        break
      case AT:
        sign = true
        break
      case COLON:
        if (units[at + 1] === 0x2f) url = true
        if (SecretPairs.hasCredentialKey(text, at)) return false
        break
      case EQUALS:
        if (SecretPairs.hasCredentialKey(text, at)) return false
    }
  }
}
