/**
 * How a run ended: one tagged union, and no other combination (RUN-1).
 *
 * Rule: whatever ended the run, the state that it leaves is valid: the next run can go on from it.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Message } from "../ModelTurn.ts"
import type { Usage } from "../UsageBounds.ts"
import type { State } from "./State.ts"
import type { Suspension } from "./Stored.ts"

/** What every end tells; `messages` are those that this run added, `runId` is new for every run. */
export interface Ended {
  readonly threadId: string
  readonly runId: string
  /** The run that started this one as its child; null for others (CHD-1). */
  readonly parentRunId: string | null
  /** What this run used. */
  readonly usage: Readonly<Usage>
  readonly messages: ReadonlyArray<Message>
}

/** The model answered. */
export interface Completed<out Output> extends Ended {
  readonly _tag: "Completed"
  readonly output: Output
  readonly state: State
}

/** Calls wait for the host; `suspension` is all there is to store. `input` is what did not reach the model yet, if anything. */
export interface Suspended extends Ended {
  readonly _tag: "Suspended"
  readonly suspension: Suspension
  /** An input or a prompt that comes after the pending calls: the one who resumes gives it again (HRN-D31). */
  readonly input: string | null
}

/** Why a run failed; `afterMs` of the hint is how long to wait before it is tried again, null for as one likes. */
export interface Failure {
  readonly code: string
  /** Protected, for a person. */
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
  /** Null where trying again would fail again. */
  readonly retryHint: { readonly afterMs: number | null } | null
}

/** The run failed; its state holds every result that was recorded. */
export interface Failed extends Ended {
  readonly _tag: "Failed"
  readonly failure: Failure
  readonly state: State | null
}

/** The run was cancelled; open calls are closed in its state. */
export interface Cancelled extends Ended {
  readonly _tag: "Cancelled"
  readonly state: State | null
}

/** How a run ended (RUN-1). */
export type RunResult<Output> = Completed<Output> | Suspended | Failed | Cancelled

/** The run has no output; `result` is how it ended instead. */
export class NoOutput extends Data.TaggedError("NoOutput")<{
  readonly code: string
  readonly result: Suspended | Failed | Cancelled
}> {
  override get message(): string {
    switch (this.result._tag) {
      case "Suspended":
        return "The run is suspended: calls wait for answers."
      case "Failed":
        return this.result.failure.message
      case "Cancelled":
        return "The run was cancelled."
    }
  }
}

const codeOf = (result: Suspended | Failed | Cancelled): string => {
  switch (result._tag) {
    case "Suspended":
      return "run_suspended"
    case "Failed":
      return result.failure.code
    case "Cancelled":
      return "run_cancelled"
  }
}

/** The output of a completed run, or the typed reason why there is none (RUN-7). */
export const outputOrFail = <Output>(result: RunResult<Output>): Effect.Effect<Output, NoOutput> =>
  result._tag === "Completed"
    ? Effect.succeed(result.output)
    : Effect.fail(new NoOutput({ code: codeOf(result), result }))
