/**
 * The process's own pipes and signals. This is an edge: it is the only place that touches stdin and stdout.
 *
 * Rule: stdout carries frames and nothing else, even when a dependency prints: whoever writes to `process.stdout` or
 * `console` writes to stderr (FRM-1).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { fstatSync } from "node:fs"
import { Socket } from "node:net"
import { isatty } from "node:tty"
import type { InputPipe, Pipes } from "./Server.ts"

const STDIN = 0
const STDOUT = 1

/** What is wrong with the standard streams, in one line; undefined when they are pipes or sockets (CLS-5). */
export const fault = (): string | undefined => {
  for (const [fd, name] of [[STDIN, "stdin"], [STDOUT, "stdout"]] as const) {
    const stat = fstatSync(fd, { throwIfNoEntry: false })
    const terminal = stat?.isCharacterDevice() === true && isatty(fd)
    if (terminal || stat?.isFile() === true) {
      return `errand serve --stdio talks to a program: ${name} must be a pipe, not a ${
        terminal ? "terminal" : "file"
      }. Try errand demo.`
    }
  }
  return undefined
}

/** A signal that asks the process to end. */
export type Signal = "SIGTERM" | "SIGINT"

/** How much log waits for a reader of stderr; what comes beyond is lost, so that nobody's silence costs memory. */
const UNREAD_LOG_BYTES = 262_144

/** Bytes of one read at most. */
const READ_BYTES = 65_536

/**
 * What comes in. A pipe or socket is read into one buffer again and again: `process.stdin` makes one for each chunk, which
 * is a tenth of a small call.
 */
const input = (): InputPipe => {
  let stream: NodeJS.ReadableStream | undefined
  const flow = (chunk: (bytes: Uint8Array) => void): NodeJS.ReadableStream => {
    const stat = fstatSync(STDIN)
    if (!stat.isFIFO() && !stat.isSocket()) return process.stdin.on("data", chunk)
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    const callback = (bytes: number): boolean => {
      chunk(buffer.subarray(0, bytes))
      return true
    }
    return new Socket({ fd: STDIN, readable: true, writable: false, onread: { buffer, callback } }).resume()
  }
  return {
    read: (chunk, end) => {
      let stopped = false
      const reading = stream = flow((bytes) => stopped ? undefined : chunk(bytes))
      reading.on("end", end).on("close", end).on("error", end)
      return () => {
        stopped = true
        reading.off("end", end).off("close", end)
        reading.pause()
      }
    },
    pause: () => void stream?.pause(),
    resume: () => void stream?.resume()
  }
}

/** The pipes of this process; `signal` tells which signal came first. */
export const open = Effect.gen(function*() {
  const { stderr, stdout } = process
  const write = stdout.write.bind(stdout)
  const log = stderr.write.bind(stderr) as (chunk: string | Uint8Array) => boolean
  stderr.write = (chunk: string | Uint8Array) => stderr.writableLength > UNREAD_LOG_BYTES || log(chunk)
  stdout.write = stderr.write

  const terminated = yield* Deferred.make<void>()
  let first: Signal | undefined
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      first ??= name
      Deferred.doneUnsafe(terminated, Effect.void)
    })
  }
  process.on("SIGHUP", () => Deferred.doneUnsafe(terminated, Effect.void))

  let broken: Error | undefined
  let onBroken: ((error: Error) => void) | undefined
  stdout.on("error", (error) => {
    broken = error
    onBroken?.(error)
  })
  stderr.on("error", () => {
    // Nobody reads our log any more; the connection goes on without it.
  })

  const pipes: Pipes = {
    output: {
      write: (text, done) => {
        if (broken !== undefined) return done(broken)
        onBroken = done
        let taken = false
        const told = (error?: Error | null): void => {
          const failed = error !== undefined && error !== null
          if (taken && !failed) return
          taken = true
          done(error)
        }
        write(text, "utf8", told)
        // What the system took at once has made room now, and not only in the next tick.
        if (stdout.writableLength === 0 && stdout.errored === null) told()
      }
    },
    input: input(),
    terminated: Deferred.await(terminated)
  }
  return { pipes, signal: () => first }
})
