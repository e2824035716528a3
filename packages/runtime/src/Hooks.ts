/**
 * What the host may do around each tool call (HKS-2, PRM-1).
 *
 * Rule: a hook sees a call before it is bounded and asked for, and a result after it was protected; what it returns is
 * bounded, asked for and protected like the original.
 */
import type { JsonText } from "@errand/protocol"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

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

/** `after` returns undefined to leave the result as it is; a defect denies (before) or rejects (after). */
export interface ToolHooksService {
  readonly before: (call: HookedCall) => Effect.Effect<BeforeVerdict>
  readonly after: (call: HookedCall, result: HookedResult) => Effect.Effect<HookedResult | undefined, HookRejected>
}

/** The hooks in force; null means none, and then nothing is paid for them. */
export const ToolHooks = Context.Reference<ToolHooksService | null>("@errand/runtime/ToolHooks", {
  defaultValue: () => null
})

/** Interrupts the fiber if somebody has. */
const ifInterrupted = Effect.uninterruptibleMask((restore) => restore(Effect.void))

/** What a hook that failed by a fault of its own comes to, interrupting itself included; who is interrupted stays so. */
const broken = <A>(call: HookedCall, verdict: A) => (cause: Cause.Cause<never>): Effect.Effect<A> =>
  Effect.andThen(ifInterrupted, Effect.as(Effect.logError(`a hook of ${call.tool} failed`, cause), verdict))

/** Asks before a call; a hook that fails denies. */
export const askBefore = (hooks: ToolHooksService, call: HookedCall): Effect.Effect<BeforeVerdict> =>
  Effect.catchCause(hooks.before(call), broken<BeforeVerdict>(call, { allow: false, reason: "it failed" }))

/** Asks after a call; a hook that fails rejects. */
export const askAfter = (
  hooks: ToolHooksService,
  call: HookedCall,
  result: HookedResult
): Effect.Effect<HookedResult | HookRejected | undefined> =>
  hooks.after(call, result).pipe(
    Effect.catch((rejection) => Effect.succeed(rejection)),
    Effect.catchCause(broken<HookedResult | HookRejected | undefined>(call, new HookRejected({ reason: "it failed" })))
  )
