/**
 * A tool with what executes it, as a program hands it to whoever calls it: a client on the wire, or a runner in process.
 *
 * Rule: a handler knows nothing of the way on which its calls come, so that one declaration serves them all.
 */
import type * as Effect from "effect/Effect"
import type { ClientTool } from "./ClientTool.ts"
import type * as Ids from "./Ids.ts"
import type { JsonText } from "./Json.ts"
import type { ToolAnswer } from "./ToolAnswer.ts"

/** One call of a tool, as a handler is told of it (CAL-1). */
export interface ToolCall {
  readonly name: string
  readonly sessionId: Ids.SessionId
  readonly runId: Ids.RunId
  readonly callId: Ids.CallId
  /** The task that a delegated call belongs to, null for the root's own (CAL-2). */
  readonly taskId: Ids.TaskId | null
  readonly subagentId: Ids.SubagentId | null
  /** Milliseconds that the caller waits, counted from when it made the call (CAL-6). */
  readonly timeoutMs: number
  /** The arguments as they came, every digit kept (FRM-12). */
  readonly argumentsText: JsonText
}

/** A declared tool that has its handler; `answer` never fails, and its interruption is the cancellation (CLI-2). */
export interface ToolHandler<out R = never> {
  readonly declaration: ClientTool
  readonly answer: (call: ToolCall) => Effect.Effect<ToolAnswer, never, R>
}

type RequirementsOf<Tool> = Tool extends ToolHandler<infer R> ? R : never

/** What the handlers of a list need, all together. */
export type Requirements<Tools extends ReadonlyArray<ToolHandler<unknown>>> = RequirementsOf<Tools[number]>
