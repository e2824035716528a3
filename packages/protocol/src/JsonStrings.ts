/**
 * The strings and keys of JSON, read once and strictly (FRM-6, FRM-7).
 *
 * Rule: a string is looked at by machine code where that pays: our own loop for short ones, a compiled regular expression
 * or the native reader for long ones; each judges alike.
 */
import * as Result from "effect/Result"
import { Scanner } from "./JsonScanner.ts"

const QUOTE = 0x22
const BACKSLASH = 0x5c

// Longer strings are left to the regular expression, which is compiled to machine code that beats any loop of ours.
const nearby = 24
const plainRun = /[^"\\\u0000-\u001f]*/y
const canonicalRun = /[^"\\\u0000-\u001f]*(?:\\["\\bfnrt][^"\\\u0000-\u001f]*)*/y

// Short keys met before, by hash: the same few keys come in every frame, and need not be cut out of it again. Up to 12
// characters a piece of a text is a copy, so that nothing here keeps a frame alive.
const metKeys: Array<string> = Array.from({ length: 256 }, () => "")
const metLength = 12

const shortEscapes: ReadonlyMap<number, string> = new Map([
  [0x22, "\\\""],
  [0x5c, "\\\\"],
  [8, "\\b"],
  [9, "\\t"],
  [10, "\\n"],
  [12, "\\f"],
  [13, "\\r"]
])

/** A character as `JSON.stringify` writes it inside a string. */
const written = (code: number): string =>
  shortEscapes.get(code) ?? (code < 0x20 ? `\\u${code.toString(16).padStart(4, "0")}` : String.fromCodePoint(code))

const hashOf = (key: string): number => {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  return hash
}

/** A scanner that reads strings. */
export class Strings extends Scanner {
  /** The hash of the key that was read last: equal for equal keys, however they are escaped. */
  protected hash = 0

  /** Where the characters end that stand for themselves; the first few are looked at here. */
  private run(from: number): number {
    const text = this.text
    const near = Math.min(from + nearby, text.length)
    let at = from
    while (at < near) {
      const c = text.charCodeAt(at)
      if (c === QUOTE || c === BACKSLASH || c < 0x20) return at
      at++
    }
    if (at === text.length) return at
    plainRun.lastIndex = at
    plainRun.test(text)
    return plainRun.lastIndex
  }

  private endsInString(at: number): undefined {
    this.at = at
    return this.refuse(
      "syntax",
      at >= this.text.length ? "the text ends in a string" : "a bare control character in a string"
    )
  }

  /** The string that begins at the quote under `at`. */
  protected string(): string | undefined {
    const text = this.text
    const first = this.at
    let start = first + 1
    let value = ""
    for (;;) {
      const at = this.run(start)
      const c = text.charCodeAt(at)
      if (c === QUOTE) {
        this.at = at + 1
        return value === "" ? text.slice(start, at) : value + text.slice(start, at)
      }
      if (c !== BACKSLASH) return this.endsInString(at)
      if (value === "") {
        const whole = this.longString(first, at)
        if (whole !== undefined) return whole
      }
      this.at = at
      const code = this.escape()
      if (code < 0) return undefined
      value += text.slice(start, at) + String.fromCodePoint(code)
      start = this.at
    }
  }

  /** A long string with escapes, unescaped natively; nothing when it is short, or has a fault that we must name. */
  private longString(first: number, from: number): string | undefined {
    const text = this.text
    let end = text.indexOf("\"", from)
    for (let before = end - 1; end >= 0; before = end - 1) {
      while (text.charCodeAt(before) === BACKSLASH) before--
      if ((end - before) % 2 === 1) break
      end = text.indexOf("\"", end + 1)
    }
    if (end - from < nearby * 4) return undefined
    const value = Result.try((): string => JSON.parse(text.slice(first, end + 1)))
    if (Result.isFailure(value) || !value.success.isWellFormed()) return undefined
    this.at = end + 1
    return value.success
  }

  /** Goes past a string and rewrites escapes that `JSON.stringify` would write otherwise. */
  protected skipString(): boolean {
    const text = this.text
    let start = this.at + 1
    for (;;) {
      const at = this.run(start)
      const c = text.charCodeAt(at)
      if (c === QUOTE) {
        this.at = at + 1
        return true
      }
      if (c !== BACKSLASH) {
        this.endsInString(at)
        return false
      }
      canonicalRun.lastIndex = at
      canonicalRun.test(text)
      this.at = start = canonicalRun.lastIndex
      if (start > at) continue
      const code = this.escape()
      if (code < 0) return false
      start = this.at
      const canonical = written(code)
      if (start - at !== canonical.length || !text.startsWith(canonical, at)) {
        this.out += text.slice(this.kept, at) + canonical
        this.kept = start
      }
    }
  }

  /** The key that begins at the quote under `at`; sets `hash`. */
  protected key(): string | undefined {
    const text = this.text
    const start = this.at + 1
    const end = this.hashTo(start)
    if (end < 0) {
      const key = this.string()
      if (key !== undefined) this.hash = hashOf(key)
      return key
    }
    this.at = end + 1
    const length = end - start
    const slot = this.hash & 255
    const met = metKeys[slot]!
    if (met.length === length && text.startsWith(met, start)) return met
    const key = text.slice(start, end)
    if (length <= metLength) metKeys[slot] = key
    return key
  }

  /** Goes past a key as `skipString` does; sets `hash`. */
  protected skipKey(): boolean {
    const start = this.at
    const end = this.hashTo(start + 1)
    if (end >= 0) {
      this.at = end + 1
      return true
    }
    if (!this.skipString()) return false
    this.hash = hashOf(this.stringAt(start))
    return true
  }

  /** The end of a string without escapes, its characters hashed; -1 when it is not so simple. */
  private hashTo(from: number): number {
    const text = this.text
    const length = text.length
    let hash = 0
    for (let at = from; at < length; at++) {
      const c = text.charCodeAt(at)
      if (c === QUOTE) {
        this.hash = hash
        return at
      }
      if (c === BACKSLASH || c < 0x20) return -1
      hash = (Math.imul(hash, 31) + c) | 0
    }
    return -1
  }

  /** The string that begins at a quote and was read before. */
  protected stringAt(start: number): string {
    const back = this.at
    this.at = start
    const value = this.string()!
    this.at = back
    return value
  }

  /** The code point of the escape (or the pair of them) at a backslash; -1 after a fault. */
  private escape(): number {
    const at = this.at
    switch (this.text.charCodeAt(at + 1)) {
      case QUOTE:
        return this.past(2, QUOTE)
      case BACKSLASH:
        return this.past(2, BACKSLASH)
      case 0x2f:
        return this.past(2, 0x2f)
      case 0x62:
        return this.past(2, 8)
      case 0x66:
        return this.past(2, 12)
      case 0x6e:
        return this.past(2, 10)
      case 0x72:
        return this.past(2, 13)
      case 0x74:
        return this.past(2, 9)
      case 0x75: {
        const unit = this.hex(at + 2)
        if (unit < 0) break
        if (unit < 0xd800 || unit > 0xdfff) return this.past(6, unit)
        const low = unit < 0xdc00 && this.text.startsWith("\\u", at + 6) ? this.hex(at + 8) : -1
        if (low >= 0xdc00 && low <= 0xdfff) return this.past(12, ((unit - 0xd800) << 10) + (low - 0xdc00) + 0x10000)
        this.refuse("surrogate", "a lone surrogate escape")
        return -1
      }
      default:
    }
    this.refuse("syntax", "a bad escape")
    return -1
  }

  private past(length: number, code: number): number {
    this.at += length
    return code
  }

  private hex(from: number): number {
    let code = 0
    for (let at = from; at < from + 4; at++) {
      const c = this.text.charCodeAt(at)
      const letter = c | 0x20
      if (c >= 0x30 && c <= 0x39) code = code * 16 + c - 0x30
      else if (letter >= 0x61 && letter <= 0x66) code = code * 16 + letter - 0x57
      else return -1
    }
    return code
  }
}
