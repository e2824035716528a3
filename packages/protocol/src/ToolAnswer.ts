/**
 * What a tool answers to one call: a status, a text, and perhaps a structured value as JSON text (RES-1, RES-2). It is the
 * same whether the answer goes over the wire or to a runner in the same process.
 *
 * Rule: a structured value is absent, null or a value, three different things; `undefined` always means absent as a whole
 * and is refused inside of a value (faults E12). No digit is lost: exact numbers beyond a double go in as text, with
 * `structuredText`, or as a `Json.JsonNumber` inside of a value.
 */
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"
import * as Json from "./Json.ts"
import type { JsonText } from "./Json.ts"
import * as Limits from "./Limits.ts"

/** One answer; make it with the functions below. */
export class ToolAnswer {
  readonly status: "success" | "error"
  readonly text: string
  /** Compact JSON; undefined is absence. */
  readonly structured: JsonText | undefined
  constructor(status: "success" | "error", text: string, structured: JsonText | undefined) {
    this.status = status
    // A lone surrogate is no text; a frame that held one would be refused and the call left pending (FRM-7, faults E1).
    this.text = text.toWellFormed()
    this.structured = structured
  }
}

/** What may nest in a result: its frame and its params are containers too (FRM-5). */
const deepest = Limits.defaults.base.json_depth - 2

/** An answer that is only text. */
export const text = (value: string): ToolAnswer => new ToolAnswer("success", value, undefined)

/** An answer that says what went wrong, perhaps with details as plain JSON. */
export const error = (message: string, details?: unknown): ToolAnswer => make("error", message, details)

/** An answer with a plain JSON value, `null` included; the text is empty unless one is given. */
export const structured = (value: unknown, text = ""): ToolAnswer => make("success", text, value)

/** An answer with a value given as JSON text, whose digits and key order reach the model unchanged (FRM-12). */
export const structuredText = (json: string, text = ""): ToolAnswer => {
  const compact = Json.compact(json, { maxDepth: deepest })
  return Result.isSuccess(compact)
    ? new ToolAnswer("success", text, compact.success.text)
    : error(`The tool answered with something that is not JSON: ${compact.failure.message}`)
}

/** The answer to whatever a handler returned without a schema: text, nothing, a ready answer, or plain JSON. */
export const fromValue = (value: unknown): ToolAnswer =>
  typeof value === "string"
    ? text(value)
    : value instanceof ToolAnswer
    ? value
    : make("success", "", value)

/** The answer itself if it keeps `result_bytes`, else an error that says by how much it does not (RES-6). */
export const within = (answer: ToolAnswer, mostBytes: number): ToolAnswer => {
  const { structured, text } = answer
  // A UTF-16 unit is at most three bytes.
  if ((text.length + (structured?.length ?? 0)) * 3 <= mostBytes) return answer
  const bytes = Json.byteLength(text) + (structured === undefined ? 0 : Json.byteLength(structured))
  return bytes <= mostBytes
    ? answer
    : error(`The tool's answer has ${bytes} bytes, at most ${mostBytes} are allowed.`)
}

const interrupted = new ToolAnswer("error", "The tool was interrupted.", undefined)

const failed = new ToolAnswer("error", "The tool failed.", undefined)

/** The answer of a handler that ended without one: it was interrupted, or had a fault of its own. */
export const unanswered = (cause: Cause.Cause<unknown>): ToolAnswer => Cause.hasInterrupts(cause) ? interrupted : failed

const make = (status: "success" | "error", message: string, value: unknown): ToolAnswer => {
  if (value === undefined) return new ToolAnswer(status, message, undefined)
  const node = Json.fromPlain(value)
  if (Result.isFailure(node)) {
    return error(`The tool answered with something that JSON cannot hold: ${place(node.failure)}`)
  }
  return nestsDeeper(node.success, deepest)
    ? error(`The tool answered with a value of more than ${deepest} nested containers`)
    : new ToolAnswer(status, message, Json.write(node.success))
}

const nestsDeeper = (node: Json.JsonNode, left: number): boolean => {
  if (node === null || typeof node !== "object" || node instanceof Json.JsonNumber) return false
  if (left === 0) return true
  for (const inner of node.values()) if (nestsDeeper(inner, left - 1)) return true
  return false
}

const place = (fault: Json.JsonFault): string => fault.path === "" ? fault.message : `${fault.path}: ${fault.message}`
