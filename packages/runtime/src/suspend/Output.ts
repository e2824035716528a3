/**
 * The output of an agent as its schema says (RUN-7).
 *
 * Rule: what the model is told of the schema and what its answer is judged by come from the same schema.
 */
import { DerivedSchema } from "@errand/protocol"
import * as Result from "effect/Result"
import { decoder, type JsonSchemaOf } from "./Declaration.ts"
import * as JsonValue from "./JsonValue.ts"

/** How final answers are read: `guidance` is for the system prompt, null where any text is an output. */
export interface OutputReader<out Output> {
  readonly guidance: string | null
  readonly read: (text: string) => Result.Result<Output, JsonValue.Fault>
}

/** Models like to put JSON into a fence; what is in it counts. */
const unfenced = (text: string): string => {
  const plain = text.trim()
  if (!plain.startsWith("```") || !plain.endsWith("```") || plain.length < 6) return plain
  const line = plain.indexOf("\n")
  return line < 0 ? plain : plain.slice(line + 1, -3).trim()
}

/** The reader for an output schema; without one the output is the text itself. */
export const reader = <Output>(schema: JsonSchemaOf<Output> | null): OutputReader<Output> => {
  if (schema === null) return { guidance: null, read: (text) => Result.succeed(text as Output) }
  const decode = decoder(schema, "output")
  const derived = DerivedSchema.derive(schema, "output")
  const words = "Your final answer must be one JSON value and nothing else."
  return {
    guidance: Result.isSuccess(derived)
      ? `${words} It must fit this JSON Schema: ${JSON.stringify(derived.success)}`
      : words,
    read: (text) => Result.flatMap(JsonValue.decodeExact(unfenced(text), "output"), decode)
  }
}

/** What the model is told of an answer that does not fit. */
export const correction = ({ path, rule }: JsonValue.Fault): string =>
  `The answer does not fit the output schema: ${path} ${rule}. Answer again with one JSON value that fits, and nothing else.`
