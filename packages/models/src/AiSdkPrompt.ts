/**
 * Conversations as prompts of the AI SDK, and what has to be kept of an answer to show it to its model again.
 *
 * Rule: what is kept goes back only to the model that it came from; everybody else sees texts, calls and results. No
 * message is made that a strict provider refuses: none is empty, and no two user messages follow each other.
 */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import type { JsonText } from "@errand/protocol"
import type { Message, ModelRequest, ModelToolCall, OfferedTool } from "@errand/runtime"
import type { Alias } from "@errand/runtime/suspend"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as ExactJson from "./ExactJson.ts"
import * as ProviderRules from "./ProviderRules.ts"

/** Who reads the prompt: the model as the AI SDK names it, and the names under which it knows the tools. */
export interface Reader {
  readonly provider: string
  readonly modelId: string
  readonly names: Alias.Aliases
}

const Options = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json))

/** One part of an answer as it was said; the text itself, and the calls, stand in the message. */
const KeptPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, options: Options }),
  /** `length` in UTF-16 units. */
  Schema.Struct({ type: Schema.Literal("text"), length: Schema.Int, options: Options }),
  Schema.Struct({ type: Schema.Literal("call"), options: Options })
])

/** One part of an answer in the order of the answer. */
export type KeptPart = typeof KeptPart.Type

/**
 * What is stored with an assistant message: version 1, the only one so far. What has another version, adapter, provider
 * or model is ignored, and so is what does not fit the message.
 */
const Kept = Schema.Struct({
  adapter: Schema.Literal("ai-sdk"),
  version: Schema.Literal(1),
  provider: Schema.String,
  model: Schema.String,
  parts: Schema.Array(KeptPart)
})

const decodeKept = Schema.decodeUnknownResult(Schema.fromJsonString(Kept))

/** The parts of an answer as text to keep; null where a model would learn nothing from them. */
export const keep = (
  { modelId, provider }: Pick<Reader, "modelId" | "provider">,
  parts: ReadonlyArray<KeptPart>
): JsonText | null => {
  const tells = parts.some((part) => part.type === "reasoning" || Object.keys(part.options).length > 0)
  if (!tells) return null
  return JSON.stringify(
    { adapter: "ai-sdk", version: 1, provider, model: modelId, parts } satisfies typeof Kept.Type
  ) as JsonText
}

/** The options of a part so far and what the provider adds to them. */
export const withMetadata = (
  options: KeptPart["options"],
  added: SharedV4ProviderMetadata | undefined
): KeptPart["options"] => {
  if (added === undefined) return options
  const merged: { [provider: string]: KeptPart["options"][string] } = { ...options }
  for (const [provider, values] of Object.entries(added)) {
    merged[provider] = { ...merged[provider], ...values as KeptPart["options"][string] }
  }
  return merged
}

/**
 * The tools under the names of the reader, each schema as it was declared (SCH-5).
 *
 * The library for OpenAI takes out of schemas what OpenAI may refuse, which would loosen them: it is given schemas that
 * cannot be looked into. Other libraries may have to translate them.
 */
export const offer = (
  { names, provider }: Pick<Reader, "names" | "provider">,
  tools: ReadonlyArray<OfferedTool>
): Array<LanguageModelV4FunctionTool> => {
  const sealed = ProviderRules.familyOf(provider) === "openai"
  return tools.map(({ description, inputSchema, name }) => {
    const schema = ExactJson.fromText(inputSchema)
    return {
      type: "function",
      name: names.toProvider(name),
      description,
      inputSchema: (sealed ? { toJSON: () => schema } : schema) as LanguageModelV4FunctionTool["inputSchema"]
    }
  })
}

/**
 * Makes the prompts of requests. A message is translated once, since a conversation is asked again with each turn: who
 * holds messages must not change them.
 */
export const maker = (reader: Reader): (request: ModelRequest) => LanguageModelV4Prompt => {
  const known = new WeakMap<Message, LanguageModelV4Message | null>()
  const sayOnce = (message: Message): LanguageModelV4Message | null => {
    let said = known.get(message)
    if (said === undefined) known.set(message, said = say(reader, message))
    return said
  }
  return ({ instructions, messages }) => {
    const prompt: Array<LanguageModelV4Message> = []
    if (instructions !== null && !ProviderRules.isBlank(instructions)) {
      prompt.push({ role: "system", content: instructions })
    }
    for (const message of messages) {
      const said = sayOnce(message)
      const last = prompt.at(-1)
      if (said?.role === "user" && last?.role === "user") {
        prompt[prompt.length - 1] = { role: "user", content: [...last.content, ...said.content] }
      } else if (said !== null) prompt.push(said)
    }
    return prompt
  }
}

const say = (reader: Reader, message: Message): LanguageModelV4Message | null => {
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text: ProviderRules.saidOf(message.text) }] }
    case "assistant": {
      const content = answered(reader, message)
      return content.some((part) => part.type !== "reasoning") ? { role: "assistant", content } : null
    }
    case "tool":
      return {
        role: "tool",
        content: message.results.map(({ content, id, name, outcome }) => ({
          type: "tool-result",
          toolCallId: id,
          toolName: reader.names.toProvider(name),
          output: { type: outcome === "success" ? "text" : "error-text", value: content }
        }))
      }
  }
}

type Assistant = Message & { readonly role: "assistant" }
type Content = (LanguageModelV4Message & { role: "assistant" })["content"]

const answered = (reader: Reader, message: Assistant): Content => {
  const { text, toolCalls } = message
  const content: Content = []
  let said = 0
  let called = 0
  for (const part of partsOf(reader, message)) {
    const providerOptions = part.options as SharedV4ProviderMetadata
    if (part.type === "reasoning") content.push({ type: "reasoning", text: part.text, providerOptions })
    else if (part.type === "call") content.push({ ...callPart(reader, toolCalls[called++]!), providerOptions })
    else {
      const piece = text.slice(said, said += part.length)
      if (!ProviderRules.isBlank(piece)) content.push({ type: "text", text: piece, providerOptions })
    }
  }
  return content
}

/** The kept parts where they are the reader's own and cover the message, else the plain ones. */
const partsOf = (reader: Reader, { provider, text, toolCalls }: Assistant): ReadonlyArray<KeptPart> => {
  const kept = provider === undefined ? undefined : Result.getOrUndefined(decodeKept(provider))
  if (kept !== undefined && kept.provider === reader.provider && kept.model === reader.modelId) {
    let length = 0
    let calls = 0
    for (const part of kept.parts) {
      if (part.type === "text") length += part.length
      if (part.type === "call") calls++
    }
    if (length === text.length && calls === toolCalls.length) return kept.parts
  }
  return [
    { type: "text", length: text.length, options: {} },
    ...toolCalls.map(() => ({ type: "call", options: {} }) as const)
  ]
}

const callPart = ({ names }: Reader, { arguments: text, id, name }: ModelToolCall) => ({
  type: "tool-call" as const,
  toolCallId: id,
  toolName: names.toProvider(name),
  input: ExactJson.fromText(text)
})
