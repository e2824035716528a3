/**
 * The way to one MCP server, over pipes or over HTTP (BLT-5).
 *
 * Rule: a link carries messages as text and understands none; whoever loses it says so once.
 */
import type { JsonText } from "@errand/protocol"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** Why a server cannot be talked to. `sent` tells whether the message may have reached it. */
export class LinkLost extends Data.TaggedError("LinkLost")<{ readonly message: string; readonly sent: boolean }> {}

/** The most that one message of a server may have, in bytes. */
export const MOST_BYTES = 16 * 1024 * 1024

/** What a link does with what comes. */
export interface Receiver {
  readonly message: (json: string) => void
  /** The link is of no use any more. */
  readonly lost: (reason: string) => void
}

/** A way to a server. */
export interface McpLink {
  /**
   * Sends a request. Its answer goes to the receiver like every message; this fails when no answer can come any more,
   * and never succeeds. Interruption stops waiting.
   */
  readonly request: (json: JsonText) => Effect.Effect<never, LinkLost>
  /** Sends what has no answer. */
  readonly send: (json: JsonText) => Effect.Effect<void, LinkLost>
  /** Called once with the version that was agreed on. */
  readonly agreed: (version: string) => Effect.Effect<void>
}
