/**
 * What a host supplies freshly for one run (section 2, RSM-9).
 *
 * Rule: a binding can say which tools there are and how far the host goes along; it grants nothing that the definition
 * does not.
 */
import type * as Effect from "effect/Effect"
import type { Checkpoint } from "./Thread.ts"
import type { ClientToolset } from "./Toolset.ts"

/** The bindings of any run; all of them are optional. */
export interface Bindings {
  /** Absent keeps the defaults of the definition; a list, also an empty one, replaces them all (SUR-1). */
  readonly clientToolsets?: ReadonlyArray<ClientToolset>
  /** False for hosts that cannot resume: nothing is deferred (SUR-6); true by default. */
  readonly deferredToolsSupported?: boolean
  /** Stores the state; awaited before a call of this process starts, and after each result (RSM-9). */
  readonly checkpoint?: Checkpoint
  /** The run that this one is a child of (CHD-1). */
  readonly parentRunId?: string
  /** When it completes, the run is cancelled and ends as `Cancelled`. */
  readonly cancelled?: Effect.Effect<unknown>
  /** How long the suspension can be resumed, in milliseconds; without it for ever. */
  readonly expiresInMs?: number
  /** Goes on counting from the usage in the state instead of anew (RUN-6). */
  readonly resumeUsage?: boolean
}

/** The bindings of a run that goes on from a suspension. */
export interface ResumeBindings extends Bindings {
  /** What the person says after the results; it comes before the next model request (RSM-2). */
  readonly input?: string
}
