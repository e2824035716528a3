/**
 * Plain values as JSON text and back, for what hosts hand in and get: schemas, metadata, arguments, answers (DCL-8, SUS-1).
 *
 * Rule: a value either crosses unchanged or is refused with the path of its fault; nothing is dropped or rounded.
 */
import { Decimal, Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"

/** What is wrong with a value, and where: `path` as a person writes it (`metadata.a[2]`), `rule` says it in words. */
export interface Fault {
  readonly path: string
  readonly rule: string
}

/** How deep a value may nest (HRN-D2). */
export const deepest = Json.deepest

const plainKey = /^[A-Za-z_$][A-Za-z0-9_$]*$/

/** A path below a root as a person writes it. */
export const formatPath = (root: string, keys: ReadonlyArray<PropertyKey>): string => {
  let path = root
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`
    else path += typeof key === "string" && plainKey.test(key) ? `.${key}` : `[${JSON.stringify(String(key))}]`
  }
  return path
}

/** An object made by a literal, `JSON.parse`, `Json.parse` or `Object.create(null)`: no array, no instance of a class. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A member of an object's own: what a prototype holds was not said by whoever gave the object. */
export const own = (value: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined

/** The first key that no JSON has: a symbol, a hidden member, or a member of an array that is none of its items. */
const dropped = (value: unknown, path: string): Fault | null => {
  if (typeof value !== "object" || value === null || value instanceof Json.JsonNumber) return null
  const keys = Object.keys(value)
  const all = Reflect.ownKeys(value)
  const isArray = Array.isArray(value)
  if (all.length !== (isArray ? value.length + 1 : keys.length)) {
    const shown = new Set<PropertyKey>(isArray ? [...value.keys()].map(String).concat("length") : keys)
    const rule = "would be dropped: JSON has no symbols, no hidden members, and no members of arrays but items"
    return { path: formatPath(path, [all.find((key) => !shown.has(key))!]), rule }
  }
  for (const key of keys) {
    const fault = dropped((value as Record<string, unknown>)[key], formatPath(path, [isArray ? Number(key) : key]))
    if (fault !== null) return fault
  }
  return null
}

const below = (root: string, path: string): string =>
  path === "" || path.startsWith("[") ? root + path : `${root}.${path}`

const located = (root: string) => (fault: Json.JsonFault): Fault => ({
  path: below(root, fault.path),
  rule: `is no finite, acyclic JSON: ${fault.message}`
})

/** A plain value as a lossless tree; `root` begins the path of a fault. */
export const toTree = (value: unknown, root: string): Result.Result<Json.JsonNode, Fault> =>
  Result.flatMap(Result.mapError(Json.fromPlain(value), located(root)), (tree) => {
    const fault = dropped(value, root)
    return fault === null ? Result.succeed(tree) : Result.fail(fault)
  })

/** A plain value as compact text, keys in their own order; `root` begins the path of a fault. */
export const encode = (value: unknown, root: string): Result.Result<JsonText, Fault> =>
  Result.map(toTree(value, root), Json.write)

const rounds = (node: Json.JsonNode, path: string): Fault | null => {
  if (node instanceof Json.JsonNumber) {
    return Decimal.isExact(node.text)
      ? null
      : { path, rule: `is the number ${node.text.slice(0, 40)}, which would round; read it from the text` }
  }
  if (node === null || typeof node !== "object") return null
  const entries: Iterable<[PropertyKey, Json.JsonNode]> = node.entries()
  for (const [key, member] of entries) {
    const fault = rounds(member, formatPath(path, [key]))
    if (fault !== null) return fault
  }
  return null
}

/**
 * The plain value of a JSON text, objects without a prototype; refuses invalid JSON, duplicate keys, and a number that
 * would round: a host gets the very number that the model wrote or none (SUS-1).
 */
export const decodeExact = (text: string, root: string): Result.Result<unknown, Fault> => {
  const node = Json.read(text, { maxDepth: deepest })
  if (Result.isFailure(node)) return Result.fail(located(root)(node.failure))
  const fault = rounds(node.success, root)
  return fault === null ? Result.succeed(Json.toPlain(node.success)) : Result.fail(fault)
}
