/**
 * From an Effect Schema to the inline JSON Schema that a descriptor may carry (section 8, SCH-1).
 *
 * Rule: the result has no reference in it. A schema that needs one, because it is recursive, is refused; so is one that
 * grows past any registry when its shared parts are written out.
 */
import * as Schema from "effect/Schema"

/** A JSON Schema as a plain value. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The derived schema, or where and why there is none. */
export type Derived =
  | { readonly _tag: "Derived"; readonly schema: JsonSchema }
  | { readonly _tag: "Refused"; readonly path: string; readonly detail: string }

/** A schema of more nodes than this has more bytes than any registry allows (`schema_bytes`). */
const nodeBound = 8192

const named = new Set(["properties", "$defs", "definitions", "patternProperties"])
const single = new Set(["items", "additionalProperties", "not", "contains", "propertyNames"])
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])

/** Derives the schema of the JSON that `schema` decodes from, excess keys refused. */
export const derive = (schema: Schema.Constraint): Derived => {
  const document = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const definitions = new Map(Object.entries(document.definitions))
  let nodes = 0
  let refused: { readonly path: string; readonly detail: string } | undefined
  const refuse = (path: string, detail: string): unknown => {
    refused ??= { path, detail }
    return {}
  }

  const walk = (node: unknown, path: string, open: ReadonlyArray<string>): unknown => {
    if (refused !== undefined || !isRecord(node)) return node
    if (++nodes > nodeBound) return refuse(path, "the schema is too large when its shared parts are written out")
    if (typeof node["$ref"] === "string") {
      const name = referenced(node["$ref"])
      const target = definitions.get(name)
      if (target === undefined) return refuse(path, `the reference ${node["$ref"]} leads nowhere`)
      if (open.includes(name)) return refuse(path, `the schema is recursive through ${JSON.stringify(name)}`)
      return walk(target, path, [...open, name])
    }
    const entries: Array<[string, unknown]> = []
    for (const [keyword, value] of Object.entries(node)) {
      const here = `${path}.${keyword}`
      if (named.has(keyword) && isRecord(value)) {
        const under = Object.entries(value).map(([key, part]) => [key, walk(part, `${here}.${key}`, open)] as const)
        entries.push([keyword, Object.fromEntries(under)])
      } else if (single.has(keyword)) {
        entries.push([keyword, walk(value, here, open)])
      } else if (listed.has(keyword) && Array.isArray(value)) {
        const under = value.map((part, index) => walk(part, `${here}[${index}]`, open))
        entries.push([keyword, under])
      } else {
        entries.push([keyword, value])
      }
    }
    const inlined = Object.fromEntries(entries)
    return finiteOnly(inlined) ?? inlined
  }

  const root = walk(document.schema, "parameters", [])
  if (refused !== undefined) return { _tag: "Refused", ...refused }
  const object = isRecord(root) && isAnything(root) ? { type: "object", additionalProperties: false } : root
  return isRecord(object) && object["type"] === "object"
    ? { _tag: "Derived", schema: object }
    : { _tag: "Refused", path: "parameters", detail: "the arguments of a tool are an object, such as Schema.Struct" }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const referenced = (reference: string): string =>
  decodeURIComponent(reference.replace(/^#\/\$defs\//, "")).replaceAll("~1", "/").replaceAll("~0", "~")

/** `Schema.Struct({})` is written as "anything but null"; a tool without parameters means the empty object. */
const isAnything = (root: Record<string, unknown>): boolean =>
  Object.keys(root).length === 1 && isRecord(root["not"]) && root["not"]["type"] === "null"

/** `Schema.Number` also reads "NaN" and "Infinity" from strings; no model needs to be told so. */
const finiteOnly = (node: Record<string, unknown>): unknown => {
  const choices = node["anyOf"]
  if (!Array.isArray(choices) || choices.length !== 2 || Object.keys(node).length !== 1) return undefined
  const [first, second] = choices
  return isRecord(first) && first["type"] === "number" && isRecord(second) && second["type"] === "string" &&
      Array.isArray(second["enum"]) && second["enum"].join(" ") === "Infinity -Infinity NaN"
    ? first
    : undefined
}
