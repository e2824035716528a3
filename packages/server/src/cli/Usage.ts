/**
 * Wrong usage in one line that says what to do (PGM-5).
 *
 * Rule: the line names the command whose help to read.
 */
import type * as CliError from "effect/cli/CliError"
import { visible } from "./Ink.ts"

/** The line for a fault of the command `path`, without its line feed. */
export const line = (path: ReadonlyArray<string>, problem: string): string => {
  const command = path.join(" ")
  return visible(`${command}: ${problem}. See ${command} --help.`).replaceAll("\n", " ")
}

/** The line for what the command line library found. */
export const ofError = (path: ReadonlyArray<string>, error: CliError.NonShowHelpErrors): string =>
  line(path, problemOf(path, error))

const problemOf = (path: ReadonlyArray<string>, error: CliError.NonShowHelpErrors): string => {
  switch (error._tag) {
    case "UnrecognizedOption":
      return `there is no option ${error.option}${meant(error.suggestions)}`
    case "UnknownSubcommand":
      return `there is no command ${error.subcommand}${meant(error.suggestions)}`
    case "MissingOption":
      return `give --${error.option}`
    case "MissingArgument":
      return `give a ${error.argument}`
    case "UnexpectedArgument":
      return `${error.arguments.join(" ")} is too much${
        path.at(-1) === "run" ? "; put a text with spaces into quotes" : ""
      }`
    case "InvalidValue": {
      const name = error.kind === "flag" ? `--${error.option}` : error.option
      if (error.value === "") return `give ${name} a value`
      if (/^\d+ occurrences$/.test(error.value)) return `give ${name} once`
      const choices = error.expected.replace(/^Expected:? /, "").replaceAll("\"", "").replaceAll(" | ", ", ")
      return `${name} cannot be ${JSON.stringify(error.value)}; give ${choices}`
    }
    default:
      return error.message.split("\n", 1)[0]!.replace(/\.$/, "")
  }
}

const meant = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `; perhaps ${suggestions.join(" or ")}`
