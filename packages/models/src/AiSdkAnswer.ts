/**
 * An answer of the AI SDK, part by part, as model events (MDL-1, MDL-3).
 *
 * Rule: text goes on at once; calls are told when the answer is complete, so that a call which was cut off is never taken
 * for a whole one and an answer that broke off before its first text can be asked for again.
 */
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider"
import { type ModelEvent, ModelFailed } from "@errand/runtime"
import * as Result from "effect/Result"
import * as AiSdkPrompt from "./AiSdkPrompt.ts"
import { AnswerCalls, brokenOff } from "./AnswerCalls.ts"

/** What one part brings: events to hand on, or the end of it all. `error` is the provider's, to be read by its owner. */
export type Taken =
  | { readonly _tag: "Events"; readonly events: ReadonlyArray<ModelEvent> }
  | { readonly _tag: "Failed"; readonly error: unknown }

type Part<Type extends LanguageModelV4StreamPart["type"]> = Extract<LanguageModelV4StreamPart, { type: Type }>

/** A part that is not yet kept; a call has no text of its own. */
interface Draft {
  readonly type: AiSdkPrompt.KeptPart["type"]
  text: string
  options: AiSdkPrompt.KeptPart["options"]
}

const nothing: Taken = { _tag: "Events", events: [] }

/** The answer so far. */
export class Answer {
  private readonly reader: AiSdkPrompt.Reader
  private readonly drafts: Array<Draft> = []
  private readonly open = new Map<string, Draft>()
  private readonly calls = new AnswerCalls()
  private finish: { readonly reason: LanguageModelV4FinishReason; readonly usage: LanguageModelV4Usage } | undefined

  constructor(reader: AiSdkPrompt.Reader) {
    this.reader = reader
  }

  /** Takes the next part. */
  take(part: LanguageModelV4StreamPart): Taken {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.begin(typeOf(part), part)
        return nothing
      case "text-delta":
        return this.text(this.begun("text", part), part.delta)
      case "reasoning-delta":
        this.begun("reasoning", part).text += part.delta
        return nothing
      case "text-end":
      case "reasoning-end":
        this.begun(typeOf(part), part)
        this.open.delete(key(typeOf(part), part.id))
        return nothing
      case "tool-input-start":
        if (part.providerExecuted !== true) this.calls.begin(part.id, this.reader.names.toDeclared(part.toolName))
        return nothing
      case "tool-input-delta":
        this.calls.piece(part.id, part.delta)
        return nothing
      case "tool-call":
        if (part.providerExecuted === true) this.calls.executed()
        else this.call(part)
        return nothing
      case "file":
        return this.text(this.begin("text", { id: "" }), `[A file of type ${part.mediaType} was left out here.]`)
      case "finish":
        this.finish = { reason: part.finishReason, usage: part.usage }
        return nothing
      case "error":
        return { _tag: "Failed", error: part.error }
      default:
        return nothing
    }
  }

  /** What is left to tell once the provider has ended the stream. */
  end(): Result.Result<ReadonlyArray<ModelEvent>, ModelFailed> {
    const { finish } = this
    if (finish === undefined) return Result.fail(brokenOff)
    const refused = this.refusalOf(finish.reason)
    if (refused !== null) return Result.fail(refused)
    // calls that were cut off had no part of their own
    const parts = this.drafts.filter(({ type }) => type === "call").length
    this.drafts.push(...this.calls.told.slice(parts).map((): Draft => ({ type: "call", text: "", options: {} })))
    const provider = AiSdkPrompt.keep(this.reader, this.drafts.map(kept))
    const { inputTokens, outputTokens } = finish.usage
    return Result.succeed([
      ...this.calls.told.map((call): ModelEvent => ({ _tag: "ToolCall", call })),
      ...(provider === null ? [] : [{ _tag: "Provider", provider } as const]),
      { _tag: "Finish", usage: { inputTokens: inputTokens.total ?? 0, outputTokens: outputTokens.total ?? 0 } }
    ])
  }

  /** Why an answer that ended this way is none; null when it is one. */
  private refusalOf({ raw, unified }: LanguageModelV4FinishReason): ModelFailed | null {
    switch (unified) {
      case "interrupted":
        return brokenOff
      case "other":
        return raw === undefined ? brokenOff : this.calls.refusalOf(unified)
      case "content-filter":
        // a model that declines in words of its own ends as it always does; only a filter leaves its name
        return this.calls.refusalOf(raw === undefined || raw === "stop" ? "stop" : unified)
      case "length":
        return raw === "model_context_window_exceeded"
          ? new ModelFailed({ code: "context_overflow", message: "the answer no longer fitted into the context" })
          : this.calls.refusalOf(unified)
      default:
        return this.calls.refusalOf(unified)
    }
  }

  private begin(type: "text" | "reasoning", { id, providerMetadata }: Metadata): Draft {
    const draft: Draft = { type, text: "", options: AiSdkPrompt.withMetadata({}, providerMetadata) }
    this.drafts.push(draft)
    this.open.set(key(type, id), draft)
    return draft
  }

  private begun(type: "text" | "reasoning", metadata: Metadata): Draft {
    const draft = this.open.get(key(type, metadata.id))
    if (draft === undefined) return this.begin(type, metadata)
    draft.options = AiSdkPrompt.withMetadata(draft.options, metadata.providerMetadata)
    return draft
  }

  private text(draft: Draft, text: string): Taken {
    if (text === "") return nothing
    draft.text += text
    return { _tag: "Events", events: [{ _tag: "TextDelta", text }] }
  }

  private call({ input, providerMetadata, toolCallId, toolName }: Call): void {
    this.drafts.push({ type: "call", text: "", options: AiSdkPrompt.withMetadata({}, providerMetadata) })
    this.calls.tell({ id: toolCallId, name: this.reader.names.toDeclared(toolName), arguments: input })
  }
}

type Metadata = Pick<Part<"text-start">, "id" | "providerMetadata">
type Call = Pick<Part<"tool-call">, "input" | "toolCallId" | "toolName" | "providerMetadata">

const typeOf = ({ type }: { readonly type: string }) => type.startsWith("text") ? "text" : "reasoning"

const kept = ({ options, text, type }: Draft): AiSdkPrompt.KeptPart =>
  type === "text"
    ? { type, length: text.length, options }
    : type === "call"
    ? { type, options }
    : { type, text, options }

const key = (type: "text" | "reasoning", id: string): string => `${type} ${id}`
