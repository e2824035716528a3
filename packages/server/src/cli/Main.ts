/**
 * The command line of `errand` but for a plain `serve` (PGM-5).
 *
 * Rule: help and version go to stdout with exit code 0; wrong usage is one line on stderr and exit code 64. This is
 * an edge: it is the process.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { version } from "../Version.ts"
import { errand } from "./Commands.ts"
import * as ExitCode from "./ExitCode.ts"
import * as Process from "./Process.ts"
import { hasColour } from "./Screen.ts"
import * as Usage from "./Usage.ts"

const formatter = CliOutput.defaultFormatter({
  colors: hasColour(process.stdout, process.env),
  globalFlags: "summary"
})

const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "Help":
        return Process.out(`${formatter.formatHelpDoc(event.helpDoc)}\n`)
      case "Version":
        return Process.out(`${event.name} ${event.version}\n`)
      case "InvalidInvocation":
        return Process.err(`${Usage.ofError(event.commandPath, event.errors[0]!)}\n`)
    }
  }
}

/** Its built-in flags; the wizard and the log level of the library are none of ours. */
const config = CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })

const commands = errand.subcommands.flatMap((group) => group.commands.map(({ name }) => name))

/** A command that there is not has no help and no version: without them the library says so. */
const asked = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [first = "-"] = args
  return first.startsWith("-") || commands.includes(first) ? args : [first]
}

/** Runs one command and ends the process with its code. */
export const main = (args: ReadonlyArray<string>): void =>
  Process.run(
    Command.runWith(errand, { version })(asked(args)).pipe(
      Effect.as(ExitCode.DONE),
      Effect.catchTags({
        Ended: ({ code, line }) => Effect.as(line === null ? Effect.void : Process.err(`${line}\n`), code),
        // Help that nobody asked for is no mistake: `errand` alone shows what there is.
        ShowHelp: ({ errors }) => Effect.succeed(errors.length === 0 ? ExitCode.DONE : ExitCode.USAGE)
      }),
      Effect.orDie,
      Effect.provide(Layer.mergeAll(NodeServices.layer, CliOutput.layerPresenter(presenter), config))
    )
  )
