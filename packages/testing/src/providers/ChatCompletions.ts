/**
 * The Chat Completions API that OpenAI began and most gateways and local servers speak.
 *
 * Rule: it is as strict as the strictest of them: an answer to each call right behind it, user and assistant in turn.
 */
import { type Answer, deltas, pieces } from "./Answer.ts"
import { type Body, type Dialect, event, isObject, type Making, objects, type Refusal } from "./Dialect.ts"
import * as OpenAiTools from "./OpenAiTools.ts"

const refused = (message: string): Refusal => ({ status: 400, message })

const check = (body: Body): Refusal | null => {
  if (typeof body.model !== "string") return refused("you must provide a model parameter")
  if (body.stream !== true) return refused("This emulator only streams.")
  const messages = objects(body.messages)
  if (messages.length === 0) return refused("[] is too short - 'messages'")
  return checkMessages(messages) ??
    OpenAiTools.check(body.tools, (index) => `tools[${index}].function`, (tool) => tool.function)
}

const checkMessages = (messages: ReadonlyArray<Body>): Refusal | null => {
  const ids = new Set<unknown>()
  let open: Array<unknown> = []
  let last: unknown
  for (const [index, message] of messages.entries()) {
    if (message.role !== "tool" && open.length > 0) return unanswered(open)
    const fault = checkMessage(message, index, open, ids, last)
    if (fault !== null) return fault
    if (message.role === "tool") open = open.filter((id) => id !== message.tool_call_id)
    else open = objects(message.tool_calls).map((call) => call.id)
    last = message.role
  }
  return open.length > 0 ? unanswered(open) : null
}

const unanswered = (open: ReadonlyArray<unknown>): Refusal =>
  refused(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The " +
      `following tool_call_ids did not have response messages: ${open.join(", ")}`
  )

const checkMessage = (
  message: Body,
  index: number,
  open: ReadonlyArray<unknown>,
  ids: Set<unknown>,
  last: unknown
): Refusal | null => {
  switch (message.role) {
    case "system":
    case "developer":
      return index === 0 ? null : refused("System message must be at the beginning.")
    case "user":
    case "assistant": {
      if (message.role === last) {
        return refused(
          "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
        )
      }
      const calls = objects(message.tool_calls)
      const parts = typeof message.content === "string" ? message.content : objects(message.content)
      if (parts.length === 0 && calls.length === 0) {
        return refused(`Invalid value for 'messages[${index}].content': expected a string, got null.`)
      }
      return checkCalls(calls, index, ids)
    }
    case "tool":
      if (!open.includes(message.tool_call_id)) {
        return refused(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        )
      }
      return typeof message.content === "string" ? null : refused(`Invalid type for 'messages[${index}].content'.`)
    default:
      return refused(`Invalid value: '${String(message.role)}' for 'messages[${index}].role'.`)
  }
}

const checkCalls = (calls: ReadonlyArray<Body>, index: number, ids: Set<unknown>): Refusal | null => {
  for (const [at, call] of calls.entries()) {
    const path = `messages[${index}].tool_calls[${at}]`
    if (typeof call.id !== "string" || call.id === "") return refused(`Missing required parameter: '${path}.id'.`)
    if (ids.has(call.id)) return refused(`Duplicate value for 'tool_call_id' of ${call.id} in message[${index}]`)
    ids.add(call.id)
    if (call.type !== "function" || !isObject(call.function)) {
      return refused(`Missing required parameter: '${path}.function'.`)
    }
    if (typeof call.function.arguments !== "string") return refused(`Invalid type for '${path}.function.arguments'.`)
    const fault = OpenAiTools.nameFault(call.function.name, `${path}.function.name`)
    if (fault !== null) return fault
  }
  return null
}

const events = ({ answer, model, serial }: Making): ReadonlyArray<string> => {
  const made: Array<string> = []
  const chunk = (fields: object) =>
    made.push(
      event({ id: `chatcmpl-${serial}`, object: "chat.completion.chunk", created: 1_700_000_000, model, ...fields })
    )
  const say = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] })
  say({ role: "assistant", content: "" })
  if (answer.reasoning !== undefined) {
    for (const reasoning_content of pieces(answer.reasoning)) say({ reasoning_content })
  }
  for (const text of deltas(answer)) say(answer.stop === "refusal" ? { refusal: text } : { content: text })
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const id = call.id ?? `call_${serial}_${index}`
    say({ tool_calls: [{ index, id, type: "function", function: { name: call.name, arguments: "" } }] })
    for (const piece of pieces(call.arguments)) say({ tool_calls: [{ index, function: { arguments: piece } }] })
  }
  say({}, finishReason(answer))
  const { input, output } = answer.usage ?? { input: 0, output: 0 }
  chunk({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } })
  made.push(event("[DONE]"))
  return made
}

const finishReason = ({ calls = [], stop }: Answer): string => {
  if (stop === "length" || stop === "context") return "length"
  if (stop === "content_filter") return "content_filter"
  return calls.length > 0 ? "tool_calls" : "stop"
}

/** The dialect. */
export const dialect: Dialect = {
  name: "Chat Completions",
  path: "/v1/chat/completions",
  keyOf: OpenAiTools.keyOf,
  check,
  errorBody: OpenAiTools.errorBody,
  events,
  overloaded: event({ error: { message: "The server is overloaded", type: "server_error", param: null, code: 503 } }),
  keepAlive: ": keep-alive\n\n"
}
