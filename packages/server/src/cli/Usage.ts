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
  line(path, problemOf(error))

const problemOf = (error: CliError.NonShowHelpErrors): string => {
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
      return `${error.arguments.join(" ")} is one argument too many; put a text with spaces into quotes`
    case "InvalidValue":
      return error.value === "" && error.kind === "flag"
        ? `give --${error.option} a value`
        : `${error.option} cannot be ${JSON.stringify(error.value)}; ${error.expected.replace(/^Expected:? /, "give ")}`
    default:
      return error.message.split("\n", 1)[0]!.replace(/\.$/, "")
  }
}

const meant = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `; perhaps ${suggestions.join(" or ")}`
