/**
 * Values of a program's schemas and their JSON form, in both directions (DCL-2, RUN-7).
 *
 * Rule: what a schema does not take is told with its path, and a schema that fails itself takes nothing: none of them
 * throws at whoever asks.
 */
import { JsonCodec } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Redaction from "../Redaction.ts"
import * as JsonValue from "./JsonValue.ts"

/** A schema without services whose values have a JSON form. */
export type JsonSchemaOf<A> = Schema.Codec<A, unknown>

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const misfitOf = (cause: Cause.Cause<Schema.SchemaError>, root: string): JsonValue.Fault => {
  const error = Cause.squash(cause)
  if (!Schema.isSchemaError(error)) {
    const why = error instanceof Error ? error.message : "it threw something"
    return { path: root, rule: `cannot be told, since its schema failed: ${Redaction.protectMessage(why, 200)}` }
  }
  const issue = formatIssue(error.issue).issues[0]
  const path = (issue?.path ?? []).map((part) => typeof part === "object" ? part.key : part)
  return { path: JsonValue.formatPath(root, path), rule: issue?.message ?? "does not fit the schema" }
}

/**
 * Decodes JSON values with a schema's JSON form, strictly; the fault's path begins with `root`. A schema that throws, or
 * that cannot decode at once, has not decoded.
 */
export const decoder = <A>(
  schema: JsonSchemaOf<A>,
  root: string
): (value: unknown) => Result.Result<A, JsonValue.Fault> => {
  const decode = Schema.decodeUnknownExit(JsonCodec.of(schema), { onExcessProperty: "error" })
  return (value) => {
    const exit = decode(value)
    return Exit.isSuccess(exit) ? Result.succeed(exit.value) : Result.fail(misfitOf(exit.cause, root))
  }
}

/** The value in its JSON form, or why it has none; the fault's path is `root`. */
export const encoder = <A>(
  schema: JsonSchemaOf<A>,
  root: string
): (value: unknown) => Result.Result<unknown, JsonValue.Fault> => {
  const encode = Schema.encodeUnknownExit(JsonCodec.of(schema))
  return (value) => {
    const exit = encode(value)
    return Exit.isSuccess(exit) ? Result.succeed(exit.value) : Result.fail(misfitOf(exit.cause, root))
  }
}

/** Decodes the text of arguments with a schema, strictly; a number that would round is refused (SUS-1). */
export const argumentsDecoder = <A>(
  schema: JsonSchemaOf<A>
): (text: string) => Result.Result<A, JsonValue.Fault> => {
  const decode = decoder(schema, "arguments")
  return (text) => Result.flatMap(JsonValue.decodeExact(text, "arguments"), decode)
}
