/**
 * The one port to a model: a model turn as a stream of events (MDL-1).
 *
 * Rule: arguments and results cross this port as text, so that no digit is lost; tool calls cross it undecided, and
 * whoever implements it never runs a tool.
 */
import type { JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Stream from "effect/Stream"

/** A tool call as the model made it: nothing of it is checked yet; `arguments` is raw text, perhaps no JSON. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** How a tool call ended, in the words of TRN-3. */
export type Outcome = "success" | "failure" | "cancelled" | "denied" | "unknown"

/**
 * The result of one tool call as the model reads it again and again.
 *
 * `content` is compact JSON text: `{"text","structured"?}`, or `{"error":{"code","message"},"text"?,"structured"?}`.
 */
export interface ToolResult {
  readonly id: string
  readonly name: string
  readonly outcome: Outcome
  readonly content: JsonText
}

/**
 * A message of the conversation. The messages of a request satisfy SES-11: each assistant message with calls is followed
 * by one `tool` message that holds exactly one result per call, in call order.
 */
export type Message =
  | { readonly role: "user"; readonly text: string }
  | {
    readonly role: "assistant"
    readonly text: string
    readonly toolCalls: ReadonlyArray<ModelToolCall>
    /** What the provider wants back unchanged (reasoning, signatures): compact JSON text of the adapter's own. */
    readonly provider?: JsonText
  }
  | { readonly role: "tool"; readonly results: ReadonlyArray<ToolResult> }

/** A tool as the model is offered it; `inputSchema` is the declared schema, unchanged (SCH-5). */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonText
}

/**
 * One model request. `agent` tells a scripted model whose turn it is: null for the root, else the task's description;
 * `subagentId` is the same agent's identity, for whoever watches (OBS-1).
 */
export interface ModelRequest {
  readonly instructions: string | null
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<OfferedTool>
  readonly agent: string | null
  readonly subagentId?: string | null
}

/** Tokens of one model request; 0 where the provider does not tell. */
export interface ModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What happens in a model turn. `Finish` is the last event and comes exactly once. */
export type ModelEvent =
  | { readonly _tag: "TextDelta"; readonly text: string }
  | { readonly _tag: "ToolCall"; readonly call: ModelToolCall }
  | { readonly _tag: "Provider"; readonly provider: JsonText }
  | { readonly _tag: "Finish"; readonly usage: ModelUsage }

/**
 * The model request failed; `message` is the provider's, not yet protected (TRN-7, MDL-3, MDL-5).
 *
 * `retryable` tells a transient failure; `retryAfterMs` is how long the provider asks to wait.
 */
export class ModelFailed extends Data.TaggedError("ModelFailed")<{
  readonly code: "model_failed" | "context_overflow"
  readonly message: string
  readonly retryable?: boolean
  readonly retryAfterMs?: number
}> {}

/** Runs one model turn; the caller decides about the tool calls (MDL-1). */
export class ModelTurn extends Context.Service<ModelTurn, {
  readonly provider: string
  readonly name: string
  readonly turn: (request: ModelRequest) => Stream.Stream<ModelEvent, ModelFailed>
}>()("@errand/runtime/ModelTurn") {}
