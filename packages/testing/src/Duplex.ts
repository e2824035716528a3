/**
 * Both pipes of a connection in memory, as the server sees them and as a client does.
 *
 * Rule: it behaves like pipes: writes are taken later, a reader that stalls leaves them untaken, and either end can go.
 */
import type { Pipes } from "@errand/server"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/** The client's end, and the server's end for `Server.serve`. */
export interface Duplex {
  readonly pipes: Pipes
  /** Writes bytes to the server's input. */
  readonly write: (bytes: Uint8Array | string) => void
  /** Ends the server's input. */
  readonly end: () => void
  /** Calls with what the server wrote; one reader. */
  readonly onOutput: (listener: (text: string) => void) => void
  /** Stops taking output, or goes on. */
  readonly stall: (stalled: boolean) => void
  /** Our end of the output is gone: the next write fails (EPIPE). */
  readonly drop: () => void
  /** Sends the signal that asks the process to end. */
  readonly terminate: () => void
  /** Something threw and nobody caught it. */
  readonly fail: () => void
  /** Whether the server has paused its input. */
  readonly paused: () => boolean
}

const utf8 = new TextEncoder()

/** Makes a pair of pipes. */
export const make: Effect.Effect<Duplex> = Effect.sync(() => {
  const terminated = Deferred.makeUnsafe<void>()
  const failed = Deferred.makeUnsafe<void>()
  let chunk: ((bytes: Uint8Array) => void) | undefined
  let close: (() => void) | undefined
  let listener: (text: string) => void = () => {}
  let paused = false
  let stalled = false
  let dropped = false
  let ended = false
  const input: Array<Uint8Array> = []
  let output: Array<{ readonly text: string; readonly done: (error?: Error | null) => void }> = []

  const next = () => paused || chunk === undefined ? undefined : input.shift()
  const feed = () => {
    for (let bytes = next(); bytes !== undefined; bytes = next()) chunk?.(bytes)
    if (ended && !paused && input.length === 0 && close !== undefined) {
      const once = close
      close = undefined
      once()
    }
  }
  const take = () => {
    if (stalled) return
    const taken = output
    output = []
    for (const { done, text } of taken) {
      if (dropped) done(new Error("EPIPE"))
      else {
        listener(text)
        done()
      }
    }
  }
  return {
    pipes: {
      input: {
        read: (onChunk, onEnd) => {
          chunk = onChunk
          close = onEnd
          queueMicrotask(feed)
          return () => {
            chunk = undefined
            close = undefined
          }
        },
        pause: () => {
          paused = true
        },
        resume: () => {
          paused = false
          queueMicrotask(feed)
        }
      },
      output: {
        write: (text, done) => {
          output.push({ text, done })
          queueMicrotask(take)
        }
      },
      terminated: Deferred.await(terminated),
      failed: Deferred.await(failed)
    },
    write: (bytes) => {
      input.push(typeof bytes === "string" ? utf8.encode(bytes) : bytes)
      queueMicrotask(feed)
    },
    end: () => {
      ended = true
      queueMicrotask(feed)
    },
    onOutput: (next) => {
      listener = next
    },
    stall: (value) => {
      stalled = value
      queueMicrotask(take)
    },
    drop: () => {
      dropped = true
      queueMicrotask(take)
    },
    terminate: () => {
      Deferred.doneUnsafe(terminated, Effect.void)
    },
    fail: () => {
      Deferred.doneUnsafe(failed, Effect.void)
    },
    paused: () => paused
  }
})
