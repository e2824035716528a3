/**
 * One agent of a run: the root, or a subagent that works on a delegated task (DEL-1, CAL-2).
 *
 * Rule: identities are the backend's; what a model calls itself or its tasks is a label and nothing else.
 */
import type { Ids } from "@errand/protocol"
import type { View } from "./Catalog.ts"
import type { History, Owner } from "./History.ts"
import type { RunScope } from "./RunScope.ts"
import type { Bounds, Usage } from "./UsageBounds.ts"

export { noUsage, type Usage } from "./UsageBounds.ts"

/** What the loop and the pipeline must know of the agent they work for. */
export interface Agent {
  readonly run: RunScope
  /** Both null for the root. */
  readonly taskId: Ids.TaskId | null
  readonly subagentId: Ids.SubagentId | null
  /** The activity that delegated or runs this agent's calls; null for the root's own. */
  readonly parentId: Ids.ActivityId | null
  /** 0 for the root; each delegation adds one (BLT-2). */
  readonly depth: number
  readonly view: View
  readonly history: History
  readonly instructions: string | null
  /** What a scripted model knows this agent by: null for the root, else the task's description (SCR-1). */
  readonly label: string | null
  /** Counted over the whole run, subagents included (TRN-3). */
  readonly usage: Usage
  /** Whether a step of this agent may end unanswered; absent means no. Only a root that can be resumed has it (CHD-2). */
  readonly suspends?: boolean
  /** Bounds that are this run's own, beside those of the program (RUN-6). */
  readonly bounds?: Bounds
}

/** The owner of an agent's records. */
export const ownerOf = (agent: Agent): Owner => ({
  runId: agent.run.runId,
  taskId: agent.taskId,
  subagentId: agent.subagentId
})
