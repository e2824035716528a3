/**
 * What a host gets of pending requests, and what it gives back (section 5).
 *
 * Rule: an answer says in its `status` what it is, a decision in its `allow`; nothing is inferred from the shape of a value.
 */
import type { JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import { argumentsDecoder, type ClientTool, encoder, type JsonSchemaOf } from "./Declaration.ts"
import { decodeExact, type Fault, isPlainObject } from "./JsonValue.ts"
import { DeferredResultsIncomplete } from "./ResumeError.ts"
import type { PendingRequest, Requests } from "./Stored.ts"

/** The answer to an external call: any JSON value, or a failure that the model reads. */
export type Answer =
  | { readonly status: "success"; readonly value: unknown }
  | { readonly status: "error"; readonly message: string; readonly content?: unknown }

/** The decision about a local call; `arguments` replace the model's in full. */
export type Decision =
  | { readonly allow: true; readonly arguments?: Readonly<Record<string, unknown>> }
  | { readonly allow: false; readonly message?: string }

/** What `resume` takes: exactly one entry per pending request, each in its category. */
export interface Results {
  readonly calls: Readonly<Record<string, Answer>>
  readonly approvals: Readonly<Record<string, Decision>>
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** One answer or decision together with the id of its request; a list of them is another form of results. */
export type Reply =
  | { readonly _tag: "Answer"; readonly callId: string; readonly answer: Answer }
  | { readonly _tag: "Decision"; readonly callId: string; readonly decision: Decision }

/** One pending request as a host reads it. */
export interface Pending {
  readonly callId: string
  readonly toolName: string
  readonly kind: string
  readonly fingerprint: string
  readonly argumentsText: JsonText
  /** The arguments as a plain value, or why there is none: a number would round (SUS-1). */
  readonly arguments: Result.Result<unknown, Fault>
  readonly metadata: unknown
}

/** The pending requests of a suspension, ready to be answered. */
export interface PendingRequests {
  readonly calls: ReadonlyArray<Pending>
  readonly approvals: ReadonlyArray<Pending>
  readonly buildResults: (given: Given) => Result.Result<Results, DeferredResultsIncomplete>
}

/** What a host has; `approveAll` allows the approvals that it does not mention. */
export interface Given {
  readonly calls?: Readonly<Record<string, Answer>> | undefined
  readonly approvals?: Readonly<Record<string, Decision>> | undefined
  readonly approveAll?: boolean | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

const pendingOf = (requests: Requests) => (request: PendingRequest): Pending => ({
  callId: request.call_id,
  toolName: request.tool_name,
  kind: request.kind,
  fingerprint: request.fingerprint,
  argumentsText: request.arguments as JsonText,
  arguments: decodeExact(request.arguments, "arguments"),
  metadata: Object.hasOwn(requests.metadata, request.call_id)
    ? Result.getOrUndefined(decodeExact(requests.metadata[request.call_id]!, "metadata"))
    : undefined
})

/** The requests of a suspension as a host reads and answers them. */
export const pending = (requests: Requests): PendingRequests => ({
  calls: requests.calls.map(pendingOf(requests)),
  approvals: requests.approvals.map(pendingOf(requests)),
  buildResults: (given) => build(requests, given)
})

const keysOf = (value: unknown): ReadonlyArray<string> => isPlainObject(value) ? Object.keys(value) : []

const covers = (ids: ReadonlySet<string>, keys: ReadonlyArray<string>): boolean =>
  keys.length === ids.size && keys.every((key) => ids.has(key))

/**
 * The difference between what is pending and what is given, or null. An id that is given in the other category counts
 * as that and not as missing or unexpected.
 */
export const coverage = (
  requests: Requests,
  given: { readonly calls: unknown; readonly approvals: unknown }
): DeferredResultsIncomplete | null => {
  const calls = new Set(requests.calls.map((request) => request.call_id))
  const approvals = new Set(requests.approvals.map((request) => request.call_id))
  const [callKeys, approvalKeys] = [keysOf(given.calls), keysOf(given.approvals)]
  if (covers(calls, callKeys) && covers(approvals, approvalKeys)) return null
  const givenCalls = new Set(callKeys)
  const givenApprovals = new Set(approvalKeys)
  const wrong = new Set([
    ...[...givenCalls].filter((id) => approvals.has(id) && !calls.has(id)),
    ...[...givenApprovals].filter((id) => calls.has(id) && !approvals.has(id))
  ])
  const missing = [
    ...[...calls].filter((id) => !givenCalls.has(id) && !wrong.has(id)),
    ...[...approvals].filter((id) => !givenApprovals.has(id) && !wrong.has(id))
  ]
  const unexpected = [...new Set([...givenCalls, ...givenApprovals])].filter((id) =>
    !calls.has(id) && !approvals.has(id)
  )
  return missing.length + unexpected.length + wrong.size === 0
    ? null
    : new DeferredResultsIncomplete({ details: { missing, unexpected, wrongCategory: [...wrong] } })
}

/** Results for the requests; checks ids, categories and coverage, while values are left to the preflight. */
export const build = (requests: Requests, given: Given): Result.Result<Results, DeferredResultsIncomplete> => {
  const allowed = given.approveAll === true
    ? requests.approvals.map(({ call_id }): [string, Decision] => [call_id, { allow: true }])
    : []
  const results: Results = {
    calls: Object.fromEntries(Object.entries(given.calls ?? {})),
    approvals: Object.fromEntries([...allowed, ...Object.entries(given.approvals ?? {})]),
    ...given.metadata === undefined ? {} : { metadata: given.metadata }
  }
  const incomplete = coverage(requests, results)
  return incomplete === null ? Result.succeed(results) : Result.fail(incomplete)
}

/** The arguments of a request with the types of its tool; for a tool of raw JSON Schema the plain value. */
export const argumentsOf = <A>(
  tool: ClientTool<A, unknown, unknown>,
  request: { readonly argumentsText: string }
): Result.Result<A, Fault> =>
  tool.schemas === null
    ? decodeExact(request.argumentsText, "arguments") as Result.Result<A, Fault>
    : argumentsDecoder(tool.schemas.parameters)(request.argumentsText)

const encodeWith = (
  schema: JsonSchemaOf<unknown> | null | undefined,
  value: unknown,
  path: string
): Result.Result<unknown, Fault> =>
  schema === null || schema === undefined ? Result.succeed(value) : encoder(schema, path)(value)

/** A success with the types of its tool, in its JSON form. */
export const success = <S>(tool: ClientTool<unknown, S, unknown>, value: S): Result.Result<Answer, Fault> =>
  Result.map(encodeWith(tool.schemas?.success, value, "value"), (value) => ({ status: "success", value }))

/** A failure in words. */
export const failure = (message: string): Answer => ({ status: "error", message })

/** A failure with the types of its tool, in its JSON form beside the words. */
export const failureWith = <F>(
  tool: ClientTool<unknown, unknown, F>,
  message: string,
  content: F
): Result.Result<Answer, Fault> =>
  Result.map(
    encodeWith(tool.schemas?.failure, content, "content"),
    (content) => ({ status: "error", message, content })
  )
