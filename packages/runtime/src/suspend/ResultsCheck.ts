/**
 * What a host gives back, checked value by value (checks 7 to 10 of section 5).
 *
 * Rule: nothing of the host's input is believed, and what is accepted is text from then on: later changes of the host's
 * objects have no effect.
 */
import { clip, Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import * as Bounds from "../Bounds.ts"
import type { ToolOutcome } from "../ToolExecutor.ts"
import { encodeMetadata } from "./FieldRules.ts"
import { deepest, encode, type Fault, formatPath, isPlainObject, own } from "./JsonValue.ts"
import * as Results from "./Results.ts"
import {
  DeferredApprovalInvalid,
  DeferredMetadataInvalid,
  DeferredResultsInvalid,
  type ResumeError
} from "./ResumeError.ts"
import type { PendingRequest, Requests } from "./Stored.ts"
import type { SurfaceTool } from "./Surface.ts"

/** Bounds of results: bytes of one metadata object, and of one answer value unless the host says otherwise. */
export const limits = { metadataBytes: 65_536, answerBytes: 262_144 } as const

/** A decision that may be acted on; `arguments` is null where the model's stay. */
export type Decided =
  | { readonly allow: true; readonly arguments: JsonText | null }
  | { readonly allow: false; readonly message: string | null }

/** Results that cover their requests: outcomes of external calls, decisions, and the host's metadata, by call id. */
export interface Accepted {
  readonly answers: ReadonlyMap<string, ToolOutcome>
  readonly decisions: ReadonlyMap<string, Decided>
  readonly metadata: ReadonlyMap<string, JsonText>
}

const resultKeys: ReadonlySet<string> = new Set(["calls", "approvals", "metadata"])

interface Given {
  readonly calls: Readonly<Record<string, unknown>>
  readonly approvals: Readonly<Record<string, unknown>>
  readonly metadata: unknown
}

const invalid = (path: string, rule: string, callId: string | null = null) =>
  new DeferredResultsInvalid({ details: { callId, path, rule } })

/** What was made from the pending requests, one by one; an id that is given twice is refused (faults B1). */
const readReplies = (replies: ReadonlyArray<unknown>): Given | DeferredResultsInvalid => {
  const values = { calls: new Map<string, unknown>(), approvals: new Map<string, unknown>() }
  for (const [index, reply] of replies.entries()) {
    const path = formatPath("results", [index])
    if (!isPlainObject(reply)) return invalid(path, "must be made from a pending request")
    const kind = own(reply, "_tag")
    const callId = own(reply, "callId")
    if ((kind !== "Answer" && kind !== "Decision") || typeof callId !== "string") {
      return invalid(path, "must be made from a pending request")
    }
    const category = kind === "Answer" ? "calls" : "approvals"
    if (values[category].has(callId)) {
      return invalid(`results.${category}`, "holds two values of one request", callId)
    }
    values[category].set(callId, own(reply, kind === "Answer" ? "answer" : "decision"))
  }
  return {
    calls: Object.fromEntries(values.calls),
    approvals: Object.fromEntries(values.approvals),
    metadata: undefined
  }
}

/** The three members of the results, or a list of replies; a container of another shape is no result at all. */
const readGiven = (results: unknown): Given | DeferredResultsInvalid => {
  if (Array.isArray(results)) return readReplies(results)
  if (!isPlainObject(results)) return invalid("results", "must be an object")
  const unknown = Reflect.ownKeys(results).find((key) => typeof key !== "string" || !resultKeys.has(key))
  if (unknown !== undefined) return invalid(formatPath("results", [unknown]), "is no member of results")
  const calls = own(results, "calls") ?? {}
  const approvals = own(results, "approvals") ?? {}
  if (!isPlainObject(calls)) return invalid("results.calls", "must be an object")
  if (!isPlainObject(approvals)) return invalid("results.approvals", "must be an object")
  return { calls, approvals, metadata: own(results, "metadata") }
}

const excess = (value: Readonly<Record<string, unknown>>, path: string, known: ReadonlyArray<string>): Fault | null => {
  const key = Reflect.ownKeys(value).find((key) => typeof key !== "string" || !known.includes(key))
  return key === undefined ? null : { path: formatPath(path, [key]), rule: "is no member of it" }
}

/** Check 8, one decision. */
const readDecision = (value: unknown, path: string, tool: SurfaceTool | undefined): Result.Result<Decided, Fault> => {
  const fail = (path: string, rule: string) => Result.fail({ path, rule })
  if (!isPlainObject(value)) {
    return fail(path, "must be a decision: {allow: true, arguments?} or {allow: false, message?}")
  }
  const allow = own(value, "allow")
  const given = own(value, "arguments")
  const message = own(value, "message")
  if (allow === true) {
    const more = excess(value, path, ["allow", "arguments"])
    if (more !== null) return Result.fail(more)
    if (given === undefined) return Result.succeed({ allow, arguments: null })
    if (!isPlainObject(given)) return fail(`${path}.arguments`, "must be an object")
    const text = encode(given, `${path}.arguments`)
    if (Result.isFailure(text)) return Result.fail(text.failure)
    const bounded = Bounds.read(text.success)
    if (bounded._tag === "Invalid") return fail(`${path}.arguments`, `are refused: ${bounded.problem}`)
    const fault = tool?.checkArguments(text.success) ?? null
    return fault === null
      ? Result.succeed({ allow, arguments: text.success })
      : fail(`${path}.${fault.path}`, fault.rule)
  }
  if (allow !== false) return fail(`${path}.allow`, "must be true or false")
  const more = excess(value, path, ["allow", "message"])
  if (more !== null) return Result.fail(more)
  return message === undefined
    ? Result.succeed({ allow, message: null })
    : typeof message === "string" && message.isWellFormed()
    ? Result.succeed({ allow, message })
    : fail(`${path}.message`, "must be text without lone surrogates")
}

/** Check 9, one answer. */
const readAnswer = (
  value: unknown,
  path: string,
  request: PendingRequest,
  tool: SurfaceTool | undefined,
  limit: number
): Result.Result<ToolOutcome, Fault> => {
  const fail = (path: string, rule: string) => Result.fail({ path, rule })
  if (!isPlainObject(value)) {
    return fail(path, "must be an answer: {status: \"success\", value} or {status: \"error\", message, content?}")
  }
  switch (own(value, "status")) {
    case "success": {
      const more = excess(value, path, ["status", "value"])
      if (more !== null) return Result.fail(more)
      if (!Object.hasOwn(value, "value")) return fail(`${path}.value`, "is missing")
      const text = encode(value["value"], `${path}.value`)
      if (Result.isFailure(text)) return Result.fail(text.failure)
      if (Json.byteLength(text.success) > limit) return fail(`${path}.value`, `must have at most ${limit} bytes`)
      const fault = tool?.client?.checkSuccess(value["value"], request.arguments) ?? null
      return fault === null
        ? Result.succeed({ _tag: "Success", text: "", structured: text.success })
        : fail(`${path}.${fault.path}`, fault.rule)
    }
    case "error": {
      const more = excess(value, path, ["status", "message", "content"])
      if (more !== null) return Result.fail(more)
      const content = own(value, "content")
      const message = own(value, "message")
      if (typeof message !== "string" || !message.isWellFormed()) {
        return fail(`${path}.message`, "must be text without lone surrogates")
      }
      const structured = content === undefined ? Result.succeed(null) : encode(content, `${path}.content`)
      if (Result.isFailure(structured)) return Result.fail(structured.failure)
      const bytes = Json.byteLength(message) + (structured.success === null ? 0 : Json.byteLength(structured.success))
      if (bytes > limit) return fail(path, `must have at most ${limit} bytes`)
      const fault = structured.success === null ? null : tool?.client?.checkFailure(content) ?? null
      if (fault !== null) return fail(`${path}.${fault.path}`, fault.rule)
      return Result.succeed({
        _tag: "Failure",
        text: message,
        ...structured.success === null ? {} : { structured: structured.success }
      })
    }
    default:
      return fail(`${path}.status`, "must be \"success\" or \"error\"")
  }
}

/** Check 10: metadata of requests (as text) and of results (as values), for known ids only. */
const readMetadata = (
  requests: Requests,
  ids: ReadonlySet<string>,
  given: unknown
): ReadonlyMap<string, JsonText> | DeferredMetadataInvalid => {
  const wrong = (callId: string | null, { path, rule }: Fault) =>
    new DeferredMetadataInvalid({ details: { callId, path, rule } })
  const unknown = (callId: string, path: string) => wrong(callId, { path, rule: "belongs to no pending request" })
  for (const [callId, text] of Object.entries(requests.metadata)) {
    const path = formatPath("requests.metadata", [callId])
    if (!ids.has(callId)) return unknown(callId, path)
    const value = Json.parse(text, { maxDepth: deepest })
    const checked = Result.isSuccess(value)
      ? encodeMetadata(value.success, path, limits.metadataBytes)
      : Result.fail<Fault>({ path, rule: "must be JSON text" })
    if (Result.isFailure(checked)) return wrong(callId, checked.failure)
  }
  const metadata = new Map<string, JsonText>()
  if (given === undefined) return metadata
  if (!isPlainObject(given)) return wrong(null, { path: "results.metadata", rule: "must be an object" })
  for (const callId of Object.keys(given)) {
    const path = formatPath("results.metadata", [callId])
    if (!ids.has(callId)) return unknown(callId, path)
    const text = encodeMetadata(given[callId], path, limits.metadataBytes)
    if (Result.isFailure(text)) return wrong(callId, text.failure)
    metadata.set(callId, text.success)
  }
  return metadata
}

/** The tool of the current surface that a request is judged by; undefined where none is or none is needed. */
export type ToolOf = (request: PendingRequest) => SurfaceTool | undefined

/** Checks 7 to 10, in this order. What throws when it is looked at is invalid. */
export const check = (
  requests: Requests,
  results: unknown,
  toolOf: ToolOf,
  answerBytes: number
): Result.Result<Accepted, ResumeError> => {
  try {
    return checked(requests, results, toolOf, answerBytes)
  } catch (thrown) {
    const why = thrown instanceof Error ? clip(thrown.message, 200) : "something was thrown"
    return Result.fail(invalid("results", `could not be looked at: ${why}`))
  }
}

const checked = (
  requests: Requests,
  results: unknown,
  toolOf: ToolOf,
  answerBytes: number
): Result.Result<Accepted, ResumeError> => {
  const given = readGiven(results)
  if (given instanceof DeferredResultsInvalid) return Result.fail(given)
  const incomplete = Results.coverage(requests, given)
  if (incomplete !== null) return Result.fail(incomplete)
  const decisions = new Map<string, Decided>()
  for (const request of requests.approvals) {
    const callId = request.call_id
    const path = formatPath("results.approvals", [callId])
    const decision = readDecision(given.approvals[callId], path, toolOf(request))
    if (Result.isFailure(decision)) {
      return Result.fail(new DeferredApprovalInvalid({ details: { callId, ...decision.failure } }))
    }
    decisions.set(callId, decision.success)
  }
  const answers = new Map<string, ToolOutcome>()
  for (const request of requests.calls) {
    const callId = request.call_id
    const path = formatPath("results.calls", [callId])
    const answer = readAnswer(given.calls[callId], path, request, toolOf(request), answerBytes)
    if (Result.isFailure(answer)) {
      return Result.fail(new DeferredResultsInvalid({ details: { callId, ...answer.failure } }))
    }
    answers.set(callId, answer.success)
  }
  const metadata = readMetadata(requests, new Set([...answers.keys(), ...decisions.keys()]), given.metadata)
  return metadata instanceof DeferredMetadataInvalid
    ? Result.fail(metadata)
    : Result.succeed({ answers, decisions, metadata })
}
