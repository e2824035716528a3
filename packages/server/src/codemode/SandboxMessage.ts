/**
 * What the server and the worker that runs code say to each other (BLT-3).
 *
 * Rule: everything is text and numbers; JSON crosses as text and is read by whoever needs it.
 */

/** What a worker is started with. */
export interface Job {
  /** The body of an async function. */
  readonly code: string
  /** Bytes that the sandbox may use in all. */
  readonly memoryBytes: number
  /** Milliseconds that the sandbox may compute in all; waiting for tools does not count. */
  readonly timeMs: number
  /** Characters of what is logged that are kept. */
  readonly logCharacters: number
  /** Asks that may be made in all, and at a time. */
  readonly asks: number
  readonly asksAtATime: number
  /** Characters of one call's arguments, and of a name or a text to search for. */
  readonly argumentsCharacters: number
  /** Marks an integer in JSON that a double cannot hold: a string of this mark and the digits. */
  readonly mark: string
}

/** Something that the code wants to know or to have done. */
export interface Ask {
  readonly _tag: "Ask"
  readonly id: number
  readonly what: "search" | "describe" | "call"
  /** A tool's name, or what to search for. */
  readonly name: string
  /** JSON text of a call's arguments; empty for the others. */
  readonly args: string
}

/** The answer to an ask: JSON text of the value, or of `{code, message, …}` when it failed. */
export interface Reply {
  readonly id: number
  readonly ok: boolean
  readonly text: string
}

/** What the code came to. */
export type Outcome =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Json"; readonly json: string }
  | { readonly _tag: "Failed"; readonly message: string }

/** The end of the code; `logLeft` bytes that were logged are not in `log`, which is the beginning. */
export interface Ended {
  readonly _tag: "Ended"
  readonly outcome: Outcome
  readonly log: string
  readonly logLeft: number
}

/** `Ready` comes once, before the code starts; `Idle` when it has, and when a reply was worked off. */
export type FromWorker = Ask | Ended | { readonly _tag: "Ready" } | { readonly _tag: "Idle" }
