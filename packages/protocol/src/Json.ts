/**
 * Strict, lossless JSON (FRM-5 to FRM-7, FRM-12, FRM-13).
 *
 * Rule: every text from outside is read here and nowhere else; a value that is only passed on stays text.
 */
import * as Result from "effect/Result"
import { Buffer } from "node:buffer"
import { type Choose, deepest, Dictionary, Reader } from "./JsonReader.ts"
import { JsonFault, step } from "./JsonScanner.ts"
import { type JsonNode, JsonNumber, type JsonText, Opaque } from "./JsonValue.ts"
import * as Limits from "./Limits.ts"

export { type JsonNode, JsonNumber, type JsonText, Opaque } from "./JsonValue.ts"
export { JsonFault, type Rule } from "./JsonScanner.ts"
export { deepest } from "./JsonReader.ts"

/** How deep containers may nest; the outermost counts as one, and the default is FRM-5's. At most 1,001. */
export interface ReadOptions {
  readonly maxDepth?: number | undefined
}

/** The kinds of JSON values. */
export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null"

const limit = (options: ReadOptions | undefined): number => options?.maxDepth ?? Limits.defaults.base.json_depth

/** Reads a text as a lossless tree: digits, key order and every key survive. */
export const read = (text: string, options?: ReadOptions): Result.Result<JsonNode, JsonFault> => {
  const node = new Reader(text, limit(options), true, undefined).build()
  return node instanceof JsonFault ? Result.fail(node) : Result.succeed(node as JsonNode)
}

/**
 * Reads a text as plain data whose objects inherit nothing, `__proto__` being a key like any other.
 *
 * A member for which `opaque(key, depth)` holds becomes an `Opaque`: checked like all others, but kept as compact text.
 * `depth` is that of the object which holds the member; the outermost is 1.
 */
export const parse = (
  text: string,
  options?: ReadOptions & { readonly opaque?: Choose | undefined }
): Result.Result<unknown, JsonFault> => {
  const value = new Reader(text, limit(options), false, options?.opaque).build()
  return value instanceof JsonFault ? Result.fail(value) : Result.succeed(value)
}

/** What a compact text holds, from its first character. */
export const kindOf = (text: JsonText): Kind => {
  switch (text.charCodeAt(0)) {
    case 0x7b:
      return "object"
    case 0x5b:
      return "array"
    case 0x22:
      return "string"
    case 0x74:
    case 0x66:
      return "boolean"
    case 0x6e:
      return "null"
    default:
      return "number"
  }
}

/** A text that was checked and compacted (FRM-13); `depth` counts containers, 0 for a scalar. */
export interface Compact {
  readonly text: JsonText
  readonly depth: number
  readonly kind: Kind
}

/** Checks a text and removes what is not significant in it. */
export const compact = (text: string, options?: ReadOptions): Result.Result<Compact, JsonFault> => {
  const value = new Reader(text, limit(options), true, undefined).compact()
  return value instanceof Opaque
    ? Result.succeed({ text: value.text, depth: value.depth, kind: kindOf(value.text) })
    : Result.fail(value)
}

/** A string as JSON text. */
export const quote = (value: string): JsonText => JSON.stringify(value) as JsonText

// Node encodes a text of one-byte characters eight times faster than it counts its bytes, so texts up to a third of this
// are written to be counted; a UTF-16 unit takes at most three bytes.
const COUNTING_BYTES = 98_304
const COUNTED_AS_IT_IS = 256
let counting: Buffer | undefined

/** The UTF-8 bytes of a text. */
export const byteLength = (text: string): number =>
  text.length <= COUNTED_AS_IT_IS || text.length * 3 > COUNTING_BYTES
    ? Buffer.byteLength(text, "utf8")
    : (counting ??= Buffer.allocUnsafeSlow(COUNTING_BYTES)).write(text, "utf8")

/** Whether a node is an object. */
export const isObject = (node: JsonNode): node is ReadonlyMap<string, JsonNode> => node instanceof Map

/** Whether a node is an array. */
export const isArray = (node: JsonNode): node is ReadonlyArray<JsonNode> => Array.isArray(node)

const print = (node: JsonNode, sorted: boolean): string => {
  if (typeof node === "string") return JSON.stringify(node)
  if (node === null || typeof node === "boolean") return String(node)
  if (node instanceof JsonNumber) return node.text
  if (isArray(node)) return `[${node.map((item) => print(item, sorted)).join(",")}]`
  const keys = [...(node as ReadonlyMap<string, JsonNode>).keys()]
  if (sorted) keys.sort()
  const members = keys.map((key) =>
    `${JSON.stringify(key)}:${print((node as ReadonlyMap<string, JsonNode>).get(key)!, sorted)}`
  )
  return `{${members.join(",")}}`
}

/** A tree as compact text. */
export const write = (node: JsonNode): JsonText => print(node, false) as JsonText

/** A tree as canonical text: keys sorted by UTF-16 code units at every depth, the rest as it is (DEL-2). */
export const canonical = (node: JsonNode): string => print(node, true)

/** A tree as plain data; digits that a double cannot hold are lost. */
export const toPlain = (node: JsonNode): unknown => {
  if (node instanceof JsonNumber) return Number(node.text)
  if (node === null || typeof node !== "object") return node
  if (isArray(node)) return node.map(toPlain)
  const object = new Dictionary()
  for (const [key, value] of node as ReadonlyMap<string, JsonNode>) object[key] = toPlain(value)
  return object
}

const refused = (path: string, message: string, rule: JsonFault["rule"] = "syntax") =>
  new JsonFault(rule, path.startsWith(".") ? path.slice(1) : path, 0, message)

const node = (value: unknown, path: string, above: Set<object>): JsonNode | JsonFault => {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : refused(path, "a lone surrogate", "surrogate")
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) return refused(path, "a number that is not finite", "number")
      return new JsonNumber(Object.is(value, -0) ? "-0" : String(value))
    case "object":
      break
    default:
      return refused(path, `no JSON value: ${typeof value}`)
  }
  if (value === null) return null
  if (value instanceof JsonNumber) return value
  if (above.has(value)) return refused(path, "a cycle")
  if (above.size >= deepest) return refused(path, `more than ${deepest} containers`, "depth")
  above.add(value)
  const container = Array.isArray(value) ? items(value, path, above) : members(value, path, above)
  above.delete(value)
  return container
}

const items = (value: ReadonlyArray<unknown>, path: string, above: Set<object>): JsonNode | JsonFault => {
  const list: Array<JsonNode> = []
  for (let i = 0; i < value.length; i++) {
    const item = node(value[i], `${path}[${i}]`, above)
    if (item instanceof JsonFault) return item
    list.push(item)
  }
  return list
}

const members = (value: object, path: string, above: Set<object>): JsonNode | JsonFault => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return refused(path, "no plain object")
  const map = new Map<string, JsonNode>()
  for (const key of Object.keys(value)) {
    if (!key.isWellFormed()) return refused(path, "a lone surrogate in a key", "surrogate")
    const member = node((value as Record<string, unknown>)[key], path + step(key), above)
    if (member instanceof JsonFault) return member
    map.set(key, member)
  }
  return map
}

/** Plain data as a tree; refuses, with its path, whatever JSON cannot hold, and what nests deeper than 1,000. */
export const fromPlain = (value: unknown): Result.Result<JsonNode, JsonFault> => {
  const made = node(value, "", new Set())
  return made instanceof JsonFault ? Result.fail(made) : Result.succeed(made)
}
