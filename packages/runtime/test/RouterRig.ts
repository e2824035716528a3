import type { Ids, JsonText } from "@errand/protocol"
import { noUsage, rootView, type Router, type ToolInvocation } from "@errand/runtime"
import * as Effect from "effect/Effect"

export const live = (name: string): Router.LiveTool => ({
  name,
  description: "Goes over the wire.",
  parameters: "{\"type\":\"object\"}" as JsonText,
  timeoutMs: null
})

export const invocation = (name: string, args = "{}"): ToolInvocation => ({
  agent: {
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
  },
  activityId: "activity" as Ids.ActivityId,
  callId: "call",
  name,
  arguments: args as JsonText,
  depth: 1,
  timeoutMs: 1000,
  catalog: { tools: [], offered: () => [], resolve: () => ({ _tag: "Refused", code: "unknown_tool", message: "" }) },
  nested: () => Effect.succeed({ _tag: "Refused", code: "unknown_tool", message: "" })
})
