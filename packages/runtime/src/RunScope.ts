/**
 * What all agents and calls of one run share.
 *
 * Rule: whoever ends a run writes the reason before it interrupts the run's fibers; open calls read it then (CAN-2).
 */
import type { Ids } from "@errand/protocol"
import type { StorageFailed } from "./History.ts"

/** Why open calls of a run are cancelled (CAN-1). */
export type CancelReason = "cancelled" | "timeout" | "run_finished" | "shutdown"

/** The run that a call belongs to; `ending` is read when the call's fiber is interrupted. */
export interface RunScope {
  readonly sessionId: Ids.SessionId
  readonly runId: Ids.RunId
  ending: Exclude<CancelReason, "timeout">
  /** Set when a record of a delegated agent was refused: the run fails with it, whatever its tools say (SES-9). */
  failure?: StorageFailed
}
