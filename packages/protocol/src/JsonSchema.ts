/**
 * JSON Schema of every frame of the protocol, made from the tables of `Requests` and `Events`.
 *
 * Rule: nothing is described twice; what a schema cannot say (bytes, UTF-8, order) is in the document of the protocol.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Events from "./Events.ts"
import * as Limits from "./Limits.ts"
import * as Requests from "./Requests.ts"
import { codes, messageCharacters } from "./WireError.ts"

// patterns of JSON Schema are those of the flag `u`; others are left out
const id = Schema.String.check(Schema.isPattern(/^[!-~]{1,128}$/u))

const schemaOf = (schema: Schema.Constraint) =>
  Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" }).schema

const request = (method: Requests.MethodName) => {
  const params = Requests.table[method].params(Limits.defaults) as Schema.Constraint
  const mayBeAbsent = Result.isSuccess(Requests.decodeParams(method, {}))
  return Schema.Struct({
    id,
    method: Schema.Literal(method),
    params: mayBeAbsent ? Schema.optionalKey(params) : params
  })
}

const response = (method: Requests.MethodName) =>
  Schema.Struct({ id, instance_id: Schema.String, result: Requests.table[method].result() as Schema.Constraint })

const event = (name: Events.EventName) =>
  Schema.Struct({
    event: Schema.Literal(name),
    instance_id: Schema.String,
    seq: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
    data: Events.table[name]() as Schema.Constraint
  })

const error = () =>
  Schema.Struct({
    id: Schema.NullOr(id),
    instance_id: Schema.String,
    error: Schema.Struct({
      code: Schema.Literals(codes),
      message: Schema.String.check(Schema.isMaxLength(messageCharacters)),
      details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
    })
  })

/** One document: each frame under `$defs` as `request:METHOD`, `result:METHOD`, `event:NAME` or `error`. */
export const document = (): { readonly [key: string]: unknown } => {
  const definitions: Record<string, unknown> = {}
  for (const method of Requests.methods) definitions[`request:${method}`] = schemaOf(request(method))
  for (const method of Requests.methods) definitions[`result:${method}`] = schemaOf(response(method))
  for (const name of Events.names) definitions[`event:${name}`] = schemaOf(event(name))
  definitions["error"] = schemaOf(error())
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Local-agent stdio protocol, version 1: every frame",
    anyOf: Object.keys(definitions).map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: definitions
  }
}

/** The document as the text that is kept under `schema/`. */
export const text = (): string => `${JSON.stringify(document(), null, 2)}\n`
