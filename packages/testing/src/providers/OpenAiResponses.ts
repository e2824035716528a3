/**
 * OpenAI's Responses API, as far as an agent with function tools uses it.
 *
 * Rule: every function call has exactly one output after it, no reasoning stands alone, and nothing is stored here, so
 * that all of a conversation must come with each request.
 */
import { type Answer, deltas, pieces } from "./Answer.ts"
import { type Body, type Dialect, event, type Making, objects, type Refusal, signature } from "./Dialect.ts"
import * as OpenAiTools from "./OpenAiTools.ts"

const refused = (message: string, code?: string): Refusal => ({
  status: 400,
  message,
  ...(code === undefined ? {} : { code })
})

const check = (body: Body): Refusal | null => {
  if (typeof body.model !== "string") return refused("Missing required parameter: 'model'.")
  if (body.stream !== true) return refused("This emulator only streams.")
  if (body.store !== false) {
    return refused("Items are not persisted for organizations with Zero Data Retention enabled.")
  }
  return checkInput(objects(body.input)) ??
    OpenAiTools.check(body.tools, (index) => `tools[${index}]`, (tool) => tool)
}

const checkInput = (input: ReadonlyArray<Body>): Refusal | null => {
  if (input.length === 0) return refused("Missing required parameter: 'input'.")
  const open = new Set<unknown>()
  const known = new Set<unknown>()
  for (const [index, item] of input.entries()) {
    const fault = checkItem(item, input[index + 1], index, open, known)
    if (fault !== null) return fault
  }
  for (const id of open) return refused(`No tool output found for function call ${String(id)}.`)
  return null
}

const checkItem = (
  item: Body,
  next: Body | undefined,
  index: number,
  open: Set<unknown>,
  known: Set<unknown>
): Refusal | null => {
  switch (item.type ?? "message") {
    case "message": {
      if (item.role === "user") {
        for (const id of open) return refused(`No tool output found for function call ${String(id)}.`)
      }
      const empty = typeof item.content === "string" ? item.content === "" : objects(item.content).length === 0
      return empty ? refused(`Invalid 'input[${index}].content': empty content.`) : null
    }
    case "function_call": {
      if (known.has(item.call_id)) return refused(`Duplicate item found with id ${String(item.call_id)}.`)
      if (typeof item.call_id !== "string" || item.call_id.length > 64) {
        return refused(`Invalid 'input[${index}].call_id': string too long.`, "string_above_max_length")
      }
      if (typeof item.arguments !== "string") {
        return refused(`Invalid type for 'input[${index}].arguments'.`, "invalid_type")
      }
      open.add(item.call_id)
      known.add(item.call_id)
      return OpenAiTools.nameFault(item.name, `input[${index}].name`)
    }
    case "function_call_output":
      return open.delete(item.call_id)
        ? null
        : refused(`No tool call found for function call output with call_id ${String(item.call_id)}.`)
    case "reasoning":
      if (!signature.isOne(item.encrypted_content)) {
        return refused("The encrypted content for item could not be verified.", "invalid_encrypted_content")
      }
      return next !== undefined &&
          (next.type === "function_call" || next.role === "assistant" || next.type === "reasoning")
        ? null
        : refused(`Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`)
    default:
      return refused(`Invalid value: '${String(item.type)}' at 'input[${index}].type'.`, "invalid_value")
  }
}

const events = ({ answer, model, serial }: Making): ReadonlyArray<string> => {
  const made: Array<string> = []
  const say = (type: string, fields: object) =>
    made.push(event({ type, sequence_number: made.length, ...fields }, type))
  const response = { id: `resp_${serial}`, object: "response", created_at: 1_700_000_000, model, output: [] }
  say("response.created", { response: { ...response, status: "in_progress" } })
  say("response.in_progress", { response: { ...response, status: "in_progress" } })
  let index = 0
  if (answer.reasoning !== undefined) reason(say, index++, serial, answer.reasoning)
  const text = deltas(answer)
  if (text.length > 0) speak(say, index++, serial, text, answer.stop === "refusal")
  for (const [at, call] of (answer.calls ?? []).entries()) {
    const item = {
      id: `fc_${serial}_${at}`,
      type: "function_call",
      call_id: call.id ?? `call_${serial}_${at}`,
      name: call.name
    }
    const place = { output_index: index++, item_id: item.id }
    const cut = answer.stop === "length" && at === answer.calls!.length - 1
    say("response.output_item.added", { ...place, item: { ...item, arguments: "", status: "in_progress" } })
    for (const delta of pieces(call.arguments)) say("response.function_call_arguments.delta", { ...place, delta })
    if (!cut) say("response.function_call_arguments.done", { ...place, arguments: call.arguments })
    const status = cut ? "incomplete" : "completed"
    say("response.output_item.done", { ...place, item: { ...item, arguments: call.arguments, status } })
  }
  const end = ending(answer)
  const { input, output } = answer.usage ?? { input: 0, output: 0 }
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output
  }
  say(`response.${end === null ? "completed" : "incomplete"}`, {
    response: { ...response, status: end === null ? "completed" : "incomplete", incomplete_details: end, usage }
  })
  return made
}

const ending = ({ stop }: Answer): { readonly reason: string } | null =>
  stop === "length" || stop === "context"
    ? { reason: "max_output_tokens" }
    : stop === "content_filter"
    ? { reason: "content_filter" }
    : null

type Say = (type: string, fields: object) => void

const reason = (say: Say, index: number, serial: number, reasoning: string): void => {
  const id = `rs_${serial}`
  const place = { output_index: index, item_id: id }
  const part = { ...place, summary_index: 0 }
  say("response.output_item.added", { ...place, item: { id, type: "reasoning", summary: [], encrypted_content: "" } })
  say("response.reasoning_summary_part.added", { ...part, part: { type: "summary_text", text: "" } })
  for (const delta of pieces(reasoning)) say("response.reasoning_summary_text.delta", { ...part, delta })
  say("response.reasoning_summary_text.done", { ...part, text: reasoning })
  const summary = [{ type: "summary_text", text: reasoning }]
  say("response.reasoning_summary_part.done", { ...part, part: summary[0] })
  const encrypted_content = signature.of(reasoning)
  say("response.output_item.done", { ...place, item: { id, type: "reasoning", summary, encrypted_content } })
}

const speak = (say: Say, index: number, serial: number, text: ReadonlyArray<string>, refuses: boolean): void => {
  const item = { id: `msg_${serial}`, type: "message", role: "assistant" }
  const place = { output_index: index, item_id: item.id, content_index: 0 }
  const whole = text.join("")
  const content = refuses ? { type: "refusal", refusal: whole } : { type: "output_text", text: whole, annotations: [] }
  say("response.output_item.added", { output_index: index, item: { ...item, status: "in_progress", content: [] } })
  say("response.content_part.added", {
    ...place,
    part: refuses ? { ...content, refusal: "" } : { ...content, text: "" }
  })
  for (const delta of text) say(refuses ? "response.refusal.delta" : "response.output_text.delta", { ...place, delta })
  if (refuses) say("response.refusal.done", { ...place, refusal: whole })
  else say("response.output_text.done", { ...place, text: whole })
  say("response.content_part.done", { ...place, part: content })
  say("response.output_item.done", { output_index: index, item: { ...item, status: "completed", content: [content] } })
}

/** The dialect. */
export const dialect: Dialect = {
  name: "OpenAI Responses",
  path: "/v1/responses",
  keyOf: OpenAiTools.keyOf,
  check,
  errorBody: OpenAiTools.errorBody,
  events,
  overloaded: event({
    type: "error",
    sequence_number: 0,
    error: {
      type: "server_error",
      code: "server_is_overloaded",
      message: "Our servers are currently overloaded.",
      param: null
    }
  }, "error"),
  keepAlive: ": keep-alive\n\n"
}
