/**
 * Arguments into typed values, and what a handler did into an answer.
 *
 * Rule: everything here is total: whatever comes in, a value or an answer comes out, and no stack trace goes out (CLI-1,
 * CLI-2). A number whose digits a double cannot hold is refused with its path, never rounded (faults E7).
 */
import { clip, Decimal, IssuePath, Json, JsonCodec, type JsonText, SchemaCheck, ToolAnswer } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { makeFormatterStandardSchemaV1 } from "effect/SchemaIssue"

/** A schema that needs no services. */
export type Codec = Schema.ConstraintCodec<unknown, unknown>

/** The arguments as the handler takes them, or what is wrong and where. */
export type Arguments<A> =
  | { readonly _tag: "Arguments"; readonly value: A }
  | { readonly _tag: "Mismatch"; readonly detail: string }

/** Only these may hold a number that a double cannot; everything else skips the slow look. */
const maybeInexact = /(?:^|[:,[])-?(?:[\d.]{16}|[\d.]+[eE][-+]?\d{3})/

const readPlain = (argumentsText: JsonText): Arguments<unknown> => {
  if (maybeInexact.test(argumentsText)) {
    const node = Json.read(argumentsText)
    const path = Result.isSuccess(node) ? inexact(node.success, "") : ""
    if (path !== undefined) return mismatch(`${path.replace(/^\./, "")}: the number has more digits than can be kept`)
  }
  // The text has been checked by the protocol's own reader; this one is only faster.
  return { _tag: "Arguments", value: JSON.parse(argumentsText) }
}

const mismatch = (detail: string): Arguments<never> => ({ _tag: "Mismatch", detail })

/** A reader that checks arguments against a JSON Schema and leaves them as they are. */
export const textReader = (schema: Json.JsonNode): (argumentsText: JsonText) => Arguments<JsonText> => {
  // Patterns are the program's own; one that is no expression is a fault of its declaration.
  const check = SchemaCheck.compile(schema, (problem) => {
    throw new SyntaxError(problem)
  })
  return (argumentsText) => {
    const node = Json.read(argumentsText)
    if (Result.isFailure(node)) return mismatch(node.failure.message)
    const misfit = check(node.success)
    return misfit === undefined
      ? { _tag: "Arguments", value: argumentsText }
      : mismatch(SchemaCheck.describe(misfit))
  }
}

/** A reader that checks arguments against a JSON Schema and makes plain data of them, exactly or not at all. */
export const plainReader = (schema: Json.JsonNode): (argumentsText: JsonText) => Arguments<unknown> => {
  const read = textReader(schema)
  return (argumentsText) => {
    const checked = read(argumentsText)
    return checked._tag === "Arguments" ? readPlain(argumentsText) : checked
  }
}

/** A reader for the arguments of one tool; excess keys are refused, as its schema says. */
export const argumentsReader = <S extends Codec>(schema: S): (argumentsText: JsonText) => Arguments<S["Type"]> => {
  const decode = Schema.decodeUnknownExit(JsonCodec.of(schema), { onExcessProperty: "error" })
  return (argumentsText) => {
    const plain = readPlain(argumentsText)
    if (plain._tag === "Mismatch") return plain
    const exit = decode(plain.value)
    return Exit.isSuccess(exit)
      ? { _tag: "Arguments", value: exit.value }
      : mismatch(faultOf(exit.cause))
  }
}

/** Turns what a handler returned into an answer; without a schema the value itself says what it is. */
export const successWriter = (schema: Codec | undefined): (value: unknown) => ToolAnswer.ToolAnswer => {
  if (schema === undefined) return ToolAnswer.fromValue
  const encode = Schema.encodeUnknownExit(JsonCodec.of(schema))
  return (value) => {
    if (value instanceof ToolAnswer.ToolAnswer) return value
    const exit = encode(value)
    if (Exit.isFailure(exit)) {
      return new ToolAnswer.ToolAnswer(
        "error",
        `The tool's own answer does not fit its schema: ${faultOf(exit.cause)}`,
        undefined
      )
    }
    // The schema accepted nothing as an answer, so nothing is what is said, not null.
    if (value === undefined) return ToolAnswer.text("")
    return typeof exit.value === "string" ? ToolAnswer.text(exit.value) : ToolAnswer.structured(exit.value)
  }
}

/** Turns the failure of a handler into an answer: a typed one with its fields, any other as a plain message. */
export const failureWriter = (schema: Codec | undefined): (cause: Cause.Cause<unknown>) => ToolAnswer.ToolAnswer => {
  const encode = schema === undefined ? undefined : Schema.encodeUnknownExit(JsonCodec.of(schema))
  return (cause) => {
    const failed = cause.reasons.find(Cause.isFailReason)
    if (failed === undefined) {
      const died = cause.reasons.find(Cause.isDieReason)
      return died === undefined ? ToolAnswer.unanswered(cause) : failure(died.defect)
    }
    if (failed.error instanceof ToolAnswer.ToolAnswer) {
      return new ToolAnswer.ToolAnswer("error", failed.error.text, failed.error.structured)
    }
    const exit = encode?.(failed.error)
    if (exit === undefined || Exit.isFailure(exit) || typeof exit.value === "string") return failure(failed.error)
    const answer = ToolAnswer.structured(exit.value, messageOf(failed.error))
    return new ToolAnswer.ToolAnswer("error", answer.text, answer.structured)
  }
}

/** The answer for whatever was thrown; says the message and nothing of the stack. */
export const failure = (thrown: unknown): ToolAnswer.ToolAnswer =>
  new ToolAnswer.ToolAnswer("error", messageOf(thrown), undefined)

const messageOf = (thrown: unknown): string => {
  const message = typeof thrown === "string" ? thrown : (thrown as { readonly message?: unknown } | null)?.message
  if (typeof message !== "string" || message.trim() === "") return "The tool failed."
  // Messages of child processes and wrapped errors often hold a whole stack.
  return clip(message.split(/\n\s+at /, 1)[0]!, messageCharacters)
}

const messageCharacters = 2000

const format = makeFormatterStandardSchemaV1()

const faultOf = (cause: Cause.Cause<Schema.SchemaError>): string => {
  const error = Cause.squash(cause)
  return Schema.isSchemaError(error) ? issues(error.issue) : messageOf(error)
}

const issues = (issue: SchemaIssue.Issue): string => {
  const found = format(issue).issues.map(({ message, path }) => {
    const where = IssuePath.told(path)
    return where === "" ? message : `${where}: ${message}`
  })
  return clip(found.join("; "), messageCharacters)
}

const inexact = (node: Json.JsonNode, path: string): string | undefined => {
  if (node instanceof Json.JsonNumber) return Decimal.isExact(node.text) ? undefined : path
  if (node === null || typeof node !== "object") return undefined
  for (const [key, inner] of node.entries()) {
    const found = inexact(inner, path + IssuePath.step(key))
    if (found !== undefined) return found
  }
  return undefined
}
