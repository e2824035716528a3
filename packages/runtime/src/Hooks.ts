/**
 * What the host may do around each tool call (HKS-2, PRM-1).
 *
 * Rule: a hook sees a call before it is bounded and asked for, and a result after it was protected; what it returns is
 * bounded, asked for and protected like the original.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
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
export class HookRejected extends Data.TaggedError("HookRejected")<{ readonly reason: string }> {
  override get message(): string {
    return `a hook rejected the result: ${this.reason}`
  }
}

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

/** A verdict as it was given, or a defect: a program may say anything. */
const verdictOf = (given: BeforeVerdict): BeforeVerdict => {
  const said = given.allow === true ? given.arguments ?? "" : given.allow === false ? given.reason : null
  if (typeof said !== "string") throw new TypeError("it gave no verdict")
  return given
}

/** A replacement with its structured value compact, or a defect: it is shown and recorded as it is. */
const replacementOf = (given: HookedResult | undefined): HookedResult | undefined => {
  if (given === undefined) return undefined
  const { status, structured, text } = given
  if (typeof text !== "string" || (status !== "success" && status !== "error")) throw new TypeError("it gave no result")
  if (structured === undefined) return { status, text }
  const compact = Json.compact(structured, { maxDepth: Json.deepest })
  if (Result.isFailure(compact)) throw new TypeError(`its structured value is no JSON: ${compact.failure.message}`)
  return { status, text, structured: compact.success.text }
}

/** Asks before a call; a hook that fails denies. */
export const askBefore = (hooks: ToolHooksService, call: HookedCall): Effect.Effect<BeforeVerdict> =>
  OwnFault.judged(`a hook of ${call.tool}`, () => Effect.map(OwnFault.effectOf(hooks.before(call)), verdictOf), {
    allow: false,
    reason: broken.reason
  })

/** Asks after a call; a hook that fails rejects. */
export const askAfter = (
  hooks: ToolHooksService,
  call: HookedCall,
  result: HookedResult
): Effect.Effect<HookedResult | HookRejected | undefined> =>
  OwnFault.judged(
    `a hook of ${call.tool}`,
    () =>
      Effect.catchIf(
        Effect.map(OwnFault.effectOf(hooks.after(call, result)), replacementOf),
        isRejection,
        Effect.succeed
      ),
    broken
  )
