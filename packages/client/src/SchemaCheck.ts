/**
 * Whether arguments fit an input schema: all keywords of section 8, and no others.
 *
 * Rule: values are judged without loss, and a fault is told by its place and by what was expected (CLI-1). `format` and the
 * other keywords that only describe are not judged. Patterns are the program's own and are compiled once.
 */
import { InputSchema, Json } from "@errand/protocol"

/** What is wrong with a value and where, or nothing. */
export type Check = (value: Json.JsonNode, path: string) => string | undefined

type Keyword = (argument: Json.JsonNode, siblings: ReadonlyMap<string, Json.JsonNode>) => Check

/** Turns a schema that `InputSchema.faults` found no fault in into a check; throws on a pattern that is no expression. */
export const compile = (schema: Json.JsonNode): Check => {
  if (!Json.isObject(schema)) return (_, path) => schema === false ? fault(path, "must not be there") : undefined
  const checks: Array<Check> = []
  for (const [keyword, argument] of schema) {
    const check = keywords.get(keyword)?.(argument, schema)
    if (check !== undefined) checks.push(check)
  }
  return (value, path) => {
    for (const check of checks) {
      const found = check(value, path)
      if (found !== undefined) return found
    }
    return undefined
  }
}

const fault = (path: string, problem: string): string =>
  path === "" ? problem : `${path.replace(/^\./, "")}: ${problem}`

const step = (path: string, key: string | number): string =>
  typeof key === "number" ? `${path}[${key}]` : `${path}.${key}`

const numberOf = (node: Json.JsonNode | undefined, absent: number): number =>
  node instanceof Json.JsonNumber ? Number(node.text) : absent

/** Equal values have equal texts: keys sorted, and one spelling for each number. */
const identity = (node: Json.JsonNode): string => Json.canonical(spelled(node))

const spelled = (node: Json.JsonNode): Json.JsonNode => {
  if (node instanceof Json.JsonNumber) return new Json.JsonNumber(significant(node.text))
  if (Json.isArray(node)) return node.map(spelled)
  return Json.isObject(node) ? new Map([...node].map(([key, value]) => [key, spelled(value)] as const)) : node
}

/** A number's digits without leading and trailing zeros, and the power of ten of its last digit. */
export const significant = (text: string): string => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  const all = (whole + fraction).replace(/^0+/, "")
  let end = all.length
  while (end > 0 && all[end - 1] === "0") end--
  return end === 0 ? "0" : `${sign}${all.slice(0, end)}e${Number(exponent) - fraction.length + all.length - end}`
}

const typeOf = (value: Json.JsonNode): string => {
  if (value === null) return "null"
  if (value instanceof Json.JsonNumber) return InputSchema.isInteger(value) ? "integer" : "number"
  return Json.isArray(value) ? "array" : Json.isObject(value) ? "object" : typeof value
}

const compiled = (argument: Json.JsonNode): ReadonlyArray<Check> =>
  (argument as ReadonlyArray<Json.JsonNode>).map(compile)

const byName = (argument: Json.JsonNode | undefined): ReadonlyArray<readonly [string, Json.JsonNode]> =>
  argument !== undefined && Json.isObject(argument) ? [...argument] : []

const pattern = (source: string): RegExp => new RegExp(source, "u")

/** A bound on a size; `measure` gives nothing for values of another type. */
const bound = (
  measure: (value: Json.JsonNode) => number | undefined,
  holds: (size: number, bound: number) => boolean,
  expected: string
): Keyword =>
(argument) => {
  const limit = numberOf(argument, 0)
  return (value, path) => {
    const size = measure(value)
    return size === undefined || holds(size, limit) ? undefined : fault(path, `expected ${expected} ${limit}`)
  }
}

const least = (size: number, bound: number): boolean => size >= bound
const most = (size: number, bound: number): boolean => size <= bound
const number = (value: Json.JsonNode) => value instanceof Json.JsonNumber ? Number(value.text) : undefined
const length = (value: Json.JsonNode) => typeof value === "string" ? [...value].length : undefined
const items = (value: Json.JsonNode) => Json.isArray(value) ? value.length : undefined
const members = (value: Json.JsonNode) => Json.isObject(value) ? value.size : undefined

const firstOf = (checks: ReadonlyArray<Check>): Check => (value, path) => {
  for (const check of checks) {
    const found = check(value, path)
    if (found !== undefined) return found
  }
  return undefined
}

const fitting = (checks: ReadonlyArray<Check>, value: Json.JsonNode): number =>
  checks.reduce((count, check) => check(value, "") === undefined ? count + 1 : count, 0)

const isMultiple = (value: number, of: number): boolean => {
  const quotient = value / of
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient))
}

const keywords = new Map<string, Keyword>([
  ["type", (argument) => {
    const allowed = (Json.isArray(argument) ? argument : [argument]) as ReadonlyArray<string>
    const names = new Set(allowed.includes("number") ? [...allowed, "integer"] : allowed)
    return (value, path) => names.has(typeOf(value)) ? undefined : fault(path, `expected ${allowed.join(" or ")}`)
  }],
  ["enum", (argument) => {
    const allowed = new Set((argument as ReadonlyArray<Json.JsonNode>).map(identity))
    return (value, path) => allowed.has(identity(value)) ? undefined : fault(path, "expected one of the listed values")
  }],
  ["const", (argument) => {
    const wanted = identity(argument)
    return (value, path) => identity(value) === wanted ? undefined : fault(path, `expected ${Json.write(argument)}`)
  }],
  ["required", (argument) => {
    const names = argument as ReadonlyArray<string>
    return (value, path) => {
      const missing = Json.isObject(value) ? names.find((name) => !value.has(name)) : undefined
      return missing === undefined ? undefined : fault(step(path, missing), "missing")
    }
  }],
  ["properties", (argument) => {
    const checks = new Map(byName(argument).map(([name, schema]) => [name, compile(schema)]))
    return (value, path) => {
      if (!Json.isObject(value)) return undefined
      for (const [key, inner] of value) {
        const found = checks.get(key)?.(inner, step(path, key))
        if (found !== undefined) return found
      }
      return undefined
    }
  }],
  ["patternProperties", (argument) => {
    const checks = byName(argument).map(([source, schema]) => [pattern(source), compile(schema)] as const)
    return (value, path) => {
      if (!Json.isObject(value)) return undefined
      for (const [key, inner] of value) {
        const found = firstOf(checks.filter(([test]) => test.test(key)).map(([, check]) => check))(
          inner,
          step(path, key)
        )
        if (found !== undefined) return found
      }
      return undefined
    }
  }],
  ["additionalProperties", (argument, siblings) => {
    const check = compile(argument)
    const named = new Set(byName(siblings.get("properties")).map(([name]) => name))
    const patterns = byName(siblings.get("patternProperties")).map(([source]) => pattern(source))
    return (value, path) => {
      if (!Json.isObject(value)) return undefined
      for (const [key, inner] of value) {
        if (named.has(key) || patterns.some((test) => test.test(key))) continue
        const found = check(inner, step(path, key))
        if (found !== undefined) return found
      }
      return undefined
    }
  }],
  ["propertyNames", (argument) => {
    const check = compile(argument)
    return (value, path) =>
      Json.isObject(value)
        ? firstOf([...value.keys()].map((key) => () => check(key, step(path, key))))(value, path)
        : undefined
  }],
  ["items", (argument, siblings) => {
    const check = compile(argument)
    const before = items(siblings.get("prefixItems") ?? null) ?? 0
    return (value, path) => {
      if (!Json.isArray(value)) return undefined
      for (let i = before; i < value.length; i++) {
        const found = check(value[i]!, step(path, i))
        if (found !== undefined) return found
      }
      return undefined
    }
  }],
  ["prefixItems", (argument) => {
    const checks = compiled(argument)
    return (value, path) => {
      if (!Json.isArray(value)) return undefined
      for (let i = 0; i < Math.min(checks.length, value.length); i++) {
        const found = checks[i]!(value[i]!, step(path, i))
        if (found !== undefined) return found
      }
      return undefined
    }
  }],
  ["contains", (argument, siblings) => {
    const check = compile(argument)
    const from = numberOf(siblings.get("minContains"), 1)
    const to = numberOf(siblings.get("maxContains"), Number.POSITIVE_INFINITY)
    return (value, path) => {
      if (!Json.isArray(value)) return undefined
      const count = value.filter((item) => check(item, "") === undefined).length
      return count >= from && count <= to
        ? undefined
        : fault(path, `${count} items are of the kind that it must contain`)
    }
  }],
  [
    "uniqueItems",
    (argument) => (value, path) =>
      argument === true && Json.isArray(value) && new Set(value.map(identity)).size < value.length
        ? fault(path, "expected distinct items")
        : undefined
  ],
  ["allOf", (argument) => firstOf(compiled(argument))],
  ["anyOf", (argument) => {
    const checks = compiled(argument)
    return (value, path) =>
      checks.some((check) => check(value, "") === undefined)
        ? undefined
        : fault(path, "fits none of its alternatives")
  }],
  ["oneOf", (argument) => {
    const checks = compiled(argument)
    return (value, path) => {
      const count = fitting(checks, value)
      return count === 1 ? undefined : fault(path, `fits ${count} of its alternatives, expected exactly one`)
    }
  }],
  ["not", (argument) => {
    const check = compile(argument)
    return (value, path) => check(value, "") === undefined ? fault(path, "is of a kind that it must not be") : undefined
  }],
  ["pattern", (argument) => {
    const test = pattern(argument as string)
    return (value, path) =>
      typeof value !== "string" || test.test(value) ? undefined : fault(path, `expected a match of ${test.source}`)
  }],
  ["multipleOf", (argument) => {
    const of = numberOf(argument, 1)
    return (value, path) =>
      value instanceof Json.JsonNumber && !isMultiple(Number(value.text), of)
        ? fault(path, `expected a multiple of ${of}`)
        : undefined
  }],
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
