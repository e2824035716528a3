/**
 * A tool call on its way through the pipeline.
 *
 * Rule: what has happened to it is written on it as it happens, so that whoever cuts it off knows what to say of it.
 */
import type { Ids, JsonText } from "@errand/protocol"
import type * as Bounds from "./Bounds.ts"
import type { Answered, DeferredOutcome } from "./ToolExecutor.ts"

/** A call on its way; `name` and `id` are legal. */
export interface AttemptedCall extends Answered {
  readonly id: string
  /** The name the model used, which the catalog looks up. */
  readonly asked: string
  /** The name that history and events show. */
  readonly name: string
  readonly arguments: Bounds.ReadArguments
  readonly activityId: Ids.ActivityId
  /** Set when the executor was given the call: from then on it may have executed. */
  started: boolean
  /**
   * The question for permission was asked before and answered with yes, for this very call and for it alone (RSM-2): the
   * arguments as hooks had left them, which are what may run; or true for arguments that the host gave itself.
   */
  readonly approved?: JsonText | true
  /** Set when the arguments were not what the tool takes. */
  misfit?: boolean
}

/** A call of an assistant message that is recorded already. */
export interface PipelineCall extends AttemptedCall {
  readonly messageId: Ids.MessageId
  readonly index: number
  /** Set when its result is recorded. */
  settled: boolean
  /** Set when the call ends its step unanswered. */
  deferred: DeferredOutcome | undefined
}
