/**
 * Pending requests with the types of the tools that a definition declares (DCL-2, section 5).
 *
 * Rule: an answer is made from the request that it answers, so that its category, its id and its type are right; whoever
 * has only ids and values gives `Results` instead, and the preflight judges them.
 */
import type { JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import type { ClientTool } from "./Declaration.ts"
import type { Fault } from "./JsonValue.ts"
import * as Results from "./Results.ts"
import type { Requests } from "./Stored.ts"

/** One answer or decision, made from its request. */
export type Given = Results.Reply

interface Request {
  readonly callId: string
  readonly fingerprint: string
  readonly argumentsText: JsonText
  readonly metadata: unknown
}

/** An external call that waits for its result; narrow it by `toolName`. */
export type PendingCall<Tool extends ClientTool> = Tool extends ClientTool<infer A, infer S, infer F, infer Name>
  ? Request & {
    readonly toolName: Name
    /** Decoded, or why they cannot be: a number would round, for example (SUS-1). */
    readonly arguments: Result.Result<A, Fault>
    readonly succeed: (value: S) => Given
    readonly fail: (message: string, content?: F) => Given
  }
  : never

/** A local call that waits for a decision; arguments given to `allow` replace the model's in full. */
export interface PendingApproval extends Request {
  readonly toolName: string
  readonly arguments: Result.Result<unknown, Fault>
  readonly allow: (args?: Readonly<Record<string, unknown>>) => Given
  readonly deny: (message?: string) => Given
}

/** What a suspension waits for. `calls` has the declared types where the run brought no tools of its own. */
export interface Pending<Tool extends ClientTool> {
  readonly calls: ReadonlyArray<PendingCall<Tool>>
  readonly approvals: ReadonlyArray<PendingApproval>
}

const answer = (callId: string, answer: Results.Answer): Given => ({ _tag: "Answer", callId, answer })
const decision = (callId: string, decision: Results.Decision): Given => ({ _tag: "Decision", callId, decision })

/** A value that does not encode is handed over as it is: the preflight refuses it with its path. */
const succeeded = (tool: ClientTool | undefined, value: unknown): Results.Answer =>
  tool === undefined
    ? { status: "success", value }
    : Result.getOrElse(Results.success(tool, value), (): Results.Answer => ({ status: "success", value }))

const failed = (tool: ClientTool | undefined, message: string, content: unknown): Results.Answer => {
  if (content === undefined) return Results.failure(message)
  const plain: Results.Answer = { status: "error", message, content }
  return tool === undefined ? plain : Result.getOrElse(Results.failureWith(tool, message, content), () => plain)
}

/** The requests with what answers them. */
export const of = <Tool extends ClientTool>(
  requests: Requests,
  tools: ReadonlyMap<string, ClientTool>
): Pending<Tool> => {
  const { approvals, calls } = Results.pending(requests)
  return {
    calls: calls.map((request) => {
      const tool = tools.get(request.toolName)
      return {
        ...request,
        arguments: tool === undefined ? request.arguments : Results.argumentsOf(tool, request),
        succeed: (value: unknown) => answer(request.callId, succeeded(tool, value)),
        fail: (message: string, content?: unknown) => answer(request.callId, failed(tool, message, content))
      }
    }) as unknown as ReadonlyArray<PendingCall<Tool>>,
    approvals: approvals.map((request) => ({
      ...request,
      allow: (args) =>
        decision(request.callId, args === undefined ? { allow: true } : { allow: true, arguments: args }),
      deny: (message) => decision(request.callId, message === undefined ? { allow: false } : { allow: false, message })
    }))
  }
}
