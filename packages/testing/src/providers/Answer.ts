/**
 * What an emulated provider is told to answer, in words that all providers share.
 *
 * Rule: an answer says what the model does and what goes wrong; how that looks on the wire is the provider's affair.
 */

/** A tool call of the model; `arguments` is written as it stands, valid JSON or not. */
export interface Call {
  readonly name: string
  readonly arguments: string
  /** By default one of the provider's own shape. */
  readonly id?: string
}

/**
 * What goes wrong. `after` counts the events that are still sent whole; after none, not even headers are sent by `reset`
 * and `silence` (but for `keepAlive`).
 *
 * - `status`: the request is answered with this status and an error body in the provider's shape
 * - `error`: the stream ends with the provider's event for an overload
 * - `reset`: the connection is reset
 * - `truncate`: the connection ends in good order, without what is missing
 * - `silence`: nothing more is sent, and the connection stays open
 */
export type Fault =
  | {
    readonly type: "status"
    readonly status: number
    readonly message?: string
    readonly headers?: { readonly [name: string]: string }
    /** Sent in place of the provider's error body. */
    readonly body?: string
  }
  | { readonly type: "error" | "reset" | "truncate" | "silence"; readonly after: number }

/** One answer. */
export interface Answer {
  /** Thoughts before the text; they are signed and must come back as they were. */
  readonly reasoning?: string
  /** The text, cut into events where it is an array. */
  readonly text?: string | ReadonlyArray<string>
  readonly calls?: ReadonlyArray<Call>
  /** Why it ends; by default because the model is done. */
  readonly stop?: "length" | "content_filter" | "context" | "refusal"
  readonly usage?: { readonly input: number; readonly output: number }
  readonly fault?: Fault
  /** How many bytes are written at a time; 19 by default, so that no event and few characters come whole. */
  readonly chunkBytes?: number
  /** Comments or pings before the first event, one write each: bytes that say nothing. */
  readonly keepAlive?: number
}

/** The deltas of a text. */
export const deltas = ({ text = [] }: Answer): ReadonlyArray<string> => typeof text === "string" ? [text] : text

/** A text cut into pieces of at most `length` characters, as a provider streams arguments; never empty. */
export const pieces = (text: string, length = 7): ReadonlyArray<string> => {
  const cut: Array<string> = []
  for (let at = 0; at < text.length; at += length) cut.push(text.slice(at, at + length))
  return cut.length === 0 ? [""] : cut
}
