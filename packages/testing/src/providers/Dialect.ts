/**
 * One provider's wire format: what it takes, what it refuses, and how it answers.
 *
 * Rule: a dialect is pure. It refuses what the real provider refuses, in the same words where they are known, and is
 * never more lenient.
 */
import type { Answer } from "./Answer.ts"

/** A request that is refused. */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** The provider's word for the kind of error; it depends on the status where it is absent. */
  readonly code?: string
}

/** The body of a request as plain data; its objects inherit nothing. */
export type Body = { readonly [key: string]: unknown }

/** How one answer is made. */
export interface Making {
  readonly answer: Answer
  readonly model: string
  /** The number of the request, from 1; ids are made of it. */
  readonly serial: number
}

/** A wire format. */
export interface Dialect {
  readonly name: string
  /** Where requests go, after the base address. */
  readonly path: string
  /** The key of a request, by its headers in lower case; undefined where there is none. */
  readonly keyOf: (headers: { readonly [name: string]: string | undefined }) => string | undefined
  readonly check: (body: Body) => Refusal | null
  readonly errorBody: (refusal: Refusal) => string
  /** The events of an answer, each a whole block of an event stream with its empty line. */
  readonly events: (making: Making) => ReadonlyArray<string>
  /** The event that tells an error in the middle of an answer. */
  readonly overloaded: string
  /** Bytes that say nothing. */
  readonly keepAlive: string
}

/** Whether a value is an object, not an array. */
export const isObject = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The objects of an array; what is none counts as an empty object. */
export const objects = (value: unknown): ReadonlyArray<Body> =>
  Array.isArray(value) ? value.map((one: unknown) => isObject(one) ? one : {}) : []

/** A block of an event stream. */
export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** The signature that goes with thoughts, and how it is known again. */
export const signature = {
  of: (reasoning: string): string => `sig-${Buffer.from(reasoning, "utf8").toString("base64url")}`,
  matches: (value: unknown, reasoning: unknown): boolean =>
    typeof reasoning === "string" && value === signature.of(reasoning),
  isOne: (value: unknown): boolean => typeof value === "string" && value.startsWith("sig-")
}
