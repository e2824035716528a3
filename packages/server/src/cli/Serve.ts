/**
 * `errand serve --stdio`: one connection over the process's own pipes (PGM-1, CLS-4, CLS-5).
 *
 * Rule: this path loads nothing that it does not use, because every client waits for it; wrong usage is one line and
 * exit code 64. This is an edge: it ends the process.
 */
import { Ids, Limits } from "@errand/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Result from "effect/Result"
import { parseArgs } from "node:util"
import * as Entropy from "../Entropy.ts"
import * as Options from "../Options.ts"
import { exitCode, serve } from "../Server.ts"
import { limitsOf, Startup } from "../Startup.ts"
import * as Stdio from "../Stdio.ts"
import * as ExitCode from "./ExitCode.ts"
import { leave } from "./Leave.ts"

const usage = (line: string): never => {
  process.stderr.write(`${line}\n`)
  return process.exit(ExitCode.USAGE)
}

const misused = (problem: string): never => usage(`errand serve: ${problem}. See errand serve --help.`)

/** The options of a command line; the failure says what is wrong with it (PGM-5). */
export const parse = (
  args: ReadonlyArray<string>
): Result.Result<Options.OptionTexts & { readonly stdio: boolean }, string> =>
  Result.try({
    try: () => {
      const { values } = parseArgs({
        args: [...args],
        strict: true,
        allowPositionals: false,
        options: {
          stdio: { type: "boolean" },
          ...Object.fromEntries(Object.values(Options.entries).map(({ flag }) => [flag, { type: "string" as const }]))
        }
      })
      const given = values as Readonly<Record<string, string | undefined>>
      const texts = Object.entries(Options.entries).flatMap(([name, { flag }]) => {
        const text = given[flag]
        return text === undefined ? [] : [[name, text]]
      })
      return { ...Object.fromEntries(texts), stdio: values.stdio === true }
    },
    // Only the first sentence says what is wrong, the others explain the parser.
    catch: (error) => error instanceof Error ? error.message.split(/\.(?:\s|$)|\n/, 1)[0]! : String(error)
  })

/** Serves until the connection closes, then ends the process; never returns before. */
export const main = (args: ReadonlyArray<string>): void => {
  const parsed = parse(args)
  if (Result.isFailure(parsed)) return misused(parsed.failure)
  const { stdio, ...flags } = parsed.success
  if (!stdio) return misused("give --stdio, the one transport there is")
  const options = Options.decode(Options.merge(flags, process.env))
  if (Result.isFailure(options)) return misused(options.failure)
  const unfit = Stdio.fault()
  if (unfit !== undefined) return usage(unfit)

  const failed = Deferred.makeUnsafe<void>()
  // The first fault that nobody caught closes the connection in order and within its bound; after a second nothing is tried.
  const fault = (what: string) => (error: unknown): void => {
    if (Deferred.isDoneUnsafe(failed)) return fatal(what, error)
    report(what, error)
    Deferred.doneUnsafe(failed, Effect.void)
    setTimeout(leave, Limits.defaults.base.cleanup_ms, ExitCode.INTERNAL)
  }
  process.on("uncaughtException", fault("uncaught exception"))
  process.on("unhandledRejection", fault("unhandled rejection"))

  const program = Effect.gen(function*() {
    const { pipes, signal } = yield* Stdio.open
    const reason = yield* serve({ ...pipes, failed: Deferred.await(failed) })
    return exitCode(reason, signal())
  }).pipe(
    Effect.provide(Layer.mergeAll(
      Startup.layer(options.success),
      Layer.succeed(Limits.Limits, limitsOf(options.success)),
      Layer.succeed(Ids.Generator, Ids.generatorOf(Entropy.fill)),
      Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]),
      Layer.succeed(References.MinimumLogLevel, options.success.logLevel)
    ))
  )
  Effect.runPromise(program).then(leave, (error) => fatal("the server failed", error))
}

const report = (what: string, error: unknown): void => {
  process.stderr.write(`errand: ${what}: ${error instanceof Error ? error.stack ?? error.message : String(error)}\n`)
}

const fatal = (what: string, error: unknown): void => {
  report(what, error)
  leave(ExitCode.INTERNAL)
}
