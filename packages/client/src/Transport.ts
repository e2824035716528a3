/**
 * The bytes between a client and one server, without saying where the server runs.
 *
 * Rule: a transport lives in a scope, and when that scope closes nothing of the server is left.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ServerSpawnFailed } from "./ClientError.ts"

/** How the server ended; both null when that is not known. */
export interface TransportEnd {
  readonly code: number | null
  readonly signal: string | null
  /** At most the last 8 KiB of stderr. */
  readonly stderrTail: string
}

/** What a connection gives to its transport: called in order, `ended` once and last. */
export interface Receiver {
  readonly received: (chunk: Uint8Array) => void
  readonly ended: (end: TransportEnd) => void
}

/** A pair of byte streams. */
export interface Transport {
  /** What to call the server in messages. */
  readonly label: string
  /** Hands over the text of whole frames; never waits, and does nothing once the server has ended. */
  readonly write: (text: string) => void
  /** Begins delivery; called once. What arrived before is kept until then. */
  readonly start: (receiver: Receiver) => void
}

/** Opens a transport in a scope. */
export type TransportSource = Effect.Effect<Transport, ServerSpawnFailed, Scope.Scope>

/** The server's side of a transport in memory; a test or an embedded server sits here. */
export interface MemoryServer {
  /** Sends bytes, or text as UTF-8, to the client. */
  readonly send: (chunk: Uint8Array | string) => void
  /** Ends the server; later sends do nothing. */
  readonly exit: (end?: Partial<TransportEnd>) => void
}

/** How a server in memory behaves. */
export interface MemoryHandler {
  /** Called with what the client wrote, one or more whole frames with their LF. */
  readonly written: (text: string, server: MemoryServer) => void
  /** Called when the client closed its side; the default exits with code 0. */
  readonly closed?: (server: MemoryServer) => void
}

/** A transport without a process: everything is delivered synchronously, in order. */
export const memory = (handler: MemoryHandler): TransportSource =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const encoder = new TextEncoder()
      const early: Array<Uint8Array> = []
      let receiver: Receiver | undefined
      let end: TransportEnd | undefined
      const server: MemoryServer = {
        send: (chunk) => {
          if (end !== undefined) return
          const bytes = typeof chunk === "string" ? encoder.encode(chunk) : chunk
          if (receiver === undefined) early.push(bytes)
          else receiver.received(bytes)
        },
        exit: (partial) => {
          if (end !== undefined) return
          end = { code: 0, signal: null, stderrTail: "", ...partial }
          receiver?.ended(end)
        }
      }
      const transport: Transport = {
        label: "memory",
        write: (text) => {
          if (end === undefined) handler.written(text, server)
        },
        start: (given) => {
          receiver = given
          for (const chunk of early.splice(0)) given.received(chunk)
          if (end !== undefined) given.ended(end)
        }
      }
      return { transport, close: () => (handler.closed ?? (() => server.exit()))(server) }
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ transport }) => transport))
