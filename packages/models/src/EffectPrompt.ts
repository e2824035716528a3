/**
 * Conversations as prompts of `effect/ai`, and what has to be kept of an answer to show it to its provider again.
 *
 * Rule: what is kept goes back only to the provider that it came from; everybody else sees texts, calls and results. No
 * message is made that a strict provider refuses: none is empty, and no two user messages follow each other.
 */
import type { JsonText } from "@errand/protocol"
import type { Message, ModelRequest } from "@errand/runtime"
import type { Alias } from "@errand/runtime/suspend"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as ParsedJson from "./ParsedJson.ts"
import * as ProviderRules from "./ProviderRules.ts"

/** Who reads a prompt: the provider, and the names under which it knows the tools. */
export interface Reader {
  readonly provider: string
  readonly names: Alias.Aliases
}

/**
 * Reasoning, and the options that providers attach to texts and calls (signatures, item ids); `calls` in call order.
 *
 * Goes back as: all reasoning, then the text, then the calls. It is stored with the session: version 1, the only one so
 * far; what has another version, adapter or provider is ignored.
 */
const Kept = Schema.Struct({
  adapter: Schema.Literal("effect/ai"),
  version: Schema.Literal(1),
  provider: Schema.String,
  reasoning: Schema.Array(Schema.Struct({ text: Schema.String, options: Prompt.ProviderOptions })),
  text: Prompt.ProviderOptions,
  calls: Schema.Array(Prompt.ProviderOptions)
})

const decodeKept = Schema.decodeUnknownResult(Schema.fromJsonString(Kept))

/** What the provider wants back unchanged of the parts of an answer; null where that is nothing. */
export const keep = (provider: string, parts: ReadonlyArray<Response.AnyPart>): JsonText | null => {
  const reasoning: Array<(typeof Kept.Type)["reasoning"][number]> = []
  const calls: Array<Prompt.ProviderOptions> = []
  let text: Prompt.ProviderOptions = {}
  for (const message of Prompt.fromResponseParts(parts).content) {
    for (const part of message.role === "assistant" ? message.content : []) {
      if (part.type === "reasoning") reasoning.push({ text: part.text, options: part.options })
      if (part.type === "text") text = { ...text, ...part.options }
      if (part.type === "tool-call" && !part.providerExecuted) calls.push(part.options)
    }
  }
  if (reasoning.length === 0 && [text, ...calls].every((options) => Object.keys(options).length === 0)) return null
  return JSON.stringify(
    { adapter: "effect/ai", version: 1, provider, reasoning, text, calls } satisfies typeof Kept.Type
  ) as JsonText
}

/**
 * The prompt of a request. Arguments and results go as parsed values; a number in them that a double cannot hold goes
 * as a string of its digits, so that the model reads what it wrote.
 */
export const make = (reader: Reader, { instructions, messages }: ModelRequest): Prompt.Prompt => {
  const prompt: Array<Prompt.Message> = []
  if (instructions !== null && !ProviderRules.isBlank(instructions)) {
    prompt.push(Prompt.systemMessage({ content: instructions }))
  }
  for (const message of messages) {
    const next = said(reader, message)
    const last = prompt.at(-1)
    if (next?.role === "user" && last?.role === "user") {
      prompt[prompt.length - 1] = Prompt.userMessage({ content: [...last.content, ...next.content] })
    } else if (next !== null) prompt.push(next)
  }
  return Prompt.fromMessages(prompt)
}

const said = (reader: Reader, message: Message): Prompt.Message | null => {
  switch (message.role) {
    case "user":
      return Prompt.userMessage({ content: [Prompt.textPart({ text: ProviderRules.saidOf(message.text) })] })
    case "assistant": {
      const content = answered(reader, message)
      return content.some((part) => part.type !== "reasoning") ? Prompt.assistantMessage({ content }) : null
    }
    case "tool":
      return Prompt.toolMessage({
        content: message.results.map(({ content, id, name, outcome }) =>
          Prompt.toolResultPart({
            id,
            name: reader.names.toProvider(name),
            isFailure: outcome !== "success",
            result: ParsedJson.fromText(content).value,
            providerExecuted: false
          })
        )
      })
  }
}

const answered = (
  reader: Reader,
  { provider, text, toolCalls }: Message & { readonly role: "assistant" }
): ReadonlyArray<Prompt.AssistantMessagePart> => {
  const kept = provider === undefined ? undefined : Result.getOrUndefined(decodeKept(provider))
  const own = kept?.provider === reader.provider ? kept : undefined
  return [
    ...(own?.reasoning ?? []).map((part) => Prompt.reasoningPart(part)),
    ...(ProviderRules.isBlank(text) ? [] : [Prompt.textPart({ text, options: own?.text ?? {} })]),
    ...toolCalls.map((call, index) =>
      Prompt.toolCallPart({
        id: call.id,
        name: reader.names.toProvider(call.name),
        params: ParsedJson.fromText(call.arguments).value,
        providerExecuted: false,
        options: own?.calls[index] ?? {}
      })
    )
  ]
}
