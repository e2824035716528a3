/**
 * Anthropic's Messages API, as far as an agent with client tools uses it.
 *
 * Rule: each tool use has its one result at the head of the next message, ids are never used twice, thoughts come back
 * with the signature that they got, and no block of text is blank.
 */
import { type Answer, deltas, pieces } from "./Answer.ts"
import { type Body, type Dialect, event, isObject, type Making, objects, type Refusal, signature } from "./Dialect.ts"

const refused = (message: string): Refusal => ({ status: 400, message })

const name = /^[a-zA-Z0-9_-]{1,128}$/

const check = (body: Body): Refusal | null => {
  if (typeof body.model !== "string") return refused("model: Field required")
  if (typeof body.max_tokens !== "number") return refused("max_tokens: Field required")
  if (body.stream !== true) return refused("This emulator only streams.")
  const messages = objects(body.messages)
  if (messages.length === 0) return refused("messages: at least one message is required")
  if (messages.at(-1)!.role !== "user") {
    return refused(
      "This model does not support assistant message prefill. The conversation must end with a user message."
    )
  }
  return checkSystem(body.system) ?? checkMessages(messages) ?? checkTools(body.tools)
}

const isBlank = (text: unknown): boolean => typeof text !== "string" || text.trim() === ""

const blankText = refused("messages: text content blocks must contain non-whitespace text")

const checkSystem = (system: unknown): Refusal | null =>
  objects(system).some((block) => isBlank(block.text)) ? refused("system: text content blocks must be non-empty") : null

const contentOf = ({ content }: Body): ReadonlyArray<Body> =>
  typeof content === "string" ? [{ type: "text", text: content }] : objects(content)

const checkMessages = (messages: ReadonlyArray<Body>): Refusal | null => {
  const ids = new Set<unknown>()
  let open: ReadonlyArray<unknown> = []
  for (const [index, message] of messages.entries()) {
    const content = contentOf(message)
    if (content.length === 0) {
      return refused(
        `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
      )
    }
    const results = checkResults(content, open, index)
    if (results !== null) return results
    open = []
    for (const [at, block] of content.entries()) {
      const fault = checkBlock(block, `messages.${index}.content.${at}`, ids)
      if (fault !== null) return fault
    }
    if (message.role === "assistant") open = content.flatMap((block) => block.type === "tool_use" ? [block.id] : [])
  }
  return null
}

/** The results of a message against the tool uses of the one before; only what stands before all other blocks counts. */
const checkResults = (content: ReadonlyArray<Body>, open: ReadonlyArray<unknown>, index: number): Refusal | null => {
  const others = content.findIndex((block) => block.type !== "tool_result")
  const head = content.slice(0, others === -1 ? content.length : others).map((block) => block.tool_use_id)
  const missing = open.filter((id) => !head.includes(id))
  if (missing.length > 0) {
    return refused(
      `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
        `${
          missing.join(", ")
        }. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    )
  }
  for (const [at, block] of content.entries()) {
    if (block.type !== "tool_result") continue
    if (!open.includes(block.tool_use_id)) {
      return refused(
        `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ` +
          `${
            String(block.tool_use_id)
          }. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the ` +
          "previous message."
      )
    }
    if (head.indexOf(block.tool_use_id) !== at) {
      return refused(
        `messages.${index}.content.${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks ` +
          `with id: ${String(block.tool_use_id)}`
      )
    }
  }
  return null
}

const checkBlock = (block: Body, path: string, ids: Set<unknown>): Refusal | null => {
  switch (block.type) {
    case "text":
      return isBlank(block.text) ? blankText : null
    case "thinking":
      return signature.matches(block.signature, block.thinking)
        ? null
        : refused(`${path}: Invalid \`signature\` in \`thinking\` block`)
    case "tool_use":
      if (typeof block.id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(block.id)) {
        return refused(`${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
      }
      if (ids.has(block.id)) return refused(`${path}: \`tool_use\` ids must be unique`)
      ids.add(block.id)
      if (typeof block.name !== "string" || !name.test(block.name)) {
        return refused(`${path}.tool_use.name: String should match pattern '${name.source}'`)
      }
      return isObject(block.input) ? null : refused(`${path}.tool_use.input: Input should be a valid dictionary`)
    case "tool_result":
      return typeof block.content === "string" || Array.isArray(block.content)
        ? null
        : refused(`${path}.tool_result.content: Input should be a valid list`)
    default:
      return refused(
        `${path}: Input tag '${String(block.type)}' found using 'type' does not match any of the expected tags`
      )
  }
}

const checkTools = (tools: unknown): Refusal | null => {
  const names = new Set<unknown>()
  for (const [index, tool] of objects(tools).entries()) {
    const path = `tools.${index}.custom`
    if (typeof tool.name !== "string" || !name.test(tool.name)) {
      return refused(`${path}.name: String should match pattern '${name.source}'`)
    }
    if (names.has(tool.name)) return refused("tools: Tool names must be unique.")
    names.add(tool.name)
    const schema = tool.input_schema
    if (!isObject(schema)) return refused(`${path}.input_schema: Field required`)
    if (schema.type !== "object") return refused(`${path}.input_schema.type: Input should be 'object'`)
    if (["oneOf", "anyOf", "allOf"].some((keyword) => keyword in schema)) {
      return refused(`${path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`)
    }
    const properties = isObject(schema.properties) ? Object.keys(schema.properties) : []
    if (properties.some((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key))) {
      return refused(`${path}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`)
    }
  }
  return null
}

const events = ({ answer, model, serial }: Making): ReadonlyArray<string> => {
  const made: Array<string> = []
  const say = (type: string, fields: object) => made.push(event({ type, ...fields }, type))
  const { input, output } = answer.usage ?? { input: 0, output: 0 }
  const message = { id: `msg_${serial}`, type: "message", role: "assistant", model, content: [] }
  const started = {
    ...message,
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: 1 }
  }
  say("message_start", { message: started })
  let index = 0
  const block = (content_block: object, deltas: ReadonlyArray<object>) => {
    say("content_block_start", { index, content_block })
    for (const delta of deltas) say("content_block_delta", { index, delta })
    say("content_block_stop", { index: index++ })
  }
  if (answer.reasoning !== undefined) {
    block({ type: "thinking", thinking: "", signature: "" }, [
      ...pieces(answer.reasoning).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: signature.of(answer.reasoning) }
    ])
  }
  const text = deltas(answer)
  if (text.length > 0) block({ type: "text", text: "" }, text.map((text) => ({ type: "text_delta", text })))
  for (const [at, call] of (answer.calls ?? []).entries()) {
    block(
      { type: "tool_use", id: call.id ?? `toolu_${serial}_${at}`, name: call.name, input: {} },
      ["", ...pieces(call.arguments)].map((partial_json) => ({ type: "input_json_delta", partial_json }))
    )
  }
  say("message_delta", {
    delta: { stop_reason: stopReason(answer), stop_sequence: null },
    usage: { output_tokens: output }
  })
  say("message_stop", {})
  return made
}

const stopReason = ({ calls = [], stop }: Answer): string => {
  switch (stop) {
    case "length":
      return "max_tokens"
    case "context":
      return "model_context_window_exceeded"
    case "content_filter":
    case "refusal":
      return "refusal"
    default:
      return calls.length > 0 ? "tool_use" : "end_turn"
  }
}

const types: { readonly [status: number]: string } = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error"
}

const error = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_1" })

/** The dialect. */
export const dialect: Dialect = {
  name: "Anthropic Messages",
  path: "/v1/messages",
  keyOf: (headers) => headers["anthropic-version"] === undefined ? undefined : headers["x-api-key"],
  check,
  errorBody: ({ message, status }) =>
    JSON.stringify(error(types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error"), message)),
  events,
  overloaded: event(error("overloaded_error", "Overloaded"), "error"),
  keepAlive: event({ type: "ping" }, "ping")
}
