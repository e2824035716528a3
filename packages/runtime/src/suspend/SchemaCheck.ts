/**
 * Checks JSON values against raw JSON Schema: what a tool without Effect Schemas is called with (RUN-4, RSM-3).
 *
 * Rule: a keyword that this module does not know constrains nothing, so a value is never refused for a reason that the
 * schema does not give; `$ref` reaches only into the same schema.
 */
import { Json } from "@errand/protocol"
import * as Result from "effect/Result"
import { type Fault, formatPath, isPlainObject } from "./JsonValue.ts"

/** More steps than any sensible pair of schema and value takes, and schemas within schemas; they end endless references. */
const maxSteps = 200_000
const maxDepth = 500

interface Run {
  readonly root: unknown
  steps: number
  depth: number
}

type Path = ReadonlyArray<PropertyKey>
type Problem = { readonly path: Path; readonly rule: string } | null
type Keyword = (
  argument: unknown,
  value: unknown,
  path: Path,
  run: Run,
  schema: Readonly<Record<string, unknown>>
) => Problem

const canonical = (value: unknown): string => {
  const node = Json.fromPlain(value)
  return Result.isSuccess(node) ? Json.canonical(node.success) : ""
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value === "object" ? "object" : typeof value

const hasType = (value: unknown, type: unknown): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOf(value) === type

const isSchemaList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

const first = <A>(items: Iterable<A>, check: (item: A) => Problem): Problem => {
  for (const item of items) {
    const problem = check(item)
    if (problem !== null) return problem
  }
  return null
}

const problem = (path: Path, rule: string): Problem => ({ path, rule })

const bound = (
  measure: (value: unknown) => number | null,
  holds: (size: number, limit: number) => boolean,
  words: string
): Keyword =>
(argument, value, path) => {
  const size = measure(value)
  return size === null || typeof argument !== "number" || holds(size, argument)
    ? null
    : problem(path, `must ${words} ${argument}`)
}

const number = (value: unknown) => typeof value === "number" ? value : null
const characters = (value: unknown) => typeof value === "string" ? [...value].length : null
const items = (value: unknown) => Array.isArray(value) ? value.length : null
const members = (value: unknown) => isPlainObject(value) ? Object.keys(value).length : null
const atLeast = (size: number, limit: number) => size >= limit
const atMost = (size: number, limit: number) => size <= limit

const pattern = (source: unknown): RegExp | null =>
  typeof source === "string"
    ? Result.getOrNull(Result.try({ try: () => new RegExp(source, "u"), catch: () => null }))
    : null

const isMultiple = (value: number, of: number): boolean => {
  const quotient = value / of
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient))
}

const keywords: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ["type", (argument, value, path) => {
    const allowed = isSchemaList(argument) ? argument : [argument]
    return allowed.some((type) => hasType(value, type))
      ? null
      : problem(path, `must be of type ${allowed.join(" or ")}`)
  }],
  [
    "const",
    (argument, value, path) => canonical(argument) === canonical(value) ? null : problem(path, "must be the constant")
  ],
  ["enum", (argument, value, path) => {
    const text = canonical(value)
    return !isSchemaList(argument) || argument.some((item) => canonical(item) === text)
      ? null
      : problem(path, "must be one of the listed values")
  }],
  ["required", (argument, value, path) =>
    isPlainObject(value) && isSchemaList(argument)
      ? first(argument, (key) =>
        typeof key !== "string" || Object.hasOwn(value, key) ? null : problem([...path, key], "is missing"))
      : null],
  ["properties", (argument, value, path, run) =>
    isPlainObject(value) && isPlainObject(argument)
      ? first(Object.keys(argument), (key) =>
        Object.hasOwn(value, key) ? evaluate(argument[key], value[key], [...path, key], run) : null)
      : null],
  ["patternProperties", (argument, value, path, run) =>
    isPlainObject(value) && isPlainObject(argument)
      ? first(Object.entries(argument), ([source, schema]) => {
        const expression = pattern(source)
        return first(Object.keys(value), (key) =>
          expression?.test(key) === true ? evaluate(schema, value[key], [...path, key], run) : null)
      })
      : null],
  ["additionalProperties", (argument, value, path, run, { patternProperties, properties }) => {
    if (!isPlainObject(value)) return null
    const named = isPlainObject(properties) ? properties : {}
    const patterns = isPlainObject(patternProperties) ? Object.keys(patternProperties).map(pattern) : []
    return first(Object.keys(value), (key) => {
      if (Object.hasOwn(named, key) || patterns.some((expression) => expression?.test(key))) return null
      return argument === false
        ? problem([...path, key], "is no property of the schema")
        : evaluate(argument, value[key], [...path, key], run)
    })
  }],
  [
    "propertyNames",
    (argument, value, path, run) =>
      isPlainObject(value) ? first(Object.keys(value), (key) => evaluate(argument, key, [...path, key], run)) : null
  ],
  ["items", (argument, value, path, run, { prefixItems }) => {
    if (!Array.isArray(value)) return null
    const from = isSchemaList(prefixItems) ? prefixItems.length : 0
    return first(value.keys(), (index) => index < from ? null : evaluate(argument, value[index], [...path, index], run))
  }],
  ["prefixItems", (argument, value, path, run) =>
    Array.isArray(value) && isSchemaList(argument)
      ? first(value.keys(), (index) =>
        index < argument.length ? evaluate(argument[index], value[index], [...path, index], run) : null)
      : null],
  ["contains", (argument, value, path, run, { maxContains = Infinity, minContains = 1 }) => {
    if (!Array.isArray(value)) return null
    const count = value.filter((item) => evaluate(argument, item, path, run) === null).length
    return count >= Number(minContains) && count <= Number(maxContains)
      ? null
      : problem(path, "must contain other items")
  }],
  [
    "uniqueItems",
    (argument, value, path) =>
      argument !== true || !Array.isArray(value) || new Set(value.map(canonical)).size === value.length
        ? null
        : problem(path, "must hold no item twice")
  ],
  [
    "allOf",
    (argument, value, path, run) =>
      isSchemaList(argument) ? first(argument, (schema) => evaluate(schema, value, path, run)) : null
  ],
  [
    "anyOf",
    (argument, value, path, run) =>
      !isSchemaList(argument) || argument.some((schema) => evaluate(schema, value, path, run) === null)
        ? null
        : problem(path, "must fit one of the alternatives")
  ],
  [
    "oneOf",
    (argument, value, path, run) =>
      !isSchemaList(argument) || argument.filter((schema) => evaluate(schema, value, path, run) === null).length === 1
        ? null
        : problem(path, "must fit exactly one of the alternatives")
  ],
  [
    "not",
    (argument, value, path, run) =>
      evaluate(argument, value, path, run) === null ? problem(path, "must not fit the excluded schema") : null
  ],
  [
    "$ref",
    (argument, value, path, run) =>
      typeof argument === "string" && argument.startsWith("#")
        ? evaluate(resolve(argument, run.root), value, path, run)
        : null
  ],
  [
    "pattern",
    (argument, value, path) =>
      typeof value === "string" && pattern(argument)?.test(value) === false
        ? problem(path, "must match the pattern")
        : null
  ],
  ["minimum", bound(number, atLeast, "be at least")],
  ["maximum", bound(number, atMost, "be at most")],
  ["exclusiveMinimum", bound(number, (size, limit) => size > limit, "be above")],
  ["exclusiveMaximum", bound(number, (size, limit) => size < limit, "be below")],
  ["multipleOf", bound(number, isMultiple, "be a multiple of")],
  ["minLength", bound(characters, atLeast, "have a length of at least")],
  ["maxLength", bound(characters, atMost, "have a length of at most")],
  ["minItems", bound(items, atLeast, "have a number of items of at least")],
  ["maxItems", bound(items, atMost, "have a number of items of at most")],
  ["minProperties", bound(members, atLeast, "have a number of properties of at least")],
  ["maxProperties", bound(members, atMost, "have a number of properties of at most")]
])

/** The part of a schema that a local reference names, or true, which constrains nothing. */
const resolve = (reference: string, root: unknown): unknown => {
  let node = root
  for (const step of reference.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~")
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return true
    node = (node as Readonly<Record<string, unknown>>)[key]
  }
  return node
}

const evaluate = (schema: unknown, value: unknown, path: Path, run: Run): Problem => {
  if (++run.steps > maxSteps || run.depth > maxDepth) return problem(path, "takes too long to check against the schema")
  if (schema === false) return problem(path, "is not allowed")
  if (!isPlainObject(schema)) return null
  run.depth++
  const found = first(Object.keys(schema), (key) => keywords.get(key)?.(schema[key], value, path, run, schema) ?? null)
  run.depth--
  return found
}

/** What is wrong with a JSON value under a schema, or null; `root` begins the path. */
export const check = (schema: unknown, value: unknown, root: string): Fault | null => {
  const found = evaluate(schema, value, [], { root: schema, steps: 0, depth: 0 })
  return found === null ? null : { path: formatPath(root, found.path), rule: found.rule }
}
