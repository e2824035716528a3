/**
 * The envelope: requests, responses and events as JSON text and back (REQ-1, REQ-2, REQ-5, REQ-7).
 *
 * Rule: text is built once; what is opaque (tool arguments, structured results, declared tools) is spliced in as it is.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Events from "./Events.ts"
import type { InstanceId } from "./Ids.ts"
import * as Json from "./Json.ts"
import type { JsonText } from "./Json.ts"
import { step } from "./JsonScanner.ts"
import * as Requests from "./Requests.ts"
import { tolerant } from "./Shape.ts"
import { WireError } from "./WireError.ts"

/** A request whose envelope is right; method, params and id are not judged yet. */
export interface Request {
  readonly id: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** Why a frame is no request, and the id to answer under. */
export interface Rejection {
  readonly id: string | null
  readonly error: WireError
}

/** A response as a client reads it; `result` is not decoded yet, since only the caller knows the method. */
export type Response =
  | { readonly _tag: "Success"; readonly id: string; readonly instanceId: InstanceId; readonly result: unknown }
  | {
    readonly _tag: "Failure"
    readonly id: string | null
    readonly instanceId: InstanceId
    readonly error: { readonly code: string; readonly message: string; readonly details?: unknown }
  }

/** What a client reads: a response, an event of this version, or one of a later version. */
export type ServerFrame =
  | Response
  | {
    readonly _tag: "Event"
    readonly instanceId: InstanceId
    readonly seq: number
    readonly event: Events.ServerEvent
  }
  | { readonly _tag: "UnknownEvent"; readonly instanceId: InstanceId; readonly seq: number; readonly name: string }

const ofParams = new Set<string>(Object.values(Requests.opaqueMember))
const ofData = new Set<string>(Object.values(Events.opaqueMember))

/** The members that a server leaves unbuilt when it reads a frame: of the params, which are at depth two. */
export const inRequests = (key: string, depth: number): boolean => depth === 2 && ofParams.has(key)

/** The members that a client leaves unbuilt when it reads a frame: of an event's data, which are at depth two. */
export const inServerFrames = (key: string, depth: number): boolean => depth === 2 && ofData.has(key)

/** The containers around the `arguments` of a call in its frame, which count for FRM-5 (CAL-4). */
export const containersAroundArguments = 2

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Json.Opaque)

/** Whether a value is an id: 1 to 128 characters from 0x21 to 0x7E (REQ-2). */
const isId = (value: unknown): value is string => {
  if (typeof value !== "string" || value.length === 0 || value.length > 128) return false
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (c < 0x21 || c > 0x7e) return false
  }
  return true
}

const noParams: Readonly<Record<string, unknown>> = Object.freeze(Object.create(null) as Record<string, unknown>)

/** The envelope of a request, from what `Json.parse` made of a frame (REQ-1, REQ-2). */
export const decodeRequest = (value: unknown): Result.Result<Request, Rejection> => {
  if (!isRecord(value)) {
    return Result.fail({ id: null, error: WireError.invalidFrame("a frame is one JSON object") })
  }
  const id = isId(value["id"]) ? value["id"] : null
  const fail = (key: string, problem: string) => Result.fail({ id, error: WireError.invalidRequest(key, problem) })
  for (const key in value) {
    if (key !== "id" && key !== "method" && key !== "params") {
      return fail(step(key).replace(/^\./, ""), "unknown field of a request")
    }
  }
  if (id === null) return fail("id", "expected a string of 1 to 128 printable ASCII characters without space")
  const method = value["method"]
  if (typeof method !== "string") return fail("method", "expected a string")
  if (!("params" in value)) return Result.succeed({ id, method, params: noParams })
  const params = value["params"]
  return isRecord(params) ? Result.succeed({ id, method, params }) : fail("params", "expected an object")
}

/** Quotes what mostly stays the same from frame to frame, and then costs nothing. */
const remembered = (): (value: string) => string => {
  let last = ""
  let text = "\"\""
  return (value) => {
    if (value !== last) {
      text = Json.quote(value)
      last = value
    }
    return text
  }
}
const [instance, session, run, name] = [remembered(), remembered(), remembered(), remembered()]

const nullOr = (value: string | null): string => value === null ? "null" : Json.quote(value)

/** A success (REQ-5); a result that is text already is spliced in. */
export const encodeResult = (instanceId: InstanceId, id: string, result: object | JsonText): string =>
  `{"id":${Json.quote(id)},"instance_id":${instance(instanceId)},"result":${
    typeof result === "string" ? result : JSON.stringify(result)
  }}`

/** An error (REQ-5); the id is null when the request had none. */
export const encodeError = (instanceId: InstanceId, id: string | null, error: WireError): string =>
  `{"id":${id === null ? "null" : Json.quote(id)},"instance_id":${instance(instanceId)},"error":${
    JSON.stringify({ code: error.code, message: error.message, details: error.details })
  }}`

const encodeCall = (data: Events.EventData<"client.tool.call">): string =>
  `{"session_id":${session(data.session_id)},"run_id":${run(data.run_id)},"call_id":${
    Json.quote(data.call_id)
  },"task_id":${nullOr(data.task_id)},"subagent_id":${nullOr(data.subagent_id)},"name":${
    name(data.name)
  },"arguments":${data.arguments},"timeout_ms":${data.timeout_ms}}`

const encodeActivity = (data: Events.EventData<"tool.activity">): string =>
  `{"session_id":${session(data.session_id)},"run_id":${run(data.run_id)},"activity_id":${
    Json.quote(data.activity_id)
  },"parent_id":${nullOr(data.parent_id)},"task_id":${nullOr(data.task_id)},"subagent_id":${
    nullOr(data.subagent_id)
  },"name":${name(data.name)},"status":"${data.status}"}`

/** The events that each call brings are written by hand, which costs a third. */
const encodeData = (event: Events.ServerEvent): string => {
  switch (event.event) {
    case "client.tool.call":
      return encodeCall(event.data)
    case "tool.activity":
      return encodeActivity(event.data)
    default:
      return JSON.stringify(event.data)
  }
}

/** An event (REQ-7). */
export const encodeEvent = (instanceId: InstanceId, seq: number, event: Events.ServerEvent): string =>
  `{"event":"${event.event}","instance_id":${instance(instanceId)},"seq":${seq},"data":${encodeData(event)}}`

/** Every call is answered once, so this is on the path of every call. */
const encodeAnswer = (params: Requests.Params<"client.tool.result">): string =>
  `{"instance_id":${Json.quote(params.instance_id)},"session_id":${Json.quote(params.session_id)},"run_id":${
    Json.quote(params.run_id)
  },"call_id":${Json.quote(params.call_id)},"task_id":${nullOr(params.task_id)},"subagent_id":${
    nullOr(params.subagent_id)
  },"status":"${params.status}","text":${Json.quote(params.text)}${
    params.structured === undefined ? "" : `,"structured":${params.structured}`
  }}`

/** A request; opaque members are spliced in. */
export const encodeRequest = <M extends Requests.MethodName>(
  id: string,
  method: M,
  params: Requests.Params<M>
): string => {
  return `{"id":${Json.quote(id)},"method":"${method}","params":${encodeParams(method, params)}}`
}

const encodeParams = <M extends Requests.MethodName>(method: M, params: Requests.Params<M>): string => {
  if (method === "client.tool.result") return encodeAnswer(params as Requests.Params<"client.tool.result">)
  const raw = Requests.opaqueMember[method]
  return raw === undefined ? JSON.stringify(params) : splice(params, raw)
}

const splice = (object: object, raw: string): string => {
  const members: Array<string> = []
  for (const [key, value] of Object.entries(object)) {
    if (value !== undefined) members.push(`${Json.quote(key)}:${key === raw ? value : JSON.stringify(value)}`)
  }
  return `{${members.join(",")}}`
}

const dataDecoders = new Map<Events.EventName, (value: unknown) => Result.Result<unknown, WireError>>()

const decodeData = (name: Events.EventName, data: Record<string, unknown>): Result.Result<unknown, WireError> => {
  let decoder = dataDecoders.get(name)
  if (decoder === undefined) {
    decoder = tolerant(Events.table[name]() as unknown as Schema.Codec<unknown, unknown>)
    dataDecoders.set(name, decoder)
  }
  const raw = Events.opaqueMember[name]
  if (raw === undefined) return decoder(data)
  const value = data[raw]
  return value instanceof Json.Opaque
    ? decoder({ ...data, [raw]: value.text })
    : Result.fail(WireError.invalidParams(raw, "expected JSON"))
}

const noFrame = (problem: string) => Result.fail(WireError.invalidFrame(problem))

/** A frame of a server, from what `Json.parse` made of it with `inServerFrames` opaque. */
export const decodeServerFrame = (value: unknown): Result.Result<ServerFrame, WireError> => {
  if (!isRecord(value)) return noFrame("a frame is one JSON object")
  if (typeof value["instance_id"] !== "string") return noFrame("instance_id: expected a string")
  const instanceId = value["instance_id"] as InstanceId
  if (!("event" in value)) return decodeResponse(value, instanceId)
  const { data, event: name, seq } = value
  if (typeof name !== "string") return noFrame("event: expected a string")
  if (typeof seq !== "number" || !Number.isSafeInteger(seq)) return noFrame("seq: expected an integer")
  if (!isRecord(data)) return noFrame("data: expected an object")
  if (!Events.isEvent(name)) return Result.succeed({ _tag: "UnknownEvent", instanceId, seq, name })
  return Result.match(decodeData(name, data), {
    onFailure: (error) => noFrame(`data of ${name}: ${error.message}`),
    onSuccess: (data) =>
      Result.succeed({ _tag: "Event" as const, instanceId, seq, event: { event: name, data } as Events.ServerEvent })
  })
}

const decodeResponse = (value: Record<string, unknown>, instanceId: InstanceId): Result.Result<Response, WireError> => {
  const { error, id, result } = value
  if (error === undefined) {
    if (typeof id !== "string") return noFrame("id: expected a string")
    if (!isRecord(result)) return noFrame("result: expected an object")
    return Result.succeed({ _tag: "Success", id, instanceId, result })
  }
  if (id !== null && typeof id !== "string") return noFrame("id: expected a string or null")
  if (!isRecord(error)) return noFrame("error: expected an object")
  const { code, message, details } = error
  if (typeof code !== "string" || typeof message !== "string") return noFrame("error: expected code and message")
  return Result.succeed({
    _tag: "Failure",
    id,
    instanceId,
    error: { code, message, ...(details === undefined ? {} : { details }) }
  })
}
