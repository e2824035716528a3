/**
 * The stored form of a suspension, read strictly and by hand: a history of any length costs no schema (SUS-1).
 *
 * Rule: what is read is a copy, closed and complete; nothing that the host does to its own value later reaches it.
 */
import { Json } from "@errand/protocol"
import * as Result from "effect/Result"
import type { Outcome } from "../ModelTurn.ts"
import * as Digest from "./Digest.ts"
import { isPlainObject } from "./JsonValue.ts"
import { SuspensionInvalid, SuspensionVersionUnsupported } from "./ResumeError.ts"
import {
  type CallState,
  type CallStatus,
  type Category,
  frozenList,
  isFrozenList,
  type State,
  type UsageState
} from "./State.ts"

/** One pending request; `arguments` is JSON text, `kind` and `fingerprint` are those of the tool when it was asked for. */
export interface PendingRequest {
  readonly call_id: string
  readonly tool_name: string
  readonly kind: string
  readonly arguments: string
  readonly fingerprint: string
}

/**
 * The envelope: external calls and local calls that need a decision, each in the order of the model, and metadata per
 * call id as JSON text (RUN-2).
 */
export interface Requests {
  readonly calls: ReadonlyArray<PendingRequest>
  readonly approvals: ReadonlyArray<PendingRequest>
  readonly metadata: Readonly<Record<string, string>>
}

/** A suspension in its stored form; times are ISO 8601 UTC with milliseconds (SUS-1). */
export interface Suspension {
  readonly format: "errand.suspension"
  readonly version: 1
  readonly thread_id: string
  readonly run_id: string
  readonly state: State
  readonly requests: Requests
  /** The fingerprint of every tool that the run offered, by name. */
  readonly surface: Readonly<Record<string, string>>
  readonly created_at: string
  readonly expires_at: string | null
  readonly digest: string
}

type Members = Readonly<Record<string, unknown>>

/** A fault of the shape; thrown by none: the readers below pass it up as a value. */
class Wrong {
  readonly path: string
  readonly rule: string
  constructor(path: string, rule: string) {
    this.path = path
    this.rule = rule
  }
}

const closed = (value: unknown, path: string, keys: ReadonlyArray<string>): Members | Wrong => {
  if (!isPlainObject(value)) return new Wrong(path, "must be an object")
  const given = Object.keys(value)
  const missing = keys.find((key) => !Object.hasOwn(value, key))
  if (missing !== undefined) return new Wrong(`${path}.${missing}`, "is missing")
  return given.length === keys.length
    ? value
    : new Wrong(`${path}.${given.find((key) => !keys.includes(key))}`, "is no member of a suspension")
}

const strings = (value: Members, path: string, keys: ReadonlyArray<string>): Wrong | null => {
  const wrong = keys.find((key) => typeof value[key] !== "string")
  return wrong === undefined ? null : new Wrong(`${path}.${wrong}`, "must be a string")
}

const each = <A>(value: unknown, path: string, read: (item: unknown, path: string) => A | Wrong): Array<A> | Wrong => {
  if (!Array.isArray(value)) return new Wrong(path, "must be an array")
  const items: Array<A> = []
  for (let index = 0; index < value.length; index++) {
    const item = read(value[index], `${path}[${index}]`)
    if (item instanceof Wrong) return item
    items.push(item)
  }
  return items
}

const texts = (value: unknown, path: string): ReadonlyArray<string> | Wrong => {
  if (!Array.isArray(value)) return new Wrong(path, "must be an array")
  for (let index = 0; index < value.length; index++) {
    if (typeof value[index] !== "string") return new Wrong(`${path}[${index}]`, "must be a string")
  }
  return isFrozenList(value) ? value : frozenList([...value])
}

const textRecord = (value: unknown, path: string): Readonly<Record<string, string>> | Wrong => {
  if (!isPlainObject(value)) return new Wrong(path, "must be an object")
  const keys = Object.keys(value)
  return strings(value, path, keys) ?? Object.fromEntries(keys.map((key) => [key, value[key] as string]))
}

const requestKeys = ["call_id", "tool_name", "kind", "arguments", "fingerprint"] as const

const readRequest = (value: unknown, path: string): PendingRequest | Wrong => {
  const members = closed(value, path, requestKeys)
  return members instanceof Wrong
    ? members
    : strings(members, path, requestKeys) ?? { ...members as unknown as PendingRequest }
}

const categories: ReadonlySet<unknown> = new Set<Category>(["call", "approval", "local"])
const statuses: ReadonlySet<unknown> = new Set<CallStatus>(["pending", "started", "completed"])
const outcomes: ReadonlySet<unknown> = new Set<Outcome>(["success", "failure", "cancelled", "denied", "unknown"])
const callKeys = ["call_id", "tool_name", "category", "arguments", "status", "outcome", "content"] as const

const readCall = (value: unknown, path: string): CallState | Wrong => {
  const members = closed(value, path, callKeys)
  if (members instanceof Wrong) return members
  const wrong = strings(members, path, ["call_id", "tool_name", "arguments"])
  if (wrong !== null) return wrong
  if (!categories.has(members["category"])) return new Wrong(`${path}.category`, "must be call, approval or local")
  if (!statuses.has(members["status"])) return new Wrong(`${path}.status`, "must be pending, started or completed")
  const fits = members["status"] === "completed"
    ? outcomes.has(members["outcome"]) && typeof members["content"] === "string"
    : members["outcome"] === null && members["content"] === null
  return fits
    ? { ...members as unknown as CallState }
    : new Wrong(path, "must have an outcome exactly when it is completed")
}

const usageKeys = ["model_requests", "tool_calls", "input_tokens", "output_tokens"] as const

const readUsage = (value: unknown, path: string): UsageState | Wrong => {
  const members = closed(value, path, usageKeys)
  if (members instanceof Wrong) return members
  const wrong = usageKeys.find((key) =>
    !Number.isSafeInteger(members[key]) || Object.is(members[key], -0) || Number(members[key]) < 0
  )
  return wrong === undefined
    ? { ...members as unknown as UsageState }
    : new Wrong(`${path}.${wrong}`, "must be an integer of 0 or more")
}

const stateKeys = ["format", "version", "thread_id", "messages", "calls", "usage"] as const

/** Reads a state; the first fault as a value. */
const readStateShape = (value: unknown, path: string): State | Wrong => {
  const members = closed(value, path, stateKeys)
  if (members instanceof Wrong) return members
  if (members["format"] !== "errand.state") return new Wrong(`${path}.format`, "must be \"errand.state\"")
  if (members["version"] !== 1) return new Wrong(`${path}.version`, "must be 1")
  const wrong = strings(members, path, ["thread_id"])
  if (wrong !== null) return wrong
  const messages = texts(members["messages"], `${path}.messages`)
  if (messages instanceof Wrong) return messages
  const calls = each(members["calls"], `${path}.calls`, readCall)
  if (calls instanceof Wrong) return calls
  const usage = readUsage(members["usage"], `${path}.usage`)
  if (usage instanceof Wrong) return usage
  return { format: "errand.state", version: 1, thread_id: members["thread_id"] as string, messages, calls, usage }
}

const readRequests = (value: unknown, path: string): Requests | Wrong => {
  const members = closed(value, path, ["calls", "approvals", "metadata"])
  if (members instanceof Wrong) return members
  const calls = each(members["calls"], `${path}.calls`, readRequest)
  if (calls instanceof Wrong) return calls
  const approvals = each(members["approvals"], `${path}.approvals`, readRequest)
  if (approvals instanceof Wrong) return approvals
  const metadata = textRecord(members["metadata"], `${path}.metadata`)
  return metadata instanceof Wrong ? metadata : { calls, approvals, metadata }
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const isTime = (value: unknown): value is string =>
  typeof value === "string" && timePattern.test(value) && Number.isFinite(Date.parse(value))

const suspensionKeys = "format version thread_id run_id state requests surface created_at expires_at digest".split(" ")

const readSuspension = (value: unknown): Suspension | Wrong => {
  const path = "suspension"
  const members = closed(value, path, suspensionKeys)
  if (members instanceof Wrong) return members
  const wrong = strings(members, path, ["thread_id", "run_id", "digest"])
  if (wrong !== null) return wrong
  const { created_at, digest, expires_at, run_id, thread_id } = members
  if (!isTime(created_at)) return new Wrong(`${path}.created_at`, "must be an ISO 8601 time in UTC with milliseconds")
  if (expires_at !== null && !isTime(expires_at)) {
    return new Wrong(`${path}.expires_at`, "must be null or an ISO 8601 time in UTC with milliseconds")
  }
  const state = readStateShape(members["state"], `${path}.state`)
  if (state instanceof Wrong) return state
  if (state.thread_id !== thread_id) return new Wrong(`${path}.state.thread_id`, "must be the suspension's thread_id")
  const requests = readRequests(members["requests"], `${path}.requests`)
  if (requests instanceof Wrong) return requests
  const surface = textRecord(members["surface"], `${path}.surface`)
  if (surface instanceof Wrong) return surface
  return {
    format: "errand.suspension",
    version: 1,
    thread_id: state.thread_id,
    run_id: run_id as string,
    state,
    requests,
    surface,
    created_at,
    expires_at,
    digest: digest as string
  }
}

const resultOf = <A>(read: A | Wrong): Result.Result<A, SuspensionInvalid> =>
  read instanceof Wrong
    ? Result.fail(new SuspensionInvalid({ details: { path: read.path, rule: read.rule } }))
    : Result.succeed(read)

/** Reads a stored state by itself, for hosts that keep it apart from the requests (SUS-4). */
export const readState = (value: unknown): Result.Result<State, SuspensionInvalid> => {
  try {
    return resultOf(readStateShape(value, "state"))
  } catch {
    return Result.fail(new SuspensionInvalid({ details: { path: "state", rule: "throws when it is read" } }))
  }
}

/** Reads the whole stored form; the digest is not looked at. */
export const read = (value: unknown): Result.Result<Suspension, SuspensionInvalid> => resultOf(readSuspension(value))

/** Null for a value that names our format in a version that we read, else the reason of check 1. */
export const readFormat = (value: unknown): SuspensionInvalid | SuspensionVersionUnsupported | null => {
  const format = isPlainObject(value) && Object.hasOwn(value, "format") ? value["format"] : undefined
  if (!isPlainObject(value) || format !== "errand.suspension") {
    return new SuspensionInvalid({ details: { path: "suspension.format", rule: "must be \"errand.suspension\"" } })
  }
  const version = Object.hasOwn(value, "version") ? value["version"] : undefined
  return version === 1 ? null : new SuspensionVersionUnsupported({ details: { version, supported: [1] } })
}

/** Whether a value of any shape still has the digest that its own `digest` says. */
export const isUnchanged = (value: unknown, keys: Digest.Keys | null): boolean => {
  if (!isPlainObject(value) || typeof value["digest"] !== "string") return false
  const { digest, ...rest } = value
  const tree = Json.fromPlain(rest)
  return Result.isSuccess(tree) && Digest.verify(digest as string, [Json.canonical(tree.success)], keys) === null
}
