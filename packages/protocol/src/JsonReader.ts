/**
 * The strict JSON reader behind `Json`: one pass over the text, three things to make of it.
 *
 * Rule: whatever is made of the text, the same texts are refused (FRM-5 to FRM-7): `tree` keeps everything, `plain` makes
 * data of the language, `skip` only checks and compacts. Nesting is bounded before it is entered, so recursion is too.
 */
import type * as Brand from "effect/Brand"
import { Buffer } from "node:buffer"

/** Compact JSON text, digits and key order as received (FRM-13). */
export type JsonText = string & Brand.Brand<"JsonText">

/** A number as it was written; `text` holds its digits (FRM-12). */
export class JsonNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A JSON value without loss: numbers keep their digits, objects are Maps and keep the order of all keys (FRM-12). */
export type JsonNode = null | boolean | string | JsonNumber | ReadonlyArray<JsonNode> | ReadonlyMap<string, JsonNode>

/** A value that was checked but not built; `depth` counts its containers, itself included, 0 for a scalar. */
export class Opaque {
  readonly text: JsonText
  readonly depth: number
  constructor(text: JsonText, depth: number) {
    this.text = text
    this.depth = depth
  }
}

/** Which rule of section 1 a text breaks. */
export type Rule = "syntax" | "duplicate_key" | "depth" | "surrogate" | "number"

/**
 * Why a text was refused; no `Error`, since it is expected and wants no stack.
 *
 * `offset` counts UTF-8 bytes, `path` names the innermost value that was being read (`a.b[2]`, empty for the root),
 * `message` never repeats the text.
 */
export class JsonFault {
  readonly rule: Rule
  readonly path: string
  readonly offset: number
  readonly message: string
  constructor(rule: Rule, path: string, offset: number, message: string) {
    this.rule = rule
    this.path = path
    this.offset = offset
    this.message = message
  }
}

/** The deepest nesting that any reader or writer here accepts, whatever it was asked for; keeps recursion safe. */
export const deepest = 1000

/** A step into an object as it stands in a path; long keys are cut, so that a message never repeats a payload. */
export const step = (key: string): string => {
  const clipped = key.length > 64 ? `${key.slice(0, 63).toWellFormed()}…` : key
  return clipped.startsWith("[") ? clipped : `.${clipped}`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Chooses the members that `plain` leaves unbuilt, by key and by the depth of the object that holds them. */
export type Choose = (key: string, depth: number) => boolean

const escapes: Record<string, string> = {
  __proto__: null,
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t"
} as never

/** Reads one text once. A method that meets a fault returns `undefined` (`skip`: -1) after noting it. */
export class Reader {
  private readonly text: string
  private readonly maxDepth: number
  private readonly opaque: Choose | undefined
  private at = 0
  private rule: Rule | undefined
  private message = ""
  private path = ""
  // What `skip` has compacted so far: `out` is final, `text` from `kept` on goes as it is.
  private out = ""
  private kept = 0
  // Keys of the objects that `skip` is in, as hashes of their characters; `starts` finds a key again.
  private hashes: Array<number> = []
  private starts: Array<number> = []
  private hash = 0

  constructor(text: string, maxDepth: number, opaque?: Choose) {
    this.text = text
    this.maxDepth = Math.min(maxDepth, deepest)
    this.opaque = opaque
  }

  /** The whole text as a lossless tree. */
  readTree(): JsonNode | undefined {
    if (!this.begin()) return undefined
    const node = this.tree(1)
    return node === undefined || !this.end() ? undefined : node
  }

  /** The whole text as data of the language. */
  readPlain(): unknown {
    if (!this.begin()) return undefined
    const value = this.plain(1)
    return value === undefined || !this.end() ? undefined : value
  }

  /** The whole text as compact text. */
  readOpaque(): Opaque | undefined {
    if (!this.begin()) return undefined
    const value = this.unbuilt(1)
    return value === undefined || !this.end() ? undefined : value
  }

  /** What was wrong, after a method returned nothing. */
  fault(): JsonFault {
    const path = this.path.startsWith(".") ? this.path.slice(1) : this.path
    const offset = Buffer.byteLength(this.text.slice(0, this.at), "utf8")
    return new JsonFault(this.rule ?? "syntax", path, offset, `${this.message} at byte ${offset}`)
  }

  private begin(): boolean {
    if (!this.text.isWellFormed()) {
      this.at = Math.max(0, this.text.toWellFormed().split("\ufffd", 1)[0]!.length)
      this.refuse("surrogate", "lone surrogate")
      return false
    }
    this.space()
    return true
  }

  private end(): boolean {
    this.space()
    if (this.at === this.text.length) return true
    this.refuse("syntax", "text after the value")
    return false
  }

  private refuse(rule: Rule, message: string): undefined {
    if (this.rule === undefined) {
      this.rule = rule
      this.message = message
    }
    return undefined
  }

  /** Adds a step to the path of a fault on the way out, and passes the fault on. */
  private inside(where: string | number): undefined {
    this.path = (typeof where === "number" ? `[${where}]` : step(where)) + this.path
    return undefined
  }

  private unexpected(expected: string): undefined {
    return this.refuse(
      "syntax",
      this.at >= this.text.length ? `text ends, expected ${expected}` : `expected ${expected}`
    )
  }

  private space(): void {
    const text = this.text
    const length = text.length
    let at = this.at
    while (at < length) {
      const c = text.charCodeAt(at)
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) break
      at++
    }
    this.at = at
  }

  /** The next character that is no white space; -1 at the end. */
  private peek(): number {
    const text = this.text
    if (this.at >= text.length) return -1
    const c = text.charCodeAt(this.at)
    if (c > 0x20) return c
    this.space()
    return this.at < text.length ? text.charCodeAt(this.at) : -1
  }

  // ---- lossless tree

  private tree(level: number): JsonNode | undefined {
    switch (this.peek()) {
      case QUOTE:
        return this.string()
      case 0x7b:
        return this.treeObject(level)
      case 0x5b:
        return this.treeArray(level)
      case 0x74:
        return this.word("true") ? true : undefined
      case 0x66:
        return this.word("false") ? false : undefined
      case 0x6e:
        return this.word("null") ? null : undefined
      default: {
        const start = this.at
        return this.number() ? new JsonNumber(this.text.slice(start, this.at)) : undefined
      }
    }
  }

  private treeObject(level: number): JsonNode | undefined {
    if (!this.enter(level)) return undefined
    const map = new Map<string, JsonNode>()
    if (this.peek() === 0x7d) {
      this.at++
      return map
    }
    for (;;) {
      const start = this.at
      const key = this.key()
      if (key === undefined) return undefined
      if (map.has(key)) return this.duplicate(start, key)
      const value = this.tree(level + 1)
      if (value === undefined) return this.inside(key)
      map.set(key, value)
      const more = this.more(0x7d, ", or }")
      if (more === 0) return map
      if (more < 0) return undefined
    }
  }

  private treeArray(level: number): JsonNode | undefined {
    if (!this.enter(level)) return undefined
    const items: Array<JsonNode> = []
    if (this.peek() === 0x5d) {
      this.at++
      return items
    }
    for (;;) {
      const value = this.tree(level + 1)
      if (value === undefined) return this.inside(items.length)
      items.push(value)
      const more = this.more(0x5d, ", or ]")
      if (more === 0) return items
      if (more < 0) return undefined
    }
  }

  // ---- data of the language

  private plain(level: number): unknown {
    switch (this.peek()) {
      case QUOTE:
        return this.string()
      case 0x7b:
        return this.plainObject(level)
      case 0x5b:
        return this.plainArray(level)
      case 0x74:
        return this.word("true") ? true : undefined
      case 0x66:
        return this.word("false") ? false : undefined
      case 0x6e:
        return this.word("null") ? null : undefined
      default: {
        const start = this.at
        return this.number() ? Number(this.text.slice(start, this.at)) : undefined
      }
    }
  }

  private plainObject(level: number): unknown {
    if (!this.enter(level)) return undefined
    const object: Record<string, unknown> = { __proto__: null } as never
    if (this.peek() === 0x7d) {
      this.at++
      return object
    }
    for (;;) {
      const start = this.at
      const key = this.key()
      if (key === undefined) return undefined
      if (key in object) return this.duplicate(start, key)
      const value = this.opaque !== undefined && this.opaque(key, level)
        ? this.unbuilt(level + 1)
        : this.plain(level + 1)
      if (value === undefined) return this.inside(key)
      object[key] = value
      const more = this.more(0x7d, ", or }")
      if (more === 0) return object
      if (more < 0) return undefined
    }
  }

  private plainArray(level: number): unknown {
    if (!this.enter(level)) return undefined
    const items: Array<unknown> = []
    if (this.peek() === 0x5d) {
      this.at++
      return items
    }
    for (;;) {
      const value = this.plain(level + 1)
      if (value === undefined) return this.inside(items.length)
      items.push(value)
      const more = this.more(0x5d, ", or ]")
      if (more === 0) return items
      if (more < 0) return undefined
    }
  }

  // ---- checked and compacted, not built

  private unbuilt(level: number): Opaque | undefined {
    this.peek()
    this.out = ""
    this.kept = this.at
    const deep = this.skip(level)
    if (deep < 0) return undefined
    return new Opaque((this.out + this.text.slice(this.kept, this.at)) as JsonText, deep)
  }

  /** Goes past one value; its depth in containers, or -1. */
  private skip(level: number): number {
    const c = this.text.charCodeAt(this.at)
    switch (c) {
      case QUOTE:
        return this.skipString() ? 0 : -1
      case 0x7b:
        return this.skipObject(level)
      case 0x5b:
        return this.skipArray(level)
      case 0x74:
        return this.word("true") ? 0 : -1
      case 0x66:
        return this.word("false") ? 0 : -1
      case 0x6e:
        return this.word("null") ? 0 : -1
      default:
        return this.number() ? 0 : -1
    }
  }

  private skipObject(level: number): number {
    if (!this.enter(level)) return -1
    if (this.tight() === 0x7d) {
      this.at++
      return 1
    }
    const first = this.hashes.length
    let known: Set<string> | undefined
    let deep = 0
    for (;;) {
      const start = this.at
      if (this.tight() !== QUOTE) {
        this.unexpected("a key")
        return -1
      }
      if (!this.skipString()) return -1
      const hash = this.hash
      if (known !== undefined) {
        const key = this.keyAt(start)
        if (known.has(key)) {
          this.duplicate(start, key)
          return -1
        }
        known.add(key)
      } else {
        for (let i = first; i < this.hashes.length; i++) {
          if (this.hashes[i] === hash && this.keyAt(this.starts[i]!) === this.keyAt(start)) {
            this.duplicate(start, this.keyAt(start))
            return -1
          }
        }
        this.hashes.push(hash)
        this.starts.push(start)
        // Comparing each with each is fast for the few keys that most objects have, and only for them.
        if (this.hashes.length - first > 16) {
          known = new Set()
          for (let i = first; i < this.starts.length; i++) known.add(this.keyAt(this.starts[i]!))
        }
      }
      if (this.tight() !== 0x3a) {
        this.unexpected(":")
        return -1
      }
      this.at++
      this.tight()
      const inner = this.skip(level + 1)
      if (inner < 0) {
        this.inside(this.keyAt(start))
        return -1
      }
      if (inner > deep) deep = inner
      const c = this.tight()
      if (c === 0x2c) {
        this.at++
        this.tight()
      } else if (c === 0x7d) {
        this.at++
        this.hashes.length = first
        this.starts.length = first
        return deep + 1
      } else {
        this.unexpected(", or }")
        return -1
      }
    }
  }

  private skipArray(level: number): number {
    if (!this.enter(level)) return -1
    if (this.tight() === 0x5d) {
      this.at++
      return 1
    }
    let deep = 0
    for (let index = 0;; index++) {
      const inner = this.skip(level + 1)
      if (inner < 0) {
        this.inside(index)
        return -1
      }
      if (inner > deep) deep = inner
      const c = this.tight()
      if (c === 0x2c) {
        this.at++
        this.tight()
      } else if (c === 0x5d) {
        this.at++
        return deep + 1
      } else {
        this.unexpected(", or ]")
        return -1
      }
    }
  }

  /** Like `peek`, and leaves white space out of the compact text. */
  private tight(): number {
    const c = this.at < this.text.length ? this.text.charCodeAt(this.at) : -1
    if (c > 0x20 || c === -1) return c
    this.out += this.text.slice(this.kept, this.at)
    this.space()
    this.kept = this.at
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1
  }

  /** Goes past a string, hashes its characters, and rewrites escapes that `JSON.stringify` would write otherwise. */
  private skipString(): boolean {
    const text = this.text
    const length = text.length
    let at = this.at + 1
    let hash = 0
    while (at < length) {
      const c = text.charCodeAt(at)
      if (c === QUOTE) {
        this.at = at + 1
        this.hash = hash
        return true
      }
      if (c < 0x20) break
      if (c === BACKSLASH) {
        this.at = at
        const code = this.escape()
        if (code < 0) return false
        const end = this.at
        const written = code > 0xffff ? String.fromCodePoint(code) : canonicalEscape(code)
        if (end - at !== written.length || !text.startsWith(written, at)) {
          this.out += text.slice(this.kept, at) + written
          this.kept = end
        }
        // Hashed by code units, as a raw spelling of the same key is.
        if (code > 0xffff) {
          hash = (Math.imul(hash, 31) + 0xd7c0 + (code >> 10)) | 0
          hash = (Math.imul(hash, 31) + 0xdc00 + (code & 0x3ff)) | 0
        } else hash = (Math.imul(hash, 31) + code) | 0
        at = end
      } else {
        hash = (Math.imul(hash, 31) + c) | 0
        at++
      }
    }
    this.at = at
    this.refuse("syntax", at >= length ? "text ends in a string" : "bare control character in a string")
    return false
  }

  /** The key that begins at a quote and is known to be well-formed. */
  private keyAt(start: number): string {
    const back = this.at
    this.at = start
    const key = this.string()!
    this.at = back
    return key
  }

  // ---- shared by all three

  private enter(level: number): boolean {
    if (level > this.maxDepth) {
      this.refuse("depth", `more than ${this.maxDepth} containers`)
      return false
    }
    this.at++
    return true
  }

  private duplicate(start: number, key: string): undefined {
    this.at = start
    this.refuse("duplicate_key", "duplicate key")
    return this.inside(key)
  }

  private key(): string | undefined {
    if (this.peek() !== QUOTE) return this.unexpected("a key")
    const key = this.string()
    if (key === undefined) return undefined
    if (this.peek() !== 0x3a) return this.unexpected(":")
    this.at++
    return key
  }

  /** After a member or item: 1 there is more, 0 the container is closed, -1 a fault. */
  private more(close: number, expected: string): number {
    const c = this.peek()
    if (c === 0x2c) {
      this.at++
      this.peek()
      return 1
    }
    if (c === close) {
      this.at++
      return 0
    }
    this.unexpected(expected)
    return -1
  }

  private word(word: string): boolean {
    if (this.text.startsWith(word, this.at)) {
      this.at += word.length
      return true
    }
    this.unexpected("a value")
    return false
  }

  /** The string that begins at the quote under `at`. */
  private string(): string | undefined {
    const text = this.text
    const length = text.length
    let at = this.at + 1
    let start = at
    let value = ""
    while (at < length) {
      const c = text.charCodeAt(at)
      if (c === QUOTE) {
        this.at = at + 1
        return value === "" ? text.slice(start, at) : value + text.slice(start, at)
      }
      if (c < 0x20) break
      if (c === BACKSLASH) {
        this.at = at
        const code = this.escape()
        if (code < 0) return undefined
        value += text.slice(start, at) + String.fromCodePoint(code)
        at = start = this.at
      } else at++
    }
    this.at = at
    return this.refuse("syntax", at >= length ? "text ends in a string" : "bare control character in a string")
  }

  /** The code point of the escape (or the pair of them) at a backslash; -1 after a fault. */
  private escape(): number {
    const text = this.text
    const at = this.at
    switch (text.charCodeAt(at + 1)) {
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
        const low = unit < 0xdc00 && text.startsWith("\\u", at + 6) ? this.hex(at + 8) : -1
        if (low >= 0xdc00 && low <= 0xdfff) return this.past(12, ((unit - 0xd800) << 10) + (low - 0xdc00) + 0x10000)
        this.refuse("surrogate", "lone surrogate escape")
        return -1
      }
      default:
    }
    this.refuse("syntax", "bad escape")
    return -1
  }

  private past(length: number, code: number): number {
    this.at += length
    return code
  }

  private hex(at: number): number {
    let code = 0
    for (let i = at; i < at + 4; i++) {
      const c = this.text.charCodeAt(i)
      const digit = c >= 0x30 && c <= 0x39
        ? c - 0x30
        : c >= 0x61 && c <= 0x66
        ? c - 0x57
        : c >= 0x41 && c <= 0x46
        ? c - 0x37
        : -1
      if (digit < 0) return -1
      code = code * 16 + digit
    }
    return code
  }

  /** Goes past a number that is finite as a double. */
  private number(): boolean {
    const text = this.text
    const start = this.at
    let at = start
    if (text.charCodeAt(at) === 0x2d) at++
    const first = at
    at = this.digits(at)
    if (at === first) {
      this.at = at
      this.unexpected(at === start ? "a value" : "a digit")
      return false
    }
    if (at - first > 1 && text.charCodeAt(first) === 0x30) {
      this.at = first
      this.refuse("syntax", "a number begins with 0")
      return false
    }
    let exponent = false
    if (text.charCodeAt(at) === 0x2e) {
      const from = at + 1
      at = this.digits(from)
      if (at === from) return this.lacksDigit(at)
    }
    const c = text.charCodeAt(at)
    if (c === 0x65 || c === 0x45) {
      exponent = true
      at++
      const sign = text.charCodeAt(at)
      if (sign === 0x2b || sign === 0x2d) at++
      const from = at
      at = this.digits(from)
      if (at === from) return this.lacksDigit(at)
    }
    if ((exponent || at - start > 300) && !Number.isFinite(Number(text.slice(start, at)))) {
      this.refuse("number", "a number that is not finite")
      return false
    }
    this.at = at
    return true
  }

  private lacksDigit(at: number): boolean {
    this.at = at
    this.unexpected("a digit")
    return false
  }

  private digits(from: number): number {
    const text = this.text
    let at = from
    for (;;) {
      const c = text.charCodeAt(at)
      if (!(c >= 0x30 && c <= 0x39)) return at
      at++
    }
  }
}

/** A character as `JSON.stringify` writes it inside a string. */
const canonicalEscape = (code: number): string => {
  const character = String.fromCharCode(code)
  if (code === QUOTE) return "\\\""
  if (code === BACKSLASH) return "\\\\"
  if (code >= 0x20) return character
  return escapes[character] ?? `\\u${code.toString(16).padStart(4, "0")}`
}
