/**
 * Runs a command as this process. This is an edge: it listens to signals, writes to stdout and stderr, and exits.
 *
 * Rule: a signal interrupts the command, which then cleans up; only a second one ends the process at once.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ExitCode from "./ExitCode.ts"
import { leave } from "./Leave.ts"

/** Runs the command, and exits with its code or that of the signal which stopped it. */
export const run = (command: Effect.Effect<number>): void => {
  const fiber = Effect.runFork(command)
  let stopped: number | undefined
  const stop = (code: number) => () => {
    if (stopped !== undefined) leave(code)
    stopped = code
    fiber.interruptUnsafe()
  }
  process.on("SIGINT", stop(ExitCode.CANCELLED))
  process.on("SIGTERM", stop(ExitCode.TERMINATED))
  process.on("SIGHUP", stop(ExitCode.TERMINATED))
  process.stdout.on("error", () => stopped ?? stop(ExitCode.OUTPUT_CLOSED)())
  process.stderr.on("error", () => {
    // What is said there is of no use to anybody then; the command goes on.
  })
  fiber.addObserver((exit) => {
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
      process.stderr.write(`errand: ${Cause.pretty(exit.cause)}\n`)
    }
    const code = stopped ?? (Exit.isSuccess(exit) ? exit.value : ExitCode.INTERNAL)
    process.stdout.write("", () => process.stderr.write("", () => leave(code)))
  })
}

/** Writes to stdout. */
export const out = (text: string): Effect.Effect<void> => Effect.sync(() => void process.stdout.write(text))

/** Writes to stderr. */
export const err = (text: string): Effect.Effect<void> => Effect.sync(() => void process.stderr.write(text))
