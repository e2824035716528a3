/**
 * Schemas that several messages share, and the one way in which a message is decoded (REQ-10).
 *
 * Rule: a schema that describes an object of the wire is closed, absent and null differ, and a fault is told by its place
 * and by what was expected, never by what was there (REQ-5).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as IssuePath from "./IssuePath.ts"
import type { JsonText } from "./Json.ts"
import { step } from "./JsonScanner.ts"
import { WireError } from "./WireError.ts"

/** A value that is made on first use and kept; building schemas is the larger part of loading this package. */
export const lazy = <A>(make: () => A): () => A => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}

/**
 * A member that travels as opaque JSON text; `json` is what JSON Schema says about it. `Any`, because what is said of an
 * `Unknown` does not come through.
 */
export const opaque = (json: Record<string, unknown>): Schema.Codec<JsonText> =>
  Schema.Any.check(
    Schema.makeFilter((value) => typeof value === "string" || "expected JSON", { toJsonSchema: () => json })
  ) as unknown as Schema.Codec<JsonText>

/** A string or null, the two being different from absence. */
export const nullable = Schema.NullOr(Schema.String)

/** A count. */
export const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "MissingKey") return "missing"
    const excess = issue._tag === "UnexpectedKey" || issue._tag === "InvalidType" && issue.ast._tag === "Never"
    return excess ? "unknown field" : SchemaIssue.defaultLeafHook(issue)
  }
})

/** The first fault of a decoding, as `invalid_params`. */
export const faultOf = (error: Schema.SchemaError): WireError => {
  const issue = format(error.issue).issues[0]
  const message = issue?.message ?? "not valid"
  return WireError.invalidParams(IssuePath.told(issue?.path, step), message.charAt(0).toLowerCase() + message.slice(1))
}

/** A strict decoder: excess keys are faults. */
export const strict = <A>(schema: Schema.Codec<A, unknown>): (value: unknown) => Result.Result<A, WireError> => {
  const decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
  return (value) => Result.mapError(decode(value), faultOf)
}

/** A tolerant decoder for what a server says: fields of later versions are dropped. */
export const tolerant = <A>(schema: Schema.Codec<A, unknown>): (value: unknown) => Result.Result<A, WireError> => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value) => Result.mapError(decode(value), faultOf)
}
