/**
 * What a failed request of the AI SDK means for a run (MDL-3, MDL-5).
 *
 * Rule: the message is the provider's, and no secret that the request was made with is in it.
 */
import { ModelFailed } from "@errand/runtime"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as ContextOverflow from "./ContextOverflow.ts"

/** What has to be known besides the error: secrets of the request, and the time in milliseconds since 1970. */
export interface Setting {
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  readonly now: number
}

/**
 * The failure that an error tells: of a request, of a stream, or one that came as a part of a stream.
 *
 * `retryable` are 408, 429, 5xx and failures of the connection, before and in the middle of an answer; a provider may
 * call other failures transient, but not the other way round.
 */
export const of = (error: unknown, { now, secrets }: Setting): ModelFailed => {
  const fields: Fields = Predicate.isObject(error) ? error : {}
  const status = statusOf(fields)
  const body = typeof fields.responseBody === "string" ? fields.responseBody : ""
  const message = conceal(messageOf(error, fields, status), secrets)
  // a provider that is out of rate counts tokens too, but says nothing about the length of this context
  if (status !== 429 && ContextOverflow.isToldBy(`${message} ${body} ${String(fields.code ?? "")}`)) {
    return new ModelFailed({ code: "context_overflow", message })
  }
  const retryAfterMs = retryAfter(fields.responseHeaders, now)
  return new ModelFailed({
    code: "model_failed",
    message,
    retryable: isTransient(error, fields, status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs })
  })
}

type Fields = { readonly [field: string]: unknown }

/** A status may stand in the place of a code, where an error came in the middle of a stream. */
const statusOf = ({ code, status, statusCode }: Fields): number | null => {
  const found = [statusCode, status, code].map(Number).find((value) => value >= 100 && value <= 599)
  return found ?? null
}

/** Words of gateways for failures that pass, where an error has neither a status nor a verdict. */
const transientKinds = /overloaded|rate_limit|server_error|unavailable|timeout/

const succeeded = (status: number): boolean => status >= 200 && status < 300

const isTransient = (error: unknown, fields: Fields, status: number | null): boolean => {
  if (status === 408 || status === 429 || status !== null && status >= 500) return true
  // what goes wrong after a status of success is the stream, and so the connection
  if (status !== null && succeeded(status) && error instanceof Error) return true
  // a stream that ended without its last event, in the words of a library that has no code for it
  if (fields.name === "AI_InvalidResponseDataError" && fields.data === undefined) return true
  if (typeof fields.isRetryable === "boolean") return fields.isRetryable && status !== 409
  return status === null && transientKinds.test(String(fields.type))
}

const messageOf = (error: unknown, fields: Fields, status: number | null): string => {
  if (typeof error === "string" && error !== "") return error
  const nested = Predicate.isObject(fields.error) ? (fields.error as Fields).message : undefined
  const told = [fields.message, nested].find((text) => typeof text === "string" && text.trim() !== "")
  if (status !== null && succeeded(status) && error instanceof Error) {
    return `the connection to the provider failed in the middle of an answer: ${innermost(error).message}`
  }
  if (typeof told === "string") return told
  return status === null ? "the provider failed without saying why" : `the provider answered with status ${status}`
}

const innermost = (error: Error): Error => {
  let inner = error
  for (let depth = 0; depth < 8 && inner.cause instanceof Error; depth++) inner = inner.cause
  return inner
}

/** Shorter texts are no secrets but stand-ins such as `none`, which would blot out words. */
const leastSecret = 8

const conceal = (text: string, secrets: Setting["secrets"]): string => {
  let concealed = text
  for (const secret of secrets) {
    const value = Redacted.value(secret)
    if (value.length >= leastSecret) concealed = concealed.replaceAll(value, "[redacted]")
  }
  return concealed
}

/** How long a provider asks to wait, in milliseconds, in any of the three ways in which it may say so. */
const retryAfter = (headers: unknown, now: number): number | undefined => {
  if (!Predicate.isObject(headers)) return undefined
  const { "retry-after": after, "retry-after-ms": afterMs } = headers as Fields
  const exact = typeof afterMs === "string" && afterMs.trim() !== "" ? Number(afterMs) : NaN
  if (exact >= 0) return exact
  if (typeof after !== "string" || after.trim() === "") return undefined
  const seconds = Number(after)
  const wait = Number.isNaN(seconds) ? Date.parse(after) - now : seconds * 1000
  return wait >= 0 ? wait : undefined
}
