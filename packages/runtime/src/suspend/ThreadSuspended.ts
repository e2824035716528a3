/**
 * Why a prompt is not run on a suspended thread (RSM-8, faults D13).
 *
 * Rule: giving up what is pending is a decision of its own, so that nobody makes it by accident.
 */
import * as Data from "effect/Data"

/** Calls of the thread wait for answers; resume it with them, or abandon them. */
export class ThreadSuspended extends Data.TaggedError("ThreadSuspended")<{
  readonly details: { readonly threadId: string }
}> {
  readonly code = "thread_suspended"
  override get message(): string {
    return "The thread is suspended: resume it with the answers, or abandon what is pending."
  }
}
