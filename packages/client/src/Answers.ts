/**
 * The way of an answer to the server.
 *
 * Rule: a call whose handler ended is never left pending: an answer that would be refused is replaced by an error that says
 * why, before it is sent where that can be known, and once after the server refused it (RES-6).
 */
import { type Ids, type JsonText, Limits, ToolAnswer, type ToolCall } from "@errand/protocol"
import * as Result from "effect/Result"
import type { RequestError } from "./ClientError.ts"
import { type Connection, leastIds } from "./Connection.ts"

/** Sends answers over one connection. */
export class Answers {
  private readonly connection: Connection
  /** Called when an answer cannot be sent for want of ids or of a connection. */
  private readonly unsent: (call: ToolCall, why: RequestError) => void
  private resultBytes = Limits.defaults.clientTools.result_bytes

  constructor(connection: Connection, unsent: (call: ToolCall, why: RequestError) => void) {
    this.connection = connection
    this.unsent = unsent
  }

  /** The limit that `initialize` told; the default holds until then. */
  negotiated(limits: Limits.ClientToolLimits): void {
    this.resultBytes = limits.result_bytes
  }

  /** Answers a call under its complete identity (CLI-1); gives what was really said. */
  send(call: ToolCall, answer: ToolAnswer.ToolAnswer): ToolAnswer.ToolAnswer {
    let said = ToolAnswer.within(answer, this.resultBytes)
    this.submit(call, said, (why) => {
      if (why._tag === "RequestInvalid") said = this.replace(call, why.detail)
      else if (why._tag !== "RequestRefused") this.unsent(call, why)
      // Any other code says that the call is over.
      else if (why.code === "invalid_params") said = this.replace(call, why.detail)
    })
    return said
  }

  private replace(call: ToolCall, detail: string): ToolAnswer.ToolAnswer {
    const answer = ToolAnswer.error(`The tool's answer cannot be sent: ${detail}`)
    this.submit(call, answer, (why) => this.unsent(call, why))
    return answer
  }

  private submit(call: ToolCall, answer: ToolAnswer.ToolAnswer, failed: (why: RequestError) => void): void {
    const { status, structured, text } = answer
    const params = {
      instance_id: (this.connection.instanceId ?? "") as Ids.InstanceId,
      session_id: call.sessionId,
      run_id: call.runId,
      call_id: call.callId,
      task_id: call.taskId,
      subagent_id: call.subagentId,
      status,
      text
    }
    this.connection.send(
      "client.tool.result",
      structured === undefined ? params : { ...params, structured: structured satisfies JsonText },
      leastIds.result,
      (outcome) => Result.isFailure(outcome) && failed(outcome.failure)
    )
  }
}
