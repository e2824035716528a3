/**
 * What a run has used, and how much it may use (TRN-3, RUN-6).
 *
 * Rule: a bound is looked at before what it bounds: nothing is asked or executed beyond it.
 */
import * as Data from "effect/Data"

/** How much one run may use; `tokens` counts input and output together (RUN-6). */
export interface Bounds {
  readonly modelRequests: number
  readonly toolCalls: number
  readonly tokens: number
  /** How often in a row the model may be asked again because what it wrote did not fit (RUN-4, RUN-7). */
  readonly retries: number
}

/** What a run has used so far; grows in place. */
export interface Usage {
  inputTokens: number
  outputTokens: number
  modelRequests: number
  toolCalls: number
}

/** Nothing used yet. */
export const noUsage = (): Usage => ({ inputTokens: 0, outputTokens: 0, modelRequests: 0, toolCalls: 0 })

/** The run used up one of its own bounds (RUN-6). */
export class UsageLimitExceeded extends Data.TaggedError("UsageLimitExceeded")<{
  readonly bound: keyof Bounds
  readonly limit: number
}> {
  override get message(): string {
    return `the run used up its bound of ${this.limit} ${this.bound}`
  }
}

/** Why no further model request may be made, or null. */
export const reached = (bounds: Bounds, usage: Usage): UsageLimitExceeded | null =>
  usage.modelRequests >= bounds.modelRequests
    ? new UsageLimitExceeded({ bound: "modelRequests", limit: bounds.modelRequests })
    : usage.inputTokens + usage.outputTokens > bounds.tokens
    ? new UsageLimitExceeded({ bound: "tokens", limit: bounds.tokens })
    : null
