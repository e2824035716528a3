/**
 * JSON Schema of an Effect Schema with every reference replaced by what it names (DCL-2).
 *
 * Rule: the result holds no `$ref`; a schema that refers to itself has no such form and is refused.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** Why no inlined JSON Schema exists: it refers to itself, it grows without bound, or it has no JSON form. */
export type Refusal = "recursive" | "too_large" | "no_json_form"

/** More nodes than a schema of the largest legal size can have; inlining may grow exponentially without it. */
const maxNodes = 65_536

/** Keywords whose value is data, never schema. */
const literals: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"])
const prefix = "#/$defs/"

interface Inlining {
  readonly definitions: Readonly<Record<string, unknown>>
  readonly open: Set<string>
  nodes: number
  refusal: Refusal | null
}

const inline = (node: unknown, state: Inlining): unknown => {
  if (state.refusal !== null || typeof node !== "object" || node === null) return node
  if (++state.nodes > maxNodes) {
    state.refusal = "too_large"
    return node
  }
  if (Array.isArray(node)) return node.map((item) => inline(item, state))
  const { $ref, ...siblings } = node as { readonly $ref?: unknown }
  const rest = inlineMembers(siblings, state)
  if (typeof $ref !== "string" || !$ref.startsWith(prefix)) return rest
  const name = decodeURIComponent($ref.slice(prefix.length)).replaceAll("~1", "/").replaceAll("~0", "~")
  if (state.open.has(name)) {
    state.refusal = "recursive"
    return node
  }
  state.open.add(name)
  const target = inline(state.definitions[name], state)
  state.open.delete(name)
  return Object.keys(rest).length === 0 ? target : { allOf: [target], ...rest }
}

const inlineMembers = (node: object, state: Inlining): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(node).map(([key, value]): [string, unknown] => [
      key,
      literals.has(key)
        ? value
        : key === "properties" || key === "patternProperties"
        ? inlineProperties(value as object, state)
        : inline(value, state)
    ])
  )

/** The keys of `properties` are names, so one called `$ref` or `enum` is no keyword. */
const inlineProperties = (node: object, state: Inlining): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(node).map(([key, value]): [string, unknown] => [key, inline(value, state)]))

/** The closed (`additionalProperties: false`) and inlined JSON Schema of a schema's JSON form. */
export const derive = (schema: Schema.Constraint): Result.Result<unknown, Refusal> =>
  Result.flatMap(
    Result.try({
      try: () => Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" }),
      catch: (): Refusal => "no_json_form"
    }),
    (document) => {
      const state: Inlining = { definitions: document.definitions, open: new Set(), nodes: 0, refusal: null }
      const root = inline(document.schema, state)
      return state.refusal === null ? Result.succeed(root) : Result.fail(state.refusal)
    }
  )
