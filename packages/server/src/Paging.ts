/**
 * Pages and the cursors between them (SES-4, SES-5).
 *
 * Rule: a cursor is opaque to clients and says what it belongs to; one that is damaged, made up or of another place is
 * none of ours.
 */
import type { JsonText, Limits } from "@errand/protocol"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as SessionEntry from "./SessionEntry.ts"

/** The cursor is none of ours, or of another session (SES-4, SES-5). */
export class CursorInvalid extends Data.TaggedError("CursorInvalid")<{ readonly cursor: string }> {
  override get message(): string {
    return "the cursor is none that was given for this list or session"
  }
}

/** The history changed under the cursor; `revision` is the current one (SES-5). */
export class StaleRevision extends Data.TaggedError("StaleRevision")<{ readonly revision: string }> {
  override get message(): string {
    return `the history has changed; its revision is ${this.revision} now`
  }
}

/** A session in the list, with the fields of SES-4. A damaged one stands there without a title and with 0 entries. */
export interface SessionSummary {
  readonly session_id: string
  readonly created_at: string
  readonly updated_at: string
  readonly entries: number
  readonly title: string | null
}

/** Which sessions to list; `limit` is at most the `page_entries` of the limits in force, and that by default. */
export interface ListRequest {
  readonly cursor?: string
  readonly limit?: number
}

/** A page of the list, newest first; the last has no cursor. */
export interface SessionList {
  readonly sessions: ReadonlyArray<SessionSummary>
  readonly nextCursor: string | null
}

/** Which entries to read: from the start, or after `cursor` in the `revision` that it came with. */
export interface PageRequest {
  readonly sessionId: string
  readonly from?: { readonly revision: string; readonly cursor: string }
  readonly limit?: number
  readonly cardOf?: SessionEntry.CardOf
}

/** A page of history: entries as compact JSON objects of SES-6, oldest first; the last has no cursor. */
export interface HistoryPage {
  readonly revision: string
  readonly entries: ReadonlyArray<JsonText>
  readonly nextCursor: string | null
}

/** How much a page may hold: entries, and compact bytes of the array that they stand in. */
export interface Room {
  readonly entries: number
  readonly bytes: number
}

/** An entry and its number in the session. */
export interface Numbered {
  readonly n: number
  readonly entry: SessionEntry.StoredEntry
}

/** Renders entries until the room is used up, at least one; `last` is the number of the last one, null for none. */
export const fill = (
  entries: Iterable<Numbered>,
  room: Room,
  cardOf: SessionEntry.CardOf | undefined
): { readonly entries: ReadonlyArray<JsonText>; readonly last: number | null } => {
  const rendered: Array<JsonText> = []
  // the brackets are two bytes, and what follows each entry but the last one more
  let bytes = 1
  let last: number | null = null
  for (const { entry, n } of entries) {
    const text = SessionEntry.render(entry, n, cardOf)
    bytes += Buffer.byteLength(text) + 1
    if (rendered.length > 0 && bytes > room.bytes) break
    rendered.push(text)
    last = n
    if (rendered.length >= room.entries) break
  }
  return { entries: rendered, last }
}

/** Where a list continues: the position in its cursor, null for the newest. */
export const listFrom = (cursor: string | undefined): Effect.Effect<string | null, CursorInvalid> => {
  if (cursor === undefined) return Effect.succeed(null)
  const position = decode("list", cursor)?.[0]
  return position === undefined ? new CursorInvalid({ cursor }) : Effect.succeed(position)
}

/** The cursor that continues a list after `position`. */
export const listCursor = (position: string): string => encode(["list"], position)

/** How many sessions a list may hold. */
export const listRoom = (limit: number | undefined, base: Limits.BaseLimits): number =>
  Math.min(limit ?? base.page_entries, base.page_entries)

/** How much a page of history may hold. */
export const pageRoom = (limit: number | undefined, base: Limits.BaseLimits): Room => ({
  entries: listRoom(limit, base),
  bytes: base.page_bytes
})

/** The number of the entry after which a page starts; `seq` is the number of the session's last record. */
export const pageFrom = (
  { from, sessionId }: PageRequest,
  seq: number
): Result.Result<number, CursorInvalid | StaleRevision> => {
  if (from === undefined) return Result.succeed(0)
  const [session, revision, position] = decode("page", from.cursor) ?? []
  if (session !== sessionId || position === undefined) return Result.fail(new CursorInvalid({ cursor: from.cursor }))
  const current = String(seq)
  if (from.revision !== current || revision !== current) return Result.fail(new StaleRevision({ revision: current }))
  return Result.succeed(Number(position))
}

/** A page as it is answered; `entries` is how many the session has. */
export const pageOf = (
  sessionId: string,
  seq: number,
  entries: number,
  filled: ReturnType<typeof fill>
): HistoryPage => {
  const more = filled.last !== null && filled.last < entries
  return {
    revision: String(seq),
    entries: filled.entries,
    nextCursor: more ? encode(["page", sessionId, String(seq)], String(filled.last)) : null
  }
}

/** A cursor that continues after `position`; `scope` names what it belongs to. */
const encode = (scope: ReadonlyArray<string>, position: string): string => {
  const text = JSON.stringify([...scope, position])
  return Buffer.from(`${checksum(text)} ${text}`).toString("base64url")
}

/** What a cursor of `kind` (the first word of its scope) carries: the rest of the scope and the position; null: not ours. */
const decode = (kind: string, cursor: string): ReadonlyArray<string> | null => {
  const bytes = Buffer.from(cursor, "base64url")
  if (bytes.toString("base64url") !== cursor) return null
  const whole = bytes.toString()
  const text = whole.slice(whole.indexOf(" ") + 1)
  if (whole !== `${checksum(text)} ${text}`) return null
  const [first, ...rest] = JSON.parse(text) as Array<string>
  return first === kind ? rest : null
}

/** FNV-1a: tells damage and accidents, not malice; a cursor gives no right that its bearer lacks. */
const checksum = (text: string): string => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}
