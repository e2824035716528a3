/**
 * What the host may do around each tool call (HKS-2, PRM-1).
 *
 * Rule: a hook sees a call before it is bounded and asked for, and a result after it was protected; what it returns is
 * bounded, asked for and protected like the original.
 */
import type { JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The call a hook looks at; `arguments` is a JSON object as compact text. */
export interface HookedCall {
  readonly tool: string
  readonly callId: string
  readonly sessionId: string
  readonly runId: string
  readonly taskId: string | null
  readonly arguments: JsonText
}

/** A protected result as a hook sees and may replace it. */
export interface HookedResult {
  readonly status: "success" | "error"
  readonly text: string
  readonly structured?: JsonText
}

/** What a hook says before a call. */
export type BeforeVerdict =
  | { readonly allow: true; readonly arguments?: JsonText }
  | { readonly allow: false; readonly reason: string }

/** `after` returns undefined to leave the result as it is; a defect denies (before) or rejects (after). */
export interface ToolHooksService {
  readonly before: (call: HookedCall) => Effect.Effect<BeforeVerdict>
  readonly after: (call: HookedCall, result: HookedResult) => Effect.Effect<HookedResult | undefined>
}

/** The hooks in force; null means none, and then nothing is paid for them. */
export const ToolHooks = Context.Reference<ToolHooksService | null>("@errand/runtime/ToolHooks", {
  defaultValue: () => null
})
