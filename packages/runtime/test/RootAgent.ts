/** The agent of a run's root, with a history that keeps nothing, for tests of what may be seen and done under it. */
import type { Ids } from "@errand/protocol"
import { type Agent, noUsage, rootView } from "@errand/runtime"
import { Effect } from "effect"

export const root: Agent = {
  run: { sessionId: "s" as Ids.SessionId, runId: "r" as Ids.RunId, ending: "cancelled" },
  taskId: null,
  subagentId: null,
  parentId: null,
  depth: 0,
  view: rootView,
  history: { sessionId: "s", messages: [], revision: () => "0", append: () => Effect.void },
  instructions: null,
  label: null,
  usage: noUsage()
}
