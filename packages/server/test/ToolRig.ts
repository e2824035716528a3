/** A call as the pipeline hands it to what executes it, for tools that are tested without a pipeline. */
import type { Ids, JsonText } from "@errand/protocol"
import { type Agent, noUsage, rootView, type ToolInvocation } from "@errand/runtime"
import * as Effect from "effect/Effect"

const agent: Agent = {
  run: { sessionId: "session" as Ids.SessionId, runId: "run" as Ids.RunId, ending: "cancelled" },
  taskId: null,
  subagentId: null,
  parentId: null,
  depth: 0,
  view: rootView,
  history: {
    sessionId: "session",
    messages: [],
    revision: () => "0",
    append: () => Effect.void
  },
  instructions: null,
  label: null,
  usage: noUsage()
}

export const invocation = (name: string, args: string, extra: Partial<ToolInvocation> = {}): ToolInvocation => ({
  agent,
  activityId: "outer" as Ids.ActivityId,
  callId: "outer",
  name,
  arguments: args as JsonText,
  depth: 1,
  timeoutMs: 0,
  catalog: { tools: [], offered: () => [], resolve: () => ({ _tag: "Refused", code: "unknown_tool", message: "" }) },
  nested: () => Effect.die(new Error("this tool makes no calls of its own")),
  ...extra
})
