/**
 * What each keyword of a JSON Schema asks of a value (section 8).
 *
 * Rule: a keyword whose own value has a wrong type constrains nothing. Values are equal by their digits (`enum`, `const`,
 * `uniqueItems`); bounds of numbers and `multipleOf` are judged as doubles.
 */
import * as Decimal from "./Decimal.ts"
import * as Json from "./Json.ts"

/** What is wrong with a value, and where in it. */
export interface Misfit {
  readonly path: Array<string | number>
  readonly problem: string
}

/** The work done so far; it ends schemas that refer to each other without end. */
export interface Run {
  steps: number
  depth: number
}

/** Judges a value; undefined when nothing is wrong. */
export type Judge = (value: Json.JsonNode, run: Run) => Misfit | undefined

/** What a keyword is compiled with: its siblings, and what becomes of schemas, references and patterns in it. */
export interface Place {
  readonly siblings: ReadonlyMap<string, Json.JsonNode>
  readonly judge: (schema: Json.JsonNode) => Judge
  readonly reference: (to: string) => Json.JsonNode
  readonly pattern: (source: string) => RegExp | undefined
}

/** Makes the judge of one keyword from its value; undefined when the value constrains nothing. */
export type Keyword = (argument: Json.JsonNode, place: Place) => Judge | undefined

type Found = Misfit | undefined

/** A misfit at the value itself, or at one of its members. */
export const misfit = (problem: string, key?: string | number): Misfit => ({
  path: key === undefined ? [] : [key],
  problem
})

/** The same misfit, seen from one level above. */
const under = (key: string | number, found: Found): Found => {
  found?.path.unshift(key)
  return found
}

/** The first misfit among several. */
export const first = <A>(items: Iterable<A>, judge: (item: A) => Found): Found => {
  for (const item of items) {
    const found = judge(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** Equal values have equal texts: keys sorted, and one spelling for each number. */
const identity = (node: Json.JsonNode): string => Json.canonical(spelled(node))

const spelled = (node: Json.JsonNode): Json.JsonNode => {
  if (node instanceof Json.JsonNumber) return new Json.JsonNumber(Decimal.significant(node.text))
  if (Json.isArray(node)) return node.map(spelled)
  return Json.isObject(node) ? new Map([...node].map(([key, value]) => [key, spelled(value)] as const)) : node
}

const typeOf = (value: Json.JsonNode): string => {
  if (value === null) return "null"
  if (value instanceof Json.JsonNumber) return Decimal.isInteger(value.text) ? "integer" : "number"
  return Json.isArray(value) ? "array" : Json.isObject(value) ? "object" : typeof value
}

const sizeOf = (node: Json.JsonNode | undefined, absent: number): number =>
  node instanceof Json.JsonNumber ? Number(node.text) : absent

const byName = (argument: Json.JsonNode | undefined): ReadonlyArray<readonly [string, Json.JsonNode]> =>
  argument !== undefined && Json.isObject(argument) ? [...argument] : []

const isSchema = (argument: Json.JsonNode): boolean => typeof argument === "boolean" || Json.isObject(argument)

const listed = (argument: Json.JsonNode, { judge }: Place): ReadonlyArray<Judge> | undefined =>
  Json.isArray(argument) ? argument.map(judge) : undefined

/** A bound on a size; `measure` gives nothing for values of another type. */
const bound = (
  measure: (value: Json.JsonNode) => number | undefined,
  holds: (size: number, bound: number) => boolean,
  expected: string
): Keyword =>
(argument) => {
  if (!(argument instanceof Json.JsonNumber)) return undefined
  const limit = Number(argument.text)
  return (value) => {
    const size = measure(value)
    return size === undefined || holds(size, limit) ? undefined : misfit(`expected ${expected} ${limit}`)
  }
}

const least = (size: number, bound: number): boolean => size >= bound
const most = (size: number, bound: number): boolean => size <= bound
const number = (value: Json.JsonNode) => value instanceof Json.JsonNumber ? Number(value.text) : undefined
const length = (value: Json.JsonNode) => typeof value === "string" ? [...value].length : undefined
const items = (value: Json.JsonNode) => Json.isArray(value) ? value.length : undefined
const members = (value: Json.JsonNode) => Json.isObject(value) ? value.size : undefined

const isMultiple = (value: number, of: number): boolean => {
  const quotient = value / of
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient))
}

/** Judges each member of an object. */
const eachMember = (judge: (key: string, value: Json.JsonNode, run: Run) => Found): Judge => (value, run) =>
  Json.isObject(value) ? first(value, ([key, inner]) => under(key, judge(key, inner, run))) : undefined

/** Judges each item of an array. */
const eachItem = (judge: (index: number, value: Json.JsonNode, run: Run) => Found): Judge => (value, run) =>
  Json.isArray(value) ? first(value.entries(), ([i, inner]) => under(i, judge(i, inner, run))) : undefined

/** Every keyword that constrains. */
export const keywords: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ["type", (argument) => {
    const allowed = (Json.isArray(argument) ? argument : [argument]).filter((name) => typeof name === "string")
    if (allowed.length === 0) return undefined
    const names = new Set(allowed.includes("number") ? [...allowed, "integer"] : allowed)
    return (value) => names.has(typeOf(value)) ? undefined : misfit(`expected ${allowed.join(" or ")}`)
  }],
  ["enum", (argument) => {
    if (!Json.isArray(argument)) return undefined
    const allowed = new Set(argument.map(identity))
    return (value) => allowed.has(identity(value)) ? undefined : misfit("expected one of the listed values")
  }],
  ["const", (argument) => {
    const wanted = identity(argument)
    return (value) => identity(value) === wanted ? undefined : misfit(`expected ${Json.write(argument)}`)
  }],
  ["required", (argument) => {
    if (!Json.isArray(argument)) return undefined
    const names = argument.filter((name) => typeof name === "string")
    return (value) => {
      const missing = Json.isObject(value) ? names.find((name) => !value.has(name)) : undefined
      return missing === undefined ? undefined : misfit("missing", missing)
    }
  }],
  ["properties", (argument, { judge }) => {
    const judges = new Map(byName(argument).map(([name, schema]) => [name, judge(schema)]))
    return eachMember((key, inner, run) => judges.get(key)?.(inner, run))
  }],
  ["patternProperties", (argument, { judge, pattern }) => {
    const judges = byName(argument).map(([source, schema]) => [pattern(source), judge(schema)] as const)
    return eachMember((key, inner, run) =>
      first(judges, ([test, judge]) => test?.test(key) === true ? judge(inner, run) : undefined)
    )
  }],
  ["additionalProperties", (argument, { judge, pattern, siblings }) => {
    const rest = judge(argument)
    const named = new Set(byName(siblings.get("properties")).map(([name]) => name))
    const patterns = byName(siblings.get("patternProperties")).map(([source]) => pattern(source))
    return eachMember((key, inner, run) =>
      named.has(key) || patterns.some((test) => test?.test(key) === true) ? undefined : rest(inner, run)
    )
  }],
  ["propertyNames", (argument, { judge }) => {
    const names = judge(argument)
    return eachMember((key, _, run) => names(key, run))
  }],
  ["items", (argument, { judge, siblings }) => {
    const rest = judge(argument)
    const before = items(siblings.get("prefixItems") ?? null) ?? 0
    return eachItem((i, inner, run) => i < before ? undefined : rest(inner, run))
  }],
  ["prefixItems", (argument, place) => {
    const judges = listed(argument, place)
    return judges && eachItem((i, inner, run) => judges[i]?.(inner, run))
  }],
  ["contains", (argument, { judge, siblings }) => {
    if (!isSchema(argument)) return undefined
    const wanted = judge(argument)
    const from = sizeOf(siblings.get("minContains"), 1)
    const to = sizeOf(siblings.get("maxContains"), Number.POSITIVE_INFINITY)
    return (value, run) => {
      if (!Json.isArray(value)) return undefined
      const count = value.filter((item) => wanted(item, run) === undefined).length
      return count >= from && count <= to ? undefined : misfit(`${count} items are of the kind that it must contain`)
    }
  }],
  [
    "uniqueItems",
    (argument) => (value) =>
      argument === true && Json.isArray(value) && new Set(value.map(identity)).size < value.length
        ? misfit("expected distinct items")
        : undefined
  ],
  ["allOf", (argument, place) => {
    const judges = listed(argument, place)
    return judges && ((value, run) => first(judges, (judge) => judge(value, run)))
  }],
  ["anyOf", (argument, place) => {
    const judges = listed(argument, place)
    return judges &&
      ((value, run) =>
        judges.some((judge) => judge(value, run) === undefined) ? undefined : misfit("fits none of its alternatives"))
  }],
  ["oneOf", (argument, place) => {
    const judges = listed(argument, place)
    return judges && ((value, run) => {
      const count = judges.filter((judge) => judge(value, run) === undefined).length
      return count === 1 ? undefined : misfit(`fits ${count} of its alternatives, expected exactly one`)
    })
  }],
  ["not", (argument, { judge }) => {
    if (!isSchema(argument)) return undefined
    const excluded = judge(argument)
    return (value, run) => excluded(value, run) === undefined ? misfit("is of a kind that it must not be") : undefined
  }],
  ["$ref", (argument, { judge, reference }) => {
    if (typeof argument !== "string") return undefined
    let target: Judge | undefined
    // Compiled when it is first needed: a schema may refer to what contains it.
    return (value, run) => (target ??= judge(reference(argument)))(value, run)
  }],
  ["pattern", (argument, { pattern }) => {
    const test = typeof argument === "string" ? pattern(argument) : undefined
    return test &&
      ((value) =>
        typeof value !== "string" || test.test(value) ? undefined : misfit(`expected a match of ${test.source}`))
  }],
  ["multipleOf", bound(number, isMultiple, "a multiple of")],
  ["minimum", bound(number, least, "a number of at least")],
  ["maximum", bound(number, most, "a number of at most")],
  ["exclusiveMinimum", bound(number, (size, limit) => size > limit, "a number above")],
  ["exclusiveMaximum", bound(number, (size, limit) => size < limit, "a number below")],
  ["minLength", bound(length, least, "a length of at least")],
  ["maxLength", bound(length, most, "a length of at most")],
  ["minItems", bound(items, least, "a number of items of at least")],
  ["maxItems", bound(items, most, "a number of items of at most")],
  ["minProperties", bound(members, least, "a number of properties of at least")],
  ["maxProperties", bound(members, most, "a number of properties of at most")]
])
