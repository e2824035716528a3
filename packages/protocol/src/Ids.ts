/**
 * Identities that travel: branded strings, so that no id is taken for another.
 *
 * Rule: every id that we make is a fresh UUID from `Generator` and is never used twice (CAL-3, REQ-8).
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import { Buffer } from "node:buffer"

/** One process of the server; the same in every frame it writes (REQ-8). */
export const InstanceId = Schema.String.pipe(Schema.brand("InstanceId"))
export type InstanceId = typeof InstanceId.Type

/** A conversation that outlives processes (SES-1). */
export const SessionId = Schema.String.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** One turn of a session (TRN-1). */
export const RunId = Schema.String.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type

/** One published client tool call; a fresh UUID, never a provider's id (CAL-3). */
export const CallId = Schema.String.pipe(Schema.brand("CallId"))
export type CallId = typeof CallId.Type

/** A delegated task; kept when the task is resumed (CAL-2). */
export const TaskId = Schema.String.pipe(Schema.brand("TaskId"))
export type TaskId = typeof TaskId.Type

/** The activity that executes a delegated task (CAL-2). */
export const SubagentId = Schema.String.pipe(Schema.brand("SubagentId"))
export type SubagentId = typeof SubagentId.Type

/** One tool call of any kind as shown to people, on the surface it was made (TRN-3). */
export const ActivityId = Schema.String.pipe(Schema.brand("ActivityId"))
export type ActivityId = typeof ActivityId.Type

/** One question for permission (TRN-8). */
export const ApprovalId = Schema.String.pipe(Schema.brand("ApprovalId"))
export type ApprovalId = typeof ApprovalId.Type

/** One assistant message (TRN-3). */
export const MessageId = Schema.String.pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

/** The longest id of a request (REQ-2), and the longest piece of a text that is a copy anyway. */
const MOST_CHARACTERS = 128
const COPIED_CHARACTERS = 12
const scratch = Buffer.alloc(MOST_CHARACTERS)

/**
 * An id of at most 128 ASCII characters as a string that keeps nothing else alive.
 *
 * An id that was cut out of a frame keeps the frame, and one that was joined keeps its pieces: 16 times the memory, which
 * the garbage collector would move about for as long as somebody remembers the id.
 */
export const detached = (id: string): string =>
  id.length <= COPIED_CHARACTERS ? id : scratch.toString("latin1", 0, scratch.write(id, "latin1"))

const HEX = Buffer.from("0123456789abcdef")
const POOL_BYTES = 4096

/** Makes UUIDs of version 4 (RFC 9562) from what `fill` writes. Those of the platform are joined of 20 pieces; these are one. */
export const generatorOf = (fill: (bytes: Uint8Array) => void): () => string => {
  const random = new Uint8Array(POOL_BYTES)
  let spent = POOL_BYTES
  return () => {
    if (spent === POOL_BYTES) {
      fill(random)
      spent = 0
    }
    const from = spent
    spent += 16
    random[from + 6] = (random[from + 6]! & 0x0f) | 0x40
    random[from + 8] = (random[from + 8]! & 0x3f) | 0x80
    let at = 0
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) scratch[at++] = 0x2d
      const byte = random[from + i]!
      scratch[at++] = HEX[byte >> 4]!
      scratch[at++] = HEX[byte & 15]!
    }
    return scratch.toString("latin1", 0, at)
  }
}

const uuid = generatorOf((bytes) => globalThis.crypto.getRandomValues(bytes))

/** Makes a fresh UUID, lower case; replaced in tests by one that counts. */
export const Generator = Context.Reference<() => string>("@errand/protocol/Ids/Generator", {
  defaultValue: () => uuid
})
