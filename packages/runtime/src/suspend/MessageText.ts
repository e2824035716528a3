/**
 * Messages as JSON text: how history lies in a state (SUS-1).
 *
 * Rule: a message is written once, by the run that added it; text that came from a store is never written anew.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import type { Message, ModelToolCall, Outcome, ToolResult } from "../ModelTurn.ts"

/** The text of a message. */
export const encode = (message: Message): string => {
  switch (message.role) {
    case "user":
      return `{"role":"user","text":${Json.quote(message.text)}}`
    case "assistant": {
      if (message.toolCalls.length === 0 && message.provider === undefined) {
        return `{"role":"assistant","text":${Json.quote(message.text)},"tool_calls":[]}`
      }
      const tool_calls = message.toolCalls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments }))
      return JSON.stringify({ role: "assistant", text: message.text, tool_calls, provider: message.provider })
    }
    case "tool": {
      const results = message.results.map((result) => ({
        id: result.id,
        name: result.name,
        outcome: result.outcome,
        content: result.content
      }))
      return JSON.stringify({ role: "tool", results })
    }
  }
}

type Shape = Readonly<Record<string, unknown>>

const isShape = (value: unknown): value is Shape => typeof value === "object" && value !== null

const has = (value: Shape, count: number): boolean => {
  let left = count
  for (const _ in value) left--
  return left === 0
}

const outcomes: ReadonlySet<unknown> = new Set<Outcome>(["success", "failure", "cancelled", "denied", "unknown"])

const isCall = (call: unknown): call is ModelToolCall =>
  isShape(call) && typeof call["id"] === "string" && typeof call["name"] === "string" &&
  typeof call["arguments"] === "string" && has(call, 3)

const isResult = (result: unknown): result is ToolResult =>
  isShape(result) && typeof result["id"] === "string" && typeof result["name"] === "string" &&
  outcomes.has(result["outcome"]) && typeof result["content"] === "string" && has(result, 4)

const read = (value: unknown): Message | null => {
  if (!isShape(value)) return null
  switch (value["role"]) {
    case "user":
      return typeof value["text"] === "string" && has(value, 2) ? value as unknown as Message : null
    case "assistant": {
      const { provider, text, tool_calls } = value
      if (typeof text !== "string" || !Array.isArray(tool_calls) || !tool_calls.every(isCall)) return null
      if (provider === undefined) return has(value, 3) ? { role: "assistant", text, toolCalls: tool_calls } : null
      return typeof provider === "string" && has(value, 4)
        ? { role: "assistant", text, toolCalls: tool_calls, provider: provider as JsonText }
        : null
    }
    case "tool":
      return Array.isArray(value["results"]) && value["results"].every(isResult) && has(value, 2)
        ? value as unknown as Message
        : null
    default:
      return null
  }
}

/**
 * The messages that texts hold, or the index of the first text that holds none. Their texts are not remembered: the state
 * holds them.
 */
export const decodeAll = (
  texts: ReadonlyArray<string>
): Result.Result<ReadonlyArray<Message>, { readonly index: number }> => {
  const messages: Array<Message> = []
  const complete = Result.try({
    try: () => {
      for (const text of texts) {
        const message = read(JSON.parse(text))
        if (message === null) return false
        messages.push(message)
      }
      return true
    },
    catch: () => false
  })
  return Result.isSuccess(complete) && complete.success
    ? Result.succeed(messages)
    : Result.fail({ index: messages.length })
}

/** The message that a text holds, or null when it holds none. */
export const decode = (text: string): Message | null => Result.getOrNull(decodeAll([text]))?.[0] ?? null

/** Texts as the members of a JSON array, without its brackets, in pieces of bounded size. */
export const quoteAll = (texts: Iterable<string>): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let piece = ""
  let first = true
  for (const text of texts) {
    piece += first ? Json.quote(text) : `,${Json.quote(text)}`
    first = false
    if (piece.length > 32_768) {
      pieces.push(piece)
      piece = ""
    }
  }
  if (piece !== "") pieces.push(piece)
  return pieces
}
