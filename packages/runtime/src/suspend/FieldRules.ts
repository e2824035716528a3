/**
 * Rules that several boundaries share: texts for people and models, and metadata (DCL-6, table of section 1).
 *
 * Rule: a fault names the path of the value and what it must be; the value itself is not repeated.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import * as JsonValue from "./JsonValue.ts"

const faultAt = (path: string, rule: string): JsonValue.Fault => ({ path, rule })

const reservedExact: ReadonlySet<string> = new Set(["errand.tool", "errand.client-tool", "errand.tool-identity"])
const reservedAnyCase: ReadonlySet<string> = new Set(
  "authorization credential credentials grant invocation_grant policy server_correlation".split(" ")
)

/** The number of code points, counted no further than one past `limit`. */
export const characters = (text: string, limit: number): number => {
  if (text.length <= limit) return [...text].length
  let count = 0
  for (const _ of text) if (++count > limit) break
  return count
}

/** What is wrong with a text of 1 to `limit` characters that is not blank, or null. */
export const checkText = (value: unknown, path: string, limit: number): JsonValue.Fault | null => {
  if (typeof value !== "string") return faultAt(path, "must be a string")
  if (value.trim() === "") return faultAt(path, "must not be blank")
  if (characters(value, limit) > limit) return faultAt(path, `must have at most ${limit} characters`)
  return value.isWellFormed() ? null : faultAt(path, "must be text without lone surrogates")
}

const reservedKey = (value: unknown, path: ReadonlyArray<string | number>): Array<string | number> | null => {
  if (typeof value !== "object" || value === null) return null
  const entries: Iterable<[string | number, unknown]> = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [key, member] of entries) {
    const here = [...path, key]
    if (typeof key === "string" && (reservedExact.has(key) || reservedAnyCase.has(key.toLowerCase()))) return here
    const below = reservedKey(member, here)
    if (below !== null) return below
  }
  return null
}

/**
 * The compact text of metadata, or its fault: an object of finite acyclic JSON without reserved keys at any depth, at
 * most `limit` bytes of canonical JSON (DCL-6, DCL-8).
 */
export const encodeMetadata = (
  value: unknown,
  path: string,
  limit: number
): Result.Result<JsonText, JsonValue.Fault> => {
  if (!JsonValue.isPlainObject(value)) return Result.fail(faultAt(path, "must be an object"))
  return Result.flatMap(JsonValue.encode(value, path), (text) => {
    const reserved = reservedKey(value, [])
    if (reserved !== null) return Result.fail(faultAt(JsonValue.formatPath(path, reserved), "is a reserved key"))
    return Json.byteLength(text) > limit
      ? Result.fail(faultAt(path, `must have at most ${limit} bytes of canonical JSON`))
      : Result.succeed(text)
  })
}
