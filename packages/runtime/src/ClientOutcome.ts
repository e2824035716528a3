/**
 * How the ends of client tool calls read, whoever executes them: a client on the wire, or handlers in this process (CAL-8).
 *
 * Rule: the words are here once, so that neither the runner nor the model can tell one executor from the other.
 */
import type { JsonText } from "@errand/protocol"
import type { ToolOutcome } from "./ToolExecutor.ts"

const MAY_HAVE_EXECUTED = "It may have executed: do not repeat it blindly."

/** More calls than may be pending together (CAL-5). */
export const busy = (limit: number): ToolOutcome => ({
  _tag: "Refused",
  code: "client_tool_busy",
  message: `The call was not sent: ${limit} client tool calls are pending already. Try again when one has ended.`
})

/** The deadline passed without an answer (CAL-6). */
export const expired = (timeoutMs: number): ToolOutcome => ({
  _tag: "Uncertain",
  code: "client_tool_timeout",
  message: `The client gave no answer within ${timeoutMs} ms. ${MAY_HAVE_EXECUTED}`
})

/** What the handler said, not yet protected (RES-2). */
export const answered = (answer: {
  readonly status: "success" | "error"
  readonly text: string
  readonly structured?: JsonText | undefined
}): ToolOutcome => {
  const _tag = answer.status === "success" ? "Success" : "Failure"
  const { structured, text } = answer
  return structured === undefined ? { _tag, text } : { _tag, text, structured }
}
