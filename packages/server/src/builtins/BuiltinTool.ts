/**
 * A tool that the server itself executes (BLT-1).
 *
 * Rule: arguments are decoded against a closed schema before anything happens, and whatever goes wrong is an outcome
 * that the model reads, never a failure of the fiber.
 */
import type { JsonText } from "@errand/protocol"
import { ToolArguments, type ToolOutcome } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Excerpt from "./Excerpt.ts"

/** One built-in tool as the catalog, the approvals and the executor see it. */
export interface BuiltinTool {
  readonly name: string
  readonly description: string
  /** A closed object schema in the subset of section 8. */
  readonly inputSchema: JsonText
  /** Whether it only looks, so that the profile `inspect` offers it (BLT-2). */
  readonly inspection: boolean
  /** Whether it needs approval where no rule says otherwise (HKS-1). */
  readonly asks: boolean
  /** What the call would do, in at most about 2,000 characters; unprotected. */
  readonly summary: (args: JsonText) => string
  /** Runs the tool; interruption ends its work at once. */
  readonly execute: (args: JsonText) => Effect.Effect<ToolOutcome>
}

/** Characters of a summary; a longer one says how many more there are. */
const SUMMARY_CHARACTERS = 2000

/** What a built-in is made from; `run` may end early by failing with the outcome. */
export interface Definition<A> {
  readonly name: string
  readonly description: string
  /** The `properties` of the input schema, as plain JSON. */
  readonly properties: Readonly<Record<string, Readonly<Record<string, string | number>>>>
  readonly required: ReadonlyArray<string>
  readonly arguments: Schema.ConstraintDecoder<unknown> & { readonly Type: A }
  readonly inspection: boolean
  readonly asks: boolean
  readonly summary: (args: A) => string
  readonly run: (args: A) => Effect.Effect<ToolOutcome, ToolOutcome>
}

/** A string that is not empty and can be handed to the system, which ends strings at a NUL. */
export const NonEmpty = Schema.String.check(
  Schema.isMinLength(1),
  Schema.makeFilter((text) => !text.includes("\0") || "Expected a string without NUL")
)

/** An integer from 1, exact as a double. */
export const Positive = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** What the tool told when it went well. */
export const success = (text: string): ToolOutcome => ({ _tag: "Success", text })

/** What the tool told when it could not do what was asked. */
export const failure = (text: string): ToolOutcome => ({ _tag: "Failure", text })

/** A call that was turned away before it did anything. */
export const refused = (code: string, message: string): ToolOutcome => ({ _tag: "Refused", code, message })

/** Makes a tool of its definition. */
export const make = <A>(definition: Definition<A>): BuiltinTool => {
  const decode = ToolArguments.decoder(() => definition.arguments)
  return {
    name: definition.name,
    description: definition.description,
    inputSchema: JSON.stringify({
      type: "object",
      properties: definition.properties,
      required: definition.required,
      additionalProperties: false
    }) as JsonText,
    inspection: definition.inspection,
    asks: definition.asks,
    summary: (args) =>
      Result.match(decode(args), {
        onFailure: () => `${definition.name} with invalid arguments`,
        onSuccess: (decoded) => Excerpt.clip(definition.summary(decoded), SUMMARY_CHARACTERS)
      }),
    execute: (args) =>
      Result.match(decode(args), {
        onFailure: Effect.succeed,
        onSuccess: (decoded) => Effect.catch(definition.run(decoded), Effect.succeed)
      })
  }
}
