/**
 * The subset of JSON Schema in which a client declares the input of a tool (section 8, SCH-1 to SCH-4).
 *
 * Rule: nothing is ignored and nothing is evaluated: an unknown keyword is a fault, literal data is never walked, no
 * reference is resolved and no pattern compiled.
 */
import * as Decimal from "./Decimal.ts"
import { isArray, isObject, type JsonNode, JsonNumber } from "./Json.ts"
import { step } from "./JsonScanner.ts"

/** One fault; `path` begins with the path that was given for the root. */
export interface SchemaFault {
  readonly path: string
  readonly problem: string
}

type Rule = (value: JsonNode, path: string, faults: Array<SchemaFault>) => void

const types = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])

/** `-0` and `0e5` are zero, and not below it. */
const isZero = (number: JsonNumber): boolean => Decimal.significant(number.text) === "0"
const isNegative = (number: JsonNumber): boolean => number.text.startsWith("-") && !isZero(number)

const must = (holds: (value: JsonNode) => boolean, problem: string): Rule => (value, path, faults) => {
  if (!holds(value)) faults.push({ path, problem })
}

const isString = (value: JsonNode): value is string => typeof value === "string"

const distinctStrings = (value: JsonNode): boolean =>
  isArray(value) && value.every(isString) && new Set(value).size === value.length

const schema: Rule = (value, path, faults) => {
  if (typeof value === "boolean") return
  if (!isObject(value)) faults.push({ path, problem: "expected a schema, an object or a boolean" })
  else keywords(value, path, faults)
}

const named: Rule = (value, path, faults) => {
  if (!isObject(value)) faults.push({ path, problem: "expected an object whose values are schemas" })
  else for (const [name, item] of value) schema(item, path + step(name), faults)
}

const listed: Rule = (value, path, faults) => {
  if (!isArray(value) || value.length === 0) faults.push({ path, problem: "expected a non-empty array of schemas" })
  else value.forEach((item, i) => schema(item, `${path}[${i}]`, faults))
}

const data: Rule = () => {}
const anArray = must(isArray, "expected an array")
const aString = must(isString, "expected a string")
const aBoolean = must((value) => typeof value === "boolean", "expected a boolean")
const aNumber = must((value) => value instanceof JsonNumber, "expected a number")
const aPositive = must(
  (value) => value instanceof JsonNumber && !isNegative(value) && !isZero(value),
  "expected a number above 0"
)
const aCount = must(
  (value) => value instanceof JsonNumber && !isNegative(value) && Decimal.isInteger(value.text),
  "expected an integer of 0 or more"
)
const aType = must(
  (value) =>
    isString(value)
      ? types.has(value)
      : isArray(value) && value.length > 0 && distinctStrings(value) &&
        value.every((item) => types.has(item as string)),
  `expected one of ${[...types].join(", ")}, or a non-empty array of distinct ones`
)

/** The table of section 8. */
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["type", aType],
  ...each(["properties", "$defs", "definitions", "patternProperties"], named),
  ...each(["items", "additionalProperties", "not", "contains", "propertyNames"], schema),
  ...each(["allOf", "anyOf", "oneOf", "prefixItems"], listed),
  ["required", must(distinctStrings, "expected an array of distinct strings")],
  ...each(["enum", "examples"], anArray),
  ...each(["const", "default"], data),
  ...each(["description", "title", "pattern", "format", "$comment"], aString),
  ...each(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], aNumber),
  ["multipleOf", aPositive],
  ...each(
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"],
    aCount
  ),
  ...each(["uniqueItems", "readOnly", "writeOnly", "deprecated"], aBoolean)
])

function each(names: ReadonlyArray<string>, rule: Rule): Array<[string, Rule]> {
  return names.map((name) => [name, rule])
}

const keywords = (node: ReadonlyMap<string, JsonNode>, path: string, faults: Array<SchemaFault>): void => {
  for (const [keyword, value] of node) {
    const rule = rules.get(keyword)
    const at = path + step(keyword)
    if (rule === undefined) faults.push({ path: at, problem: "this keyword is not supported" })
    else rule(value, at, faults)
  }
}

/** All faults of an input schema, that of its root type first; none means that it is valid. */
export const faults = (root: JsonNode, path: string): ReadonlyArray<SchemaFault> => {
  if (!isObject(root)) return [{ path, problem: "expected an object" }]
  const found: Array<SchemaFault> = []
  const rest = new Map(root)
  rest.delete("type")
  if (root.get("type") !== "object") {
    found.push({ path: `${path}.type`, problem: "the root must have the type \"object\"" })
  }
  keywords(rest, path, found)
  return found
}
