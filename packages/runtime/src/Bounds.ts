/**
 * What arguments must be before a call may go on (CAL-4).
 *
 * Rule: arguments are a JSON object as lossless text; what a client gets is also within the wire's bounds, and nothing is
 * ever cut to fit.
 */
import { Json, type JsonText, type Limits, Wire } from "@errand/protocol"
import * as Result from "effect/Result"
import type { CatalogTool } from "./Catalog.ts"
import type { ToolOutcome } from "./ToolExecutor.ts"

/** Arguments that may be executed; `depth` counts containers, the object itself as one. */
export interface BoundedArguments {
  readonly text: JsonText
  readonly depth: number
}

/** Bytes around `arguments` in the frame of a call: keys, six identities and numbers, never more than this (FRM-3). */
const CALL_ENVELOPE_BYTES = 1024

const refused = (tool: CatalogTool, what: "invalid_arguments" | "payload_limit", message: string): ToolOutcome => ({
  _tag: "Refused",
  code: tool.kind === "client" ? `client_tool_${what}` : what,
  message: `${message} The call was not executed.`
})

/** How deep a model's arguments may nest at all; what a client gets is bounded more narrowly. */
const MOST_DEPTH = 256

/** What a raw text of arguments is; blank text counts as `{}` (CAL-4). */
export type ReadArguments =
  | ({ readonly _tag: "Object" } & BoundedArguments)
  | { readonly _tag: "Invalid"; readonly what: "invalid_arguments" | "payload_limit"; readonly problem: string }

/** Reads arguments once; what is recorded and what is executed both come from this. */
export const read = (raw: string): ReadArguments => {
  if (raw.trim() === "") return { _tag: "Object", text: "{}" as JsonText, depth: 1 }
  const value = Json.compact(raw, { maxDepth: MOST_DEPTH })
  if (Result.isFailure(value)) {
    const { message, rule } = value.failure
    const what = rule === "depth" ? "payload_limit" : "invalid_arguments"
    return { _tag: "Invalid", what, problem: `The arguments are no valid JSON: ${message}.` }
  }
  const { depth, kind, text } = value.success
  return kind === "object"
    ? { _tag: "Object", text, depth }
    : { _tag: "Invalid", what: "invalid_arguments", problem: `The arguments are ${kind}, but must be a JSON object.` }
}

/** Arguments as a provider takes them back: an object, `{}` in the place of what was none (SES-11). */
export const recorded = (given: ReadArguments): JsonText => given._tag === "Object" ? given.text : "{}" as JsonText

/** Checks arguments that were read against what the tool may be given. */
export const check = (
  tool: CatalogTool,
  given: ReadArguments,
  limits: Limits.LimitValues
): Result.Result<BoundedArguments, ToolOutcome> => {
  if (given._tag === "Invalid") return Result.fail(refused(tool, given.what, given.problem))
  const misfit = tool.misfit === undefined ? null : tool.misfit(given.text)
  if (misfit !== null) return Result.fail(refused(tool, "invalid_arguments", misfit))
  if (tool.kind !== "client") return Result.succeed(given)
  const { arguments_bytes } = limits.clientTools
  const most = limits.base.json_depth - Wire.containersAroundArguments
  const room = Math.min(arguments_bytes, limits.base.output_frame_bytes - CALL_ENVELOPE_BYTES)
  // A UTF-16 code unit takes at most three bytes, so most arguments need no count.
  const bytes = given.text.length * 3 <= room ? given.text.length : Json.byteLength(given.text)
  const fail = (problem: string) => Result.fail(refused(tool, "payload_limit", problem))
  if (bytes > arguments_bytes) return fail(`The arguments have ${bytes} bytes; at most ${arguments_bytes} can be sent.`)
  if (given.depth > most) return fail(`The arguments are ${given.depth} containers deep; at most ${most} can be sent.`)
  if (bytes + CALL_ENVELOPE_BYTES > limits.base.output_frame_bytes) {
    return fail("The arguments do not fit into a frame.")
  }
  return Result.succeed(given)
}
