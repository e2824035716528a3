/**
 * The params of `client.tool.result`, decoded by hand (RES-1, RES-2, RES-6).
 *
 * Rule: this says the same as the schema of `Requests`, only faster: one answer per call passes here, and decoding it by
 * schema would cost more than all the rest. What does not fit goes to the schema, which knows how to say why.
 */
import * as Result from "effect/Result"
import type * as Ids from "./Ids.ts"
import * as Json from "./Json.ts"
import type { JsonText } from "./Json.ts"
import type * as Limits from "./Limits.ts"
import { WireError } from "./WireError.ts"

/** An answer to a call; `structured` is compact text, and its absence differs from null (RES-2). */
export interface CallResult {
  readonly instance_id: Ids.InstanceId
  readonly session_id: Ids.SessionId
  readonly run_id: Ids.RunId
  readonly call_id: Ids.CallId
  readonly task_id: Ids.TaskId | null
  readonly subagent_id: Ids.SubagentId | null
  readonly status: "success" | "error"
  readonly text: string
  readonly structured?: JsonText
}

/** The exact shape of RES-1; undefined when a field is missing, unknown or mistyped. */
export const exact = (value: unknown): CallResult | undefined => {
  const given = value as Record<string, unknown>
  const { call_id, instance_id, run_id, session_id, status, structured, subagent_id, task_id, text } = given
  if (
    typeof instance_id !== "string" || typeof session_id !== "string" || typeof run_id !== "string" ||
    typeof call_id !== "string" || typeof text !== "string" || (status !== "success" && status !== "error") ||
    (task_id !== null && typeof task_id !== "string") || (subagent_id !== null && typeof subagent_id !== "string")
  ) return undefined
  let keys = 0
  for (const _ in given) keys++
  const identity = { instance_id, session_id, run_id, call_id, task_id, subagent_id, status, text }
  if (structured === undefined) return keys === 8 ? identity as CallResult : undefined
  if (!(structured instanceof Json.Opaque) || keys !== 9) return undefined
  return { ...identity, structured: structured.text } as CallResult
}

/** The size rule of RES-6: UTF-8 bytes of the text and compact bytes of `structured` together. */
export const within = (result: CallResult, limits: Limits.LimitValues): Result.Result<CallResult, WireError> => {
  const most = limits.clientTools.result_bytes
  const structured: JsonText | undefined = result.structured
  if ((result.text.length + (structured?.length ?? 0)) * 3 <= most) return Result.succeed(result)
  const size = Json.byteLength(result.text) + (structured === undefined ? 0 : Json.byteLength(structured))
  return size <= most
    ? Result.succeed(result)
    : Result.fail(
      WireError.invalidParams("text", `text and structured have ${size} bytes together, at most ${most} are allowed`)
    )
}
