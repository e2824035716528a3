/**
 * The command line of `errand` but for a plain `serve` (PGM-5).
 *
 * Rule: every command has `--help` and `--version`; wrong usage is one line on stderr and exit code 64. This is an edge:
 * it ends the process.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Options from "../Options.ts"
import { version } from "../Version.ts"
import { WRONG_USAGE } from "./Serve.ts"

const serve = Command.make("serve", {
  stdio: Flag.Boolean("stdio").pipe(Flag.withDescription("Talk over stdin and stdout.")),
  ...Object.fromEntries(
    Object.values(Options.entries).filter(({ flag }) => flag !== "log-level").map((entry) => [
      entry.flag,
      Flag.String(entry.flag).pipe(
        Flag.withMetavar(entry.value),
        Flag.withDescription(entry.env === null ? entry.help : `${entry.help} (${entry.env})`),
        Flag.optional
      )
    ])
  )
}, () => Effect.void).pipe(Command.withDescription("Serve one client over stdin and stdout."))

const errand = Command.make("errand").pipe(
  Command.withDescription("Agents whose tools are executed by the client."),
  Command.withSubcommands([serve])
)

/** Runs one command and ends the process with its code. */
export const main = async (args: ReadonlyArray<string>): Promise<void> => {
  const exit = await Effect.runPromiseExit(
    Command.runWith(errand, { version })(args).pipe(Effect.provide(NodeServices.layer))
  )
  process.exit(Exit.isSuccess(exit) ? 0 : WRONG_USAGE)
}
