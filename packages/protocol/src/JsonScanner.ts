/**
 * A position in a JSON text: white space, words, numbers, and what is wrong (FRM-7).
 *
 * Rule: a method that meets a fault notes it and returns nothing (or -1, or false); the first fault stays.
 */
import { Buffer } from "node:buffer"

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

/** A step into an object as it stands in a path; long keys are cut, so that a message never repeats a payload. */
export const step = (key: string): string => {
  const clipped = key.length > 64 ? `${key.slice(0, 63).toWellFormed()}…` : key
  return `.${clipped}`
}

/** A position in a text, and what can be read there. */
export class Scanner {
  protected readonly text: string
  protected at = 0
  /** What was compacted so far: `out` is final, and the text from `kept` on goes as it is. */
  protected out = ""
  protected kept = 0
  private rule: Rule | undefined
  private message = ""
  private path = ""

  constructor(text: string) {
    this.text = text
  }

  /** What was wrong, after a method returned nothing. */
  fault(): JsonFault {
    const path = this.path.startsWith(".") ? this.path.slice(1) : this.path
    const offset = Buffer.byteLength(this.text.slice(0, this.at), "utf8")
    return new JsonFault(this.rule ?? "syntax", path, offset, `${this.message} at byte ${offset}`)
  }

  protected refuse(rule: Rule, message: string): undefined {
    if (this.rule === undefined) {
      this.rule = rule
      this.message = message
    }
    return undefined
  }

  protected expected(what: string): undefined {
    return this.refuse("syntax", this.at >= this.text.length ? `the text ends, expected ${what}` : `expected ${what}`)
  }

  /** Adds a step to the path of a fault on its way out. */
  protected inside(where: string | number): undefined {
    this.path = (typeof where === "number" ? `[${where}]` : step(where)) + this.path
    return undefined
  }

  /** Refuses characters that UTF-8 cannot hold. */
  protected wellFormed(): boolean {
    if (this.text.isWellFormed()) return true
    const whole = this.text.toWellFormed()
    while (this.text.charCodeAt(this.at) === whole.charCodeAt(this.at)) this.at++
    this.refuse("surrogate", "a lone surrogate")
    return false
  }

  /** The next character that is no white space; -1 at the end. */
  protected peek(): number {
    const c = this.at < this.text.length ? this.text.charCodeAt(this.at) : -1
    return c > 0x20 || c === -1 ? c : this.space()
  }

  /** Like `peek`, and leaves white space out of the compact text. */
  protected tight(): number {
    const c = this.at < this.text.length ? this.text.charCodeAt(this.at) : -1
    if (c > 0x20 || c === -1) return c
    this.out += this.text.slice(this.kept, this.at)
    const next = this.space()
    this.kept = this.at
    return next
  }

  private space(): number {
    const text = this.text
    let at = this.at
    while (at < text.length) {
      const c = text.charCodeAt(at)
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) {
        this.at = at
        return c
      }
      at++
    }
    this.at = at
    return -1
  }

  protected word(word: string): boolean {
    if (!this.text.startsWith(word, this.at)) {
      this.expected("a value")
      return false
    }
    this.at += word.length
    return true
  }

  /** Goes past a number that is finite as a double. */
  protected number(): boolean {
    const text = this.text
    const start = this.at
    const first = text.charCodeAt(start) === 0x2d ? start + 1 : start
    if (!this.digits(first, first === start ? "a value" : "a digit")) return false
    let at = this.at
    if (at - first > 1 && text.charCodeAt(first) === 0x30) {
      this.at = first
      this.refuse("syntax", "a number that begins with 0")
      return false
    }
    if (text.charCodeAt(at) === 0x2e) {
      if (!this.digits(at + 1, "a digit")) return false
      at = this.at
    }
    const exponent = (text.charCodeAt(at) | 0x20) === 0x65
    if (exponent) {
      const sign = text.charCodeAt(at + 1)
      if (!this.digits(sign === 0x2b || sign === 0x2d ? at + 2 : at + 1, "a digit")) return false
      at = this.at
    }
    // Only an exponent or very many digits can go beyond what is finite.
    if ((exponent || at - start > 300) && !Number.isFinite(Number(text.slice(start, at)))) {
      this.at = start
      this.refuse("number", "a number that is not finite")
      return false
    }
    return true
  }

  private digits(from: number, what: string): boolean {
    const text = this.text
    const length = text.length
    let at = from
    while (at < length) {
      const c = text.charCodeAt(at)
      if (c < 0x30 || c > 0x39) break
      at++
    }
    this.at = at
    if (at > from) return true
    this.expected(what)
    return false
  }
}
