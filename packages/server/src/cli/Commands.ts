/**
 * The commands of `errand` and their help (PGM-1 to PGM-5).
 *
 * Rule: what a command takes is said here once; options of the server come from the table in `Options`. This is an
 * edge: it reads the environment.
 */
import { JsonSchema, Limits } from "@errand/protocol"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Options from "../Options.ts"
import * as Check from "./Check.ts"
import { demo } from "./Demo.ts"
import * as ExitCode from "./ExitCode.ts"
import { out } from "./Process.ts"
import * as Run from "./Run.ts"
import * as ToolsFile from "./ToolsFile.ts"
import * as Usage from "./Usage.ts"

/** A command that ends with another code than 0; `line` goes to stderr before. */
export class Ended extends Data.TaggedError("Ended")<{ readonly code: number; readonly line: string | null }> {}

const ended = (code: number): Effect.Effect<void, Ended> =>
  code === ExitCode.DONE ? Effect.void : Effect.fail(new Ended({ code, line: null }))

const misused = (command: string, problem: string) =>
  new Ended({ code: ExitCode.USAGE, line: Usage.line(["errand", command], problem) })

/** The options of the server as flags. */
const serverFlags = Object.fromEntries(
  Object.entries(Options.entries).map(([name, { env, flag, help, value }]) => [
    name,
    Flag.String(flag).pipe(
      Flag.withMetavar(value),
      Flag.withDescription(env === null ? help : `${help} (${env})`),
      Flag.optional
    )
  ])
) as { readonly [K in Options.OptionName]: Flag.Flag<Option.Option<string>> }

const textsOf = (given: { readonly [K in Options.OptionName]: Option.Option<string> }): Options.OptionTexts =>
  Object.fromEntries(
    (Object.keys(Options.entries) as ReadonlyArray<Options.OptionName>).flatMap((name) =>
      Option.match(given[name], { onNone: () => [], onSome: (text) => [[name, text]] })
    )
  )

const serve = Command.make("serve", {
  stdio: Flag.Boolean("stdio").pipe(
    Flag.withDescription("Talk over stdin and stdout; the one transport there is."),
    Flag.withDefault(false)
  ),
  ...serverFlags
  // `bin` starts the server without this library; only help, version and completions are asked for here.
}, () => Effect.fail(misused("serve", "give its options before any --"))).pipe(
  Command.withDescription(
    "Serve one client over stdin and stdout. A flag wins over its environment variable, both win over the config file. " +
      "Exit codes: 0 shutdown or end of input, 64 wrong usage, 65 a line of input too long, 70 a fault of the server, " +
      "74 output stalled or closed, 130 SIGINT, 143 SIGTERM."
  ),
  Command.withShortDescription("Serve one client over stdin and stdout.")
)

const demoCommand = Command.make("demo", {}, () => Effect.flatMap(demo, ended)).pipe(
  Command.withDescription(
    "Show a server and its client at work, with a scripted model and without network: parallel calls answered out of " +
      "order, a large integer, an error, a time-out, a cancelled turn. Exit code 0 when all of it was seen."
  ),
  Command.withShortDescription("Show a server and its client at work, without network.")
)

const promptBytes = Limits.defaults.base.prompt_bytes

const run = Command.make("run", {
  prompt: Argument.String("PROMPT").pipe(Argument.withDescription(`What to ask, 1 to ${promptBytes} bytes.`)),
  tools: Flag.String("tools").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("A module whose default export is an array of client tools; TypeScript or JavaScript."),
    Flag.optional
  ),
  session: Flag.String("session").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Go on with this session."),
    Flag.optional
  ),
  last: Flag.Boolean("continue").pipe(
    Flag.withDescription("Go on with the session that was used last."),
    Flag.withDefault(false)
  ),
  ...serverFlags
}, ({ last, prompt, session, tools, ...given }) => {
  const options = textsOf(given)
  const decoded = Options.decode(Options.merge(options, process.env))
  if (Result.isFailure(decoded)) return Effect.fail(misused("run", decoded.failure))
  if (prompt.trim() === "") return Effect.fail(misused("run", "give a PROMPT that is not blank"))
  if (Buffer.byteLength(prompt) > promptBytes) {
    return Effect.fail(misused("run", `give a PROMPT of at most ${promptBytes} bytes`))
  }
  if (last && Option.isSome(session)) return Effect.fail(misused("run", "give --session or --continue, not both"))
  return Effect.flatMap(
    Run.run({
      prompt,
      tools: Option.getOrUndefined(tools),
      session: last ? Run.LAST : Option.getOrUndefined(session),
      options
    }),
    ended
  )
}).pipe(
  Command.withDescription(
    "Run one turn of a server of its own. The text goes to stdout, everything else to stderr; questions for permission " +
      "are asked on the terminal, and denied without one. Exit codes: 0 completed, 1 failed, 64 wrong usage, 65 a " +
      "faulty tools file, 130 cancelled (Ctrl-C cancels the turn, a second one ends at once)."
  ),
  Command.withShortDescription("Run one turn, with tools of your own."),
  Command.withExamples([
    { command: "errand run \"What is in this directory?\" --model openai:gpt-5" },
    { command: "errand run \"Look up record 7\" --tools ./tools.ts" }
  ])
)

const schema = Command.make("schema", {}, () => out(JsonSchema.text())).pipe(
  Command.withDescription("Print the JSON Schema of every request, result and event.")
)

const check = Command.make("check", {
  file: Argument.String("FILE").pipe(
    Argument.withDescription("A module of client tools, or a JSON array of descriptors (.json).")
  ),
  model: Flag.String("model").pipe(
    Flag.withMetavar("PROVIDER:NAME"),
    Flag.withDescription("Tell also what this model's provider would refuse."),
    Flag.optional
  )
}, ({ file, model }) => {
  const provider = Option.map(model, (text) => /^([^:]+):./.exec(text)?.[1])
  if (Option.isSome(provider) && provider.value === undefined) {
    return Effect.fail(misused("check", "--model: give PROVIDER:NAME"))
  }
  return ToolsFile.descriptors(file).pipe(
    Effect.flatMap((text) => {
      const { lines, valid } = Check.report(text, Option.getOrUndefined(provider))
      return Effect.andThen(
        out(lines.map((line) => `${line}\n`).join("")),
        ended(valid ? ExitCode.DONE : ExitCode.FAULTY)
      )
    }),
    Effect.catchTags({
      FileUnreadable: ({ message }) => Effect.fail(misused("check", message)),
      ToolsInvalid: ({ faults }) =>
        Effect.andThen(out(faults.map((fault) => `${fault}\n`).join("")), ended(ExitCode.FAULTY))
    })
  )
}).pipe(
  Command.withDescription(
    "Check a tools file: print each fault with its path, or how much of the limits each tool uses. Exit codes: 0 " +
      "valid, 64 wrong usage or no such file, 65 faulty."
  ),
  Command.withShortDescription("Check a tools file against the limits of the protocol.")
)

/** The whole command line. */
export const errand = Command.make("errand").pipe(
  Command.withDescription("Agents whose tools are executed by the client."),
  Command.withSubcommands([serve, demoCommand, run, check, schema])
)
