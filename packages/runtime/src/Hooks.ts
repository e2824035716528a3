/**
 * What the host may do around each tool call (HKS-2, PRM-1).
 *
 * Rule: a hook sees a call before it is bounded and asked for, and a result after it was protected; what it returns is
 * bounded, asked for and protected like the original.
 */
import type { JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as OwnFault from "./OwnFault.ts"

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

/** The result may not be seen; `reason` is for the model and is protected before it gets there. */
export class HookRejected extends Data.TaggedError("HookRejected")<{ readonly reason: string }> {}

/**
 * `after` returns undefined to leave the result as it is. A hook that throws, dies or interrupts itself denies (before) or
 * rejects (after).
 */
export interface ToolHooksService {
  readonly before: (call: HookedCall) => Effect.Effect<BeforeVerdict>
  readonly after: (call: HookedCall, result: HookedResult) => Effect.Effect<HookedResult | undefined, HookRejected>
}

/** The hooks in force; null means none, and then nothing is paid for them. */
export const ToolHooks = Context.Reference<ToolHooksService | null>("@errand/runtime/ToolHooks", {
  defaultValue: () => null
})

const broken = new HookRejected({ reason: "it failed" })

const isRejection = (error: unknown): error is HookRejected => error instanceof HookRejected

/** Asks before a call; a hook that fails denies. */
export const askBefore = (hooks: ToolHooksService, call: HookedCall): Effect.Effect<BeforeVerdict> =>
  OwnFault.judged(`a hook of ${call.tool}`, () => hooks.before(call), { allow: false, reason: broken.reason })

/** Asks after a call; a hook that fails rejects. */
export const askAfter = (
  hooks: ToolHooksService,
  call: HookedCall,
  result: HookedResult
): Effect.Effect<HookedResult | HookRejected | undefined> =>
  OwnFault.judged(
    `a hook of ${call.tool}`,
    () => Effect.catchIf(OwnFault.effectOf(hooks.after(call, result)), isRejection, Effect.succeed),
    broken
  )
