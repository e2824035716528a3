/**
 * What arguments must be before a call may go on (CAL-4).
 *
 * Rule: arguments are a JSON object as lossless text; what a client gets is also within the wire's bounds, and nothing is
 * ever cut to fit.
 */
import { Json, type JsonText, type Limits } from "@errand/protocol"
import * as Result from "effect/Result"
import type { CatalogTool } from "./Catalog.ts"
import type { ToolOutcome } from "./ToolExecutor.ts"

/** Arguments that may be executed; `depth` counts containers, the object itself as one. */
export interface BoundedArguments {
  readonly text: JsonText
  readonly depth: number
}

/** Containers around `arguments` in the frame of a call: the frame and its data (FRM-5). */
const CALL_ENVELOPE_DEPTH = 2

/** Bytes around `arguments` in the frame of a call: keys, six identities and numbers, never more than this (FRM-3). */
const CALL_ENVELOPE_BYTES = 1024

const refused = (tool: CatalogTool, what: "invalid_arguments" | "payload_limit", message: string): ToolOutcome => ({
  _tag: "Refused",
  code: tool.kind === "client" ? `client_tool_${what}` : what,
  message: `${message} The call was not executed.`
})

/** Checks a model's or a hook's raw arguments; blank text counts as `{}`. */
export const check = (
  tool: CatalogTool,
  raw: string,
  limits: Limits.LimitValues
): Result.Result<BoundedArguments, ToolOutcome> => {
  if (raw.trim() === "") return Result.succeed({ text: "{}" as JsonText, depth: 1 })
  const { arguments_bytes } = limits.clientTools
  if (tool.kind === "client" && raw.length > limits.base.input_frame_bytes * 4) {
    return Result.fail(refused(tool, "payload_limit", `The arguments are larger than ${arguments_bytes} bytes.`))
  }
  const read = Json.compact(raw, { maxDepth: 256 })
  if (Result.isFailure(read)) {
    const deep = read.failure.rule === "depth"
    return Result.fail(
      refused(
        tool,
        deep ? "payload_limit" : "invalid_arguments",
        `The arguments are no valid JSON: ${read.failure.message}.`
      )
    )
  }
  const { depth, kind, text } = read.success
  if (kind !== "object") {
    return Result.fail(refused(tool, "invalid_arguments", `The arguments are ${kind}, but must be a JSON object.`))
  }
  if (tool.kind !== "client") return Result.succeed({ text, depth })
  const bytes = Json.byteLength(text)
  if (bytes > arguments_bytes) {
    return Result.fail(
      refused(tool, "payload_limit", `The arguments have ${bytes} bytes; at most ${arguments_bytes} can be sent.`)
    )
  }
  if (depth + CALL_ENVELOPE_DEPTH > limits.base.json_depth) {
    return Result.fail(
      refused(
        tool,
        "payload_limit",
        `The arguments are ${depth} containers deep; at most ${
          limits.base.json_depth - CALL_ENVELOPE_DEPTH
        } can be sent.`
      )
    )
  }
  if (bytes + CALL_ENVELOPE_BYTES > limits.base.output_frame_bytes) {
    return Result.fail(refused(tool, "payload_limit", "The arguments do not fit into one frame."))
  }
  return Result.succeed({ text, depth })
}
