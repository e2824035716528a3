/**
 * The one thing that a host stores of a suspended run: state and pending requests, sealed together (SUS-1 to SUS-4).
 *
 * Rule: it is plain JSON that survives any store which keeps JSON values, reordered keys included; whatever else
 * changes in it is noticed, because the digest covers the canonical JSON of all the rest.
 *
 * Versions: 1 (current, the only one).
 */
import { Json } from "@errand/protocol"
import * as Result from "effect/Result"
import * as Digest from "./Digest.ts"
import type { SuspensionVersionUnsupported } from "./ResumeError.ts"
import { SuspensionIntegrityFailed, SuspensionInvalid } from "./ResumeError.ts"
import * as State from "./State.ts"
import * as Stored from "./Stored.ts"
import type { PendingRequest, Requests, Suspension } from "./Stored.ts"

export { readState } from "./Stored.ts"
export type { PendingRequest, Requests, Suspension } from "./Stored.ts"

/** What is sealed; times are milliseconds since 1970. */
export interface Contents {
  readonly runId: string
  readonly state: State.State
  readonly requests: Requests
  readonly surface: ReadonlyMap<string, string>
  readonly createdAt: number
  readonly expiresAt: number | null
}

const list = (items: ReadonlyArray<string>): string => `[${items.join(",")}]`

const record = (entries: Readonly<Record<string, string>>): string => {
  const members = Object.keys(entries).sort().map((key) => `${Json.quote(key)}:${Json.quote(entries[key]!)}`)
  return `{${members.join(",")}}`
}

const request = (one: PendingRequest): string =>
  JSON.stringify({
    arguments: one.arguments,
    call_id: one.call_id,
    fingerprint: one.fingerprint,
    kind: one.kind,
    tool_name: one.tool_name
  })

const call = (one: State.CallState): string =>
  JSON.stringify({
    arguments: one.arguments,
    call_id: one.call_id,
    category: one.category,
    content: one.content,
    outcome: one.outcome,
    status: one.status,
    tool_name: one.tool_name
  })

type Unsealed = Omit<Suspension, "digest">

const created = (value: Unsealed): string => `{"created_at":${Json.quote(value.created_at)}`

/** What comes between the place of the digest and the messages, in canonical order. */
const head = (value: Unsealed): string =>
  `,"expires_at":${value.expires_at === null ? "null" : Json.quote(value.expires_at)},"format":"${value.format}"` +
  `,"requests":{"approvals":${list(value.requests.approvals.map(request))},"calls":${
    list(value.requests.calls.map(request))
  }` +
  `,"metadata":${record(value.requests.metadata)}},"run_id":${Json.quote(value.run_id)}` +
  `,"state":{"calls":${list(value.state.calls.map(call))},"format":"${value.state.format}","messages":[`

const tail = (value: Unsealed): string => {
  const { thread_id, usage, version } = value.state
  return `],"thread_id":${
    Json.quote(thread_id)
  },"usage":{"input_tokens":${usage.input_tokens},"model_requests":${usage.model_requests}` +
    `,"output_tokens":${usage.output_tokens},"tool_calls":${usage.tool_calls}},"version":${version}}` +
    `,"surface":${record(value.surface)},"thread_id":${Json.quote(value.thread_id)},"version":${value.version}}`
}

/** A suspension's canonical text around its messages; the digest goes between `created` and `head`. */
interface Frame {
  readonly created: string
  readonly head: string
  readonly tail: string
}

const frame = (value: Unsealed): Frame => ({ created: created(value), head: head(value), tail: tail(value) })

const pieces = (around: Frame, value: Unsealed): ReadonlyArray<string> => [
  around.created + around.head,
  ...State.quotedMessages(value.state.messages),
  around.tail
]

/** Seals a state and its pending requests: signed when there are keys, else with a checksum (SUS-2). */
export const seal = (contents: Contents, keys: Digest.Keys | null): Suspension => {
  const { requests, runId, state } = contents
  const unsealed: Unsealed = {
    format: "errand.suspension",
    version: 1,
    thread_id: state.thread_id,
    run_id: runId,
    state,
    requests,
    surface: Object.fromEntries(contents.surface),
    created_at: new Date(contents.createdAt).toISOString(),
    expires_at: contents.expiresAt === null ? null : new Date(contents.expiresAt).toISOString()
  }
  return { ...unsealed, digest: Digest.seal(pieces(frame(unsealed), unsealed), keys) }
}

/**
 * A suspension as canonical JSON text; the same value as `JSON.stringify` writes, but faster to write and to open,
 * because texts are quoted only once.
 */
export const stringify = (suspension: Suspension): string => {
  const around = frame(suspension)
  let text = `${around.created},"digest":${Json.quote(suspension.digest)}${around.head}`
  for (const piece of State.quotedMessages(suspension.state.messages)) text += piece
  return text + around.tail
}

/** Lets the digest be computed over the text as it came where that text is canonical, so that nothing is quoted again. */
const rememberText = (text: string, value: Suspension, around: Frame): boolean => {
  const before = `${around.created},"digest":${Json.quote(value.digest)}${around.head}`
  const end = text.length - around.tail.length
  if (end < before.length || !text.startsWith(before) || !text.endsWith(around.tail)) return false
  State.rememberQuoted(value.state.messages, end === before.length ? [] : [text.slice(before.length, end)])
  return true
}

/** Why a value that names our format is not opened. */
export type OpenError = SuspensionInvalid | SuspensionVersionUnsupported | SuspensionIntegrityFailed

/**
 * Opens what a host stored: the value, or its JSON text. Checks format and version, then the digest, then the shape
 * (checks 1 and 2 of section 5). What fits no shape has its digest checked all the same, so that a change is reported as
 * a change.
 */
export const open = (input: unknown, keys: Digest.Keys | null): Result.Result<Suspension, OpenError> => {
  try {
    return opened(input, keys)
  } catch {
    return Result.fail(new SuspensionInvalid({ details: { path: "suspension", rule: "throws when it is read" } }))
  }
}

const opened = (input: unknown, keys: Digest.Keys | null): Result.Result<Suspension, OpenError> => {
  let value = input
  if (typeof input === "string") {
    const parsed = Result.try({ try: (): unknown => JSON.parse(input), catch: () => null })
    if (Result.isFailure(parsed)) {
      return Result.fail(new SuspensionInvalid({ details: { path: "", rule: "is no JSON text" } }))
    }
    value = parsed.success
  }
  const named = Stored.readFormat(value)
  if (named !== null) return Result.fail(named)
  const read = Stored.read(value)
  if (Result.isFailure(read)) return Result.fail(Stored.isUnchanged(value, keys) ? read.failure : changed("mismatch"))
  const suspension = read.success
  const around = frame(suspension)
  const remembered = typeof input === "string" && rememberText(input, suspension, around)
  let refusal = Digest.verify(suspension.digest, pieces(around, suspension), keys)
  if (refusal === "mismatch" && remembered) {
    State.rememberQuoted(suspension.state.messages, null)
    refusal = Digest.verify(suspension.digest, pieces(around, suspension), keys)
  }
  return refusal === null ? Result.succeed(suspension) : Result.fail(changed(refusal))
}

const changed = (reason: Digest.Refusal) => new SuspensionIntegrityFailed({ details: { reason } })
