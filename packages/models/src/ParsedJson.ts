/**
 * JSON that has to pass as parsed values, where every number is a double (MDL-1, faults E7).
 *
 * Rule: no number is rounded silently. A text is turned into a value that tells whether it is the same; a value is
 * turned into a text only if no digit of it can have been lost before.
 */
import { Decimal, Json } from "@errand/protocol"
import type { JsonText } from "@errand/protocol"
import * as Result from "effect/Result"

/** A value, and whether it says the same as the text it came from. */
export interface Parsed {
  readonly value: unknown
  readonly exact: boolean
}

/**
 * Parses a text; a number that a double cannot hold becomes a string of its digits, and a text that is no JSON a
 * string. In both cases `exact` is false.
 */
export const fromText = (text: string): Parsed => {
  const read = Json.read(text, { maxDepth: Infinity })
  if (Result.isFailure(read)) return { value: text, exact: false }
  let exact = true
  const plain = (node: Json.JsonNode): unknown => {
    if (node instanceof Json.JsonNumber) {
      if (Decimal.isExact(node.text)) return Number(node.text)
      exact = false
      return node.text
    }
    if (node === null || typeof node !== "object") return node
    if (Json.isArray(node)) return node.map(plain)
    return Object.fromEntries(Array.from(node as ReadonlyMap<string, Json.JsonNode>, ([key, one]) => [key, plain(one)]))
  }
  const value = plain(read.success)
  return { value, exact }
}

/**
 * Writes a value that somebody else parsed. Refused, with path and reason: what JSON cannot hold, an integer beyond
 * 2^53 - 1, and a fraction of more than 15 significant digits, since those may be what rounding made of others.
 */
export const toText = (value: unknown): Result.Result<JsonText, string> => {
  const node = Json.fromPlain(value)
  if (Result.isFailure(node)) return Result.fail(at(node.failure.path, node.failure.message))
  const doubt = doubtful(node.success, "")
  return doubt === undefined ? Result.succeed(Json.write(node.success)) : Result.fail(doubt)
}

const at = (path: string, reason: string): string => path === "" ? reason : `${path}: ${reason}`

const doubtful = (node: Json.JsonNode, path: string): string | undefined => {
  if (node instanceof Json.JsonNumber) {
    return isKnown(node.text)
      ? undefined
      : at(path, `the number ${node.text} may have been rounded, send it as a string`)
  }
  if (node === null || typeof node !== "object") return undefined
  if (Json.isArray(node)) return first(node.entries(), (index) => `${path}[${index}]`)
  return first((node as ReadonlyMap<string, Json.JsonNode>).entries(), (key) => path === "" ? key : `${path}.${key}`)
}

const first = <K>(entries: Iterable<readonly [K, Json.JsonNode]>, path: (key: K) => string): string | undefined => {
  for (const [key, node] of entries) {
    const doubt = doubtful(node, path(key))
    if (doubt !== undefined) return doubt
  }
  return undefined
}

const isKnown = (text: string): boolean => {
  const value = Number(text)
  return Number.isInteger(value) ? Number.isSafeInteger(value) : /\d+/.exec(Decimal.significant(text))![0].length <= 15
}
