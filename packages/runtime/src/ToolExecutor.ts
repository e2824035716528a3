/**
 * The port that executes one admitted tool call (section 2 of the architecture, PRK-1).
 *
 * Rule: an executor answers every call once; interrupting the fiber that waits is the cancellation, and the executor
 * may not fail: what goes wrong with a tool is an outcome that the model reads.
 */
import type { Ids, JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Agent } from "./Agent.ts"
import type { Catalog } from "./Catalog.ts"

/** Where a call's answer stands as soon as it is known: it is recorded even if the call is cut off before it returns. */
export interface Answered {
  answer?: ToolOutcome
}

/**
 * Makes a call from inside another one, for an agent that the tool derives from its caller's: every step of the pipeline,
 * shown and recorded as an activity, with no result of its own in the history (BLT-3, SES-6). Given the call that contains
 * it, its answer is that call's too.
 */
export type Nested = (
  agent: Agent,
  name: string,
  args: string,
  within?: Answered | undefined
) => Effect.Effect<ToolOutcome>

/** One call that passed visibility, rules, hooks, bounds and approval. */
export interface ToolInvocation {
  /** Whose call it is: its run, its identities and what it may do. */
  readonly agent: Agent
  readonly activityId: Ids.ActivityId
  /** The id under which the history has the call; one of its own for a call inside another one. */
  readonly callId: string
  readonly name: string
  /** A JSON object as compact, lossless text. */
  readonly arguments: JsonText
  /** Containers in `arguments`, the object itself counting as one. */
  readonly depth: number
  readonly timeoutMs: number
  /** For tools that find tools and call them: both are asked with the view of an agent. */
  readonly catalog: Catalog["Service"]
  readonly nested: Nested
  /** For a tool whose answer is that of a call it makes. */
  readonly answered?: Answered
}

/**
 * How a call ended. `Success` and `Failure` are what the tool told; `Refused` never reached it; `Uncertain` ended
 * without an answer though it may have executed (CAL-8).
 */
export type ToolOutcome =
  | { readonly _tag: "Success"; readonly text: string; readonly structured?: JsonText }
  | { readonly _tag: "Failure"; readonly text: string; readonly structured?: JsonText }
  | { readonly _tag: "Refused"; readonly code: string; readonly message: string }
  | { readonly _tag: "Uncertain"; readonly code: string; readonly message: string }

/**
 * A call that ends its step unanswered: the run is over, and a later one goes on with what was answered meanwhile.
 * `arguments` is the text as hooks left it; an `approval` waits for a decision, a `call` for its result (RUN-2).
 */
export interface DeferredOutcome {
  readonly _tag: "Deferred"
  readonly category: "call" | "approval"
  readonly arguments: JsonText
}

/** What came of executing a call: its end, or that it has none in this run. */
export type ExecutionOutcome = ToolOutcome | DeferredOutcome

/**
 * Executes admitted calls: over the wire (`Broker`), in this process (`LocalTools`), or by ending the run (`Deferral`). One
 * of a program's own executes within `CallStart.marked`, so that a run which is recovered executes nothing twice (RSM-9).
 */
export class ToolExecutor extends Context.Service<ToolExecutor, {
  readonly execute: (call: ToolInvocation) => Effect.Effect<ExecutionOutcome>
}>()("@errand/runtime/ToolExecutor") {}
