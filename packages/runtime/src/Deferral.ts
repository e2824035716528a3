/**
 * The executor that waits for nobody: a call ends its step unanswered, and so does a question for permission (PRK-1).
 *
 * Rule: nothing is kept here. What is pending is in the state of the run that ended, and in nothing that lives.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Approvals } from "./Approvals.ts"
import { type DeferredOutcome, ToolExecutor, type ToolInvocation } from "./ToolExecutor.ts"

/** Defers a call; its arguments are those that hooks left. */
export const execute = (call: ToolInvocation): Effect.Effect<DeferredOutcome> =>
  Effect.succeed({ _tag: "Deferred", category: "call", arguments: call.arguments })

/** The deferring executor: every call it is given ends its step. */
export const layerExecutor: Layer.Layer<ToolExecutor> = Layer.succeed(ToolExecutor, ToolExecutor.of({ execute }))

/** Questions that end their step and are answered by whoever resumes the run. */
export const layerApprovals: Layer.Layer<Approvals> = Layer.succeed(
  Approvals,
  Approvals.of({ ask: () => Effect.succeed("deferred"), answer: () => false, pending: () => 0 })
)

/** Both: calls of clients and questions for permission wait for a later run. */
export const layer: Layer.Layer<ToolExecutor | Approvals> = Layer.merge(layerExecutor, layerApprovals)
