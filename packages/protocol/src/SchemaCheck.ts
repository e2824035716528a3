/**
 * Whether a JSON value fits a raw JSON Schema: the keywords of section 8, and `$ref` into the same schema (CLI-1, RUN-4).
 *
 * Rule: a misfit is told by its place and by what was expected. What constrains nothing in any reading (an unknown keyword,
 * one with a value of a wrong type, `format`) constrains nothing here, so that no value is refused for a reason that the
 * schema does not give.
 */
import * as Result from "effect/Result"
import * as Json from "./Json.ts"
import { first, type Judge, keywords, type Misfit, misfit, type Place } from "./SchemaKeywords.ts"

export type { Misfit } from "./SchemaKeywords.ts"

/** Judges values; undefined when nothing is wrong. */
export type Check = (value: Json.JsonNode) => Misfit | undefined

/** More steps than any sensible pair of schema and value takes, and schemas within schemas; they end endless references. */
const mostSteps = 1_000_000
const mostDepth = 500

/**
 * Turns a schema into a check. `broken` is told each pattern that is no regular expression; without it, such a pattern
 * constrains nothing.
 */
export const compile = (schema: Json.JsonNode, broken: (problem: string) => void = () => {}): Check => {
  const judges = new Map<Json.JsonNode, Judge>()
  const pattern = (source: string): RegExp | undefined => {
    const expression = Result.try(() => new RegExp(source, "u"))
    if (Result.isSuccess(expression)) return expression.success
    broken(String(expression.failure))
    return undefined
  }
  const judge = (part: Json.JsonNode): Judge => {
    if (part === false) return () => misfit("must not be there")
    if (!Json.isObject(part)) return () => undefined
    const known = judges.get(part)
    if (known !== undefined) return known
    const parts: Array<Judge> = []
    const whole = bounded((value, run) => first(parts, (one) => one(value, run)))
    judges.set(part, whole)
    const place: Place = { siblings: part, judge, pattern, reference: (to) => resolve(to, schema) }
    for (const [name, argument] of part) {
      const judged = keywords.get(name)?.(argument, place)
      if (judged !== undefined) parts.push(judged)
    }
    return whole
  }
  const check = judge(schema)
  return (value) => check(value, { steps: 0, depth: 0 })
}

/** A misfit in words, its place as a person writes it: `a[1].b: expected null`. */
export const describe = ({ path, problem }: Misfit): string => {
  const place = path.map((key) => typeof key === "number" ? `[${key}]` : `.${key}`).join("").replace(/^\./, "")
  return place === "" ? problem : `${place}: ${problem}`
}

const bounded = (judge: Judge): Judge => (value, run) => {
  if (++run.steps > mostSteps || run.depth > mostDepth) return misfit("takes too long to check against the schema")
  run.depth++
  const found = judge(value, run)
  run.depth--
  return found
}

/** The part of a schema that a local reference names, or true, which constrains nothing. */
const resolve = (reference: string, root: Json.JsonNode): Json.JsonNode => {
  if (!reference.startsWith("#")) return true
  let node = root
  for (const step of reference.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~")
    const next = Json.isObject(node) ? node.get(key) : Json.isArray(node) ? node[Number(key)] : undefined
    if (next === undefined) return true
    node = next
  }
  return node
}
