/**
 * The strict JSON reader behind `Json`: one pass over a text, and three things to make of it.
 *
 * Rule: whatever is made of a text, the same texts are refused (FRM-5 to FRM-7). Nesting is bounded before it is entered,
 * so recursion is too.
 */
import type { JsonFault } from "./JsonScanner.ts"
import { Strings } from "./JsonStrings.ts"
import { JsonNumber, type JsonText, Opaque } from "./JsonValue.ts"

/** Chooses the members that are left unbuilt, by key and by the depth of the object that holds them. */
export type Choose = (key: string, depth: number) => boolean

/** The deepest nesting of a value that a program hands over. */
export const deepest = 1000

/** The deepest nesting that any reader accepts, whatever it was asked for: such a value with an object around it. */
const deepestText = deepest + 1

/** Makes objects that inherit nothing. Unlike those of `Object.create(null)` they are fast to build and to read. */
export const Dictionary = function() {} as unknown as new() => Record<string, unknown>
Dictionary.prototype = Object.freeze(Object.create(null))

const QUOTE = 0x22
const CLOSE_ARRAY = 0x5d
const CLOSE_OBJECT = 0x7d

/** Objects with more keys than this find duplicates by a set; below it, comparing each with each is faster. */
const fewKeys = 16

/** Reads one text once, as a tree (`lossless`) or as plain data. */
export class Reader extends Strings {
  private readonly maxDepth: number
  private readonly lossless: boolean
  private readonly choose: Choose | undefined
  // The keys of the objects that are being read, outermost first: their hashes, and where they stand.
  private readonly hashes: Array<number> = []
  private readonly starts: Array<number> = []
  private top = 0
  private many: Map<number, Set<string>> | undefined

  constructor(text: string, maxDepth: number, lossless: boolean, choose: Choose | undefined) {
    super(text)
    this.maxDepth = Math.min(maxDepth, deepestText)
    this.lossless = lossless
    this.choose = choose
  }

  /** The whole text built, or its fault. */
  build(): unknown | JsonFault {
    if (!this.wellFormed()) return this.fault()
    const value = this.value(1)
    return value !== undefined && this.ended() ? value : this.fault()
  }

  /** The whole text compacted, or its fault. */
  compact(): Opaque | JsonFault {
    if (!this.wellFormed()) return this.fault()
    const value = this.unbuilt(1)
    return value !== undefined && this.ended() ? value : this.fault()
  }

  private ended(): boolean {
    if (this.peek() === -1) return true
    this.refuse("syntax", "text after the value")
    return false
  }

  private enter(level: number): boolean {
    if (level > this.maxDepth) {
      this.refuse("depth", `more than ${this.maxDepth} containers`)
      return false
    }
    this.at++
    return true
  }

  /** Notes a key of the object whose first key is the `first` one noted; false when the object has it already. */
  private note(first: number, start: number): boolean {
    const { hash, hashes, starts, top } = this
    if (top - first >= fewKeys) return this.noteMany(first, start)
    for (let i = first; i < top; i++) {
      if (hashes[i] === hash && this.stringAt(starts[i]!) === this.stringAt(start)) return this.duplicate(start)
    }
    hashes[top] = hash
    starts[top] = start
    this.top = top + 1
    return true
  }

  private noteMany(first: number, start: number): boolean {
    this.many ??= new Map()
    let keys = this.many.get(first)
    if (keys === undefined) {
      keys = new Set(this.starts.slice(first, this.top).map((start) => this.stringAt(start)))
      this.many.set(first, keys)
    }
    const key = this.stringAt(start)
    if (keys.has(key)) return this.duplicate(start)
    keys.add(key)
    return true
  }

  private duplicate(start: number): boolean {
    this.at = start
    this.refuse("duplicate_key", "a duplicate key")
    this.inside(this.stringAt(start))
    return false
  }

  private leave(first: number): void {
    this.top = first
    this.many?.delete(first)
    this.at++
  }

  private value(level: number): unknown {
    switch (this.peek()) {
      case QUOTE:
        return this.string()
      case 0x7b:
        return this.object(level)
      case 0x5b:
        return this.array(level)
      case 0x74:
        return this.word("true") ? true : undefined
      case 0x66:
        return this.word("false") ? false : undefined
      case 0x6e:
        return this.word("null") ? null : undefined
      default: {
        const start = this.at
        if (!this.number()) return undefined
        const text = this.text.slice(start, this.at)
        return this.lossless ? new JsonNumber(text) : Number(text)
      }
    }
  }

  private object(level: number): unknown {
    if (!this.enter(level)) return undefined
    const map = this.lossless ? new Map<string, unknown>() : undefined
    const object = map === undefined ? new Dictionary() : undefined
    const first = this.top
    let c = this.peek()
    if (c === CLOSE_OBJECT) {
      this.leave(first)
      return map ?? object
    }
    for (;;) {
      if (c !== QUOTE) return this.expected("a key")
      const start = this.at
      const key = this.key()
      if (key === undefined || !this.note(first, start)) return undefined
      if (this.peek() !== 0x3a) return this.expected(":")
      this.at++
      const value = this.choose !== undefined && this.choose(key, level)
        ? this.unbuilt(level + 1)
        : this.value(level + 1)
      if (value === undefined) return this.inside(key)
      if (object === undefined) map!.set(key, value)
      else object[key] = value
      c = this.peek()
      if (c === CLOSE_OBJECT) {
        this.leave(first)
        return map ?? object
      }
      if (c !== 0x2c) return this.expected(", or }")
      this.at++
      c = this.peek()
    }
  }

  private array(level: number): unknown {
    if (!this.enter(level)) return undefined
    const items: Array<unknown> = []
    if (this.peek() === CLOSE_ARRAY) {
      this.at++
      return items
    }
    for (;;) {
      const value = this.value(level + 1)
      if (value === undefined) return this.inside(items.length)
      items.push(value)
      const c = this.peek()
      if (c !== 0x2c && c !== CLOSE_ARRAY) return this.expected(", or ]")
      this.at++
      if (c === CLOSE_ARRAY) return items
    }
  }

  /** The next value, checked and compacted. */
  private unbuilt(level: number): Opaque | undefined {
    this.peek()
    this.out = ""
    this.kept = this.at
    const depth = this.skip(level)
    return depth < 0 ? undefined : new Opaque((this.out + this.text.slice(this.kept, this.at)) as JsonText, depth)
  }

  /** Goes past the value at `at`; its depth in containers, or -1 after a fault. */
  private skip(level: number): number {
    switch (this.text.charCodeAt(this.at)) {
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
    const first = this.top
    let depth = 0
    let c = this.tight()
    if (c === CLOSE_OBJECT) {
      this.leave(first)
      return 1
    }
    for (;;) {
      if (c !== QUOTE) return this.stop("a key")
      const start = this.at
      if (!this.skipKey() || !this.note(first, start)) return -1
      if (this.tight() !== 0x3a) return this.stop(":")
      this.at++
      this.tight()
      const inner = this.skip(level + 1)
      if (inner < 0) {
        this.inside(this.stringAt(start))
        return -1
      }
      if (inner > depth) depth = inner
      c = this.tight()
      if (c === CLOSE_OBJECT) {
        this.leave(first)
        return depth + 1
      }
      if (c !== 0x2c) return this.stop(", or }")
      this.at++
      c = this.tight()
    }
  }

  private skipArray(level: number): number {
    if (!this.enter(level)) return -1
    if (this.tight() === CLOSE_ARRAY) {
      this.at++
      return 1
    }
    let depth = 0
    for (let index = 0;; index++) {
      const inner = this.skip(level + 1)
      if (inner < 0) {
        this.inside(index)
        return -1
      }
      if (inner > depth) depth = inner
      const c = this.tight()
      if (c !== 0x2c && c !== CLOSE_ARRAY) return this.stop(", or ]")
      this.at++
      if (c === CLOSE_ARRAY) return depth + 1
      this.tight()
    }
  }

  private stop(what: string): number {
    this.expected(what)
    return -1
  }
}
