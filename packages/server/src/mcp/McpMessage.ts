/**
 * JSON-RPC messages of the Model Context Protocol, read and written without loss (BLT-5, FRM-12).
 *
 * Rule: arguments, structured results and schemas stay the text that their author wrote; everything else is plain data
 * that nobody trusts.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"

/** How deep a server's message may nest. */
const MOST_DEPTH = 256

/** A message from a server. `id` of an answer is ours; that of a request is the server's, as JSON text. */
export type McpMessage =
  | { readonly _tag: "Answer"; readonly id: number; readonly result: unknown }
  | { readonly _tag: "Error"; readonly id: number; readonly code: number; readonly message: string }
  | { readonly _tag: "Request"; readonly id: JsonText; readonly method: string }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: unknown }
  /** What is none of these; `id` is that of the answer it was meant to be, where it can be told. */
  | { readonly _tag: "Invalid"; readonly id: number | undefined; readonly problem: string }

/** A member of plain data; undefined when the data is no object or lacks it. */
export const member = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined

/** A member that must be a string. */
export const text = (value: unknown, key: string): string | undefined => {
  const found = member(value, key)
  return typeof found === "string" ? found : undefined
}

// A message is at depth 1, its result at 2, the list of tools in it at 3, and each tool at 4; a batch is around it.
const opaque = (around: number) => (key: string, depth: number): boolean => {
  switch (depth - around) {
    case 1:
      return key === "id"
    case 2:
      return key === "structuredContent"
    case 4:
      return key === "inputSchema"
    default:
      return false
  }
}

/** Reads the message of a text, or those of a batch, which one of the revisions has. */
export const read = (json: string): ReadonlyArray<McpMessage> => {
  const around = json.trimStart().startsWith("[") ? 1 : 0
  const parsed = Json.parse(json, { maxDepth: MOST_DEPTH + around, opaque: opaque(around) })
  if (Result.isSuccess(parsed)) return each(parsed.success).map(readOne)
  // strictness must not leave a call without an end
  const ids = Result.try(() => each(JSON.parse(json)).map((message) => member(message, "id")))
  const problem = `is no strict JSON: ${parsed.failure.message}`
  return Result.getOrElse(ids, () => [undefined]).map((id) => invalid(id, problem))
}

const each = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : [value]

const readOne = (message: unknown): McpMessage => {
  const given = member(message, "id")
  const method = text(message, "method")
  if (method !== undefined) {
    return given instanceof Json.Opaque
      ? { _tag: "Request", id: given.text, method }
      : { _tag: "Notification", method, params: member(message, "params") }
  }
  const id: unknown = given instanceof Json.Opaque ? JSON.parse(given.text) : undefined
  const error = member(message, "error")
  if (typeof id !== "number") return invalid(undefined, "has no id that we gave")
  if (error !== undefined) {
    const code = member(error, "code")
    return { _tag: "Error", id, code: typeof code === "number" ? code : 0, message: text(error, "message") ?? "" }
  }
  const result = member(message, "result")
  return result === undefined ? invalid(id, "has neither result nor error") : { _tag: "Answer", id, result }
}

const invalid = (id: unknown, problem: string): McpMessage => ({
  _tag: "Invalid",
  id: typeof id === "number" ? id : undefined,
  problem: `the message ${problem}`
})

/** A request of ours. */
export const request = (id: number, method: string, params: JsonText): JsonText =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}` as JsonText

/** A notification of ours. */
export const notification = (method: string, params: JsonText = "{}" as JsonText): JsonText =>
  `{"jsonrpc":"2.0","method":"${method}","params":${params}}` as JsonText

/** The answer to a server's request: that we live, or that we offer no such thing. */
export const reply = (id: JsonText, method: string): JsonText =>
  (method === "ping"
    ? `{"jsonrpc":"2.0","id":${id},"result":{}}`
    : `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"not supported by this client"}}`) as JsonText
