/**
 * From an Effect Schema to the JSON Schema of its JSON form, closed and with everything inlined (SCH-1, DCL-2).
 *
 * Rule: the result has no reference in it. A schema that needs one, because it refers to itself, is refused; so is one that
 * grows past every bound when its shared parts are written out.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as JsonCodec from "./JsonCodec.ts"

/** A JSON Schema as a plain value. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Why there is no such schema, and where; `detail` says it in words. */
export interface Refusal {
  readonly reason: "recursive" | "too_large" | "no_json_form" | "no_object"
  readonly path: string
  readonly detail: string
}

/** A schema of more nodes than this has more bytes than any declaration may have. */
const mostNodes = 65_536

const named = new Set(["properties", "$defs", "definitions", "patternProperties"])
const single = new Set(["items", "additionalProperties", "not", "contains", "propertyNames"])
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])

/** Derives the schema of what `schema` decodes from, excess keys refused; `root` begins the path of a refusal. */
export const derive = (schema: Schema.Constraint, root: string): Result.Result<unknown, Refusal> =>
  Result.flatMap(
    Result.try({
      try: () => Schema.toJsonSchemaDocument(JsonCodec.finite(schema), { onExcessProperty: "error" }),
      catch: (): Refusal => ({ reason: "no_json_form", path: root, detail: "the schema has no JSON Schema" })
    }),
    (document) => {
      const inlining = new Inlining(new Map(Object.entries(document.definitions)))
      const derived = inlining.walk(document.schema, root, [])
      return inlining.refused === undefined ? Result.succeed(derived) : Result.fail(inlining.refused)
    }
  )

/** The same for the arguments of a tool, which are an object. */
export const ofArguments = (schema: Schema.Constraint, root: string): Result.Result<JsonSchema, Refusal> =>
  Result.flatMap(derive(schema, root), (derived) => {
    const object = isRecord(derived) && isAnything(derived) ? { type: "object", additionalProperties: false } : derived
    return isRecord(object) && object["type"] === "object"
      ? Result.succeed(object)
      : Result.fail({
        reason: "no_object",
        path: `${root}.type`,
        detail: "the arguments of a tool are an object, such as Schema.Struct"
      })
  })

class Inlining {
  refused: Refusal | undefined
  private nodes = 0
  private readonly definitions: ReadonlyMap<string, unknown>

  constructor(definitions: ReadonlyMap<string, unknown>) {
    this.definitions = definitions
  }

  walk(node: unknown, path: string, open: ReadonlyArray<string>): unknown {
    if (this.refused !== undefined || !isRecord(node)) return node
    if (++this.nodes > mostNodes) {
      return this.refuse(
        "too_large",
        path,
        "the schema is too large: it grows past every bound when its shared parts are written out"
      )
    }
    const { $ref, ...siblings } = node
    if (typeof $ref !== "string") return this.members(node, path, open)
    const target = this.referenced($ref, path, open)
    return Object.keys(siblings).length === 0 ? target : { allOf: [target], ...this.members(siblings, path, open) }
  }

  private referenced(reference: string, path: string, open: ReadonlyArray<string>): unknown {
    const name = nameIn(reference)
    if (open.includes(name)) {
      return this.refuse("recursive", path, `the schema is recursive through ${JSON.stringify(name)}`)
    }
    return this.definitions.has(name)
      ? this.walk(this.definitions.get(name), path, [...open, name])
      : this.refuse("no_json_form", path, `the reference ${reference} leads nowhere`)
  }

  private members(node: JsonSchema, path: string, open: ReadonlyArray<string>): JsonSchema {
    return Object.fromEntries(
      Object.entries(node).map(([keyword, value]) => [keyword, this.member(keyword, value, `${path}.${keyword}`, open)])
    )
  }

  private member(keyword: string, value: unknown, path: string, open: ReadonlyArray<string>): unknown {
    // The keys of `properties` are names, so one called `$ref` or `enum` is no keyword.
    if (named.has(keyword) && isRecord(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([key, part]) => [key, this.walk(part, `${path}.${key}`, open)])
      )
    }
    if (single.has(keyword)) return this.walk(value, path, open)
    return listed.has(keyword) && Array.isArray(value)
      ? value.map((part, index) => this.walk(part, `${path}[${index}]`, open))
      : value
  }

  private refuse(reason: Refusal["reason"], path: string, detail: string): unknown {
    this.refused ??= { reason, path, detail }
    return {}
  }
}

const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nameIn = (reference: string): string =>
  decodeURIComponent(reference.replace(/^#\/\$defs\//, "")).replaceAll("~1", "/").replaceAll("~0", "~")

/** `Schema.Struct({})` is written as "anything but null"; a tool without parameters means the empty object. */
const isAnything = (root: JsonSchema): boolean =>
  Object.keys(root).length === 1 && isRecord(root["not"]) && root["not"]["type"] === "null"
