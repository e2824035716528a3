import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { errand } from "../../src/cli/Commands.ts"
import * as Usage from "../../src/cli/Usage.ts"

/** The line for arguments that are wrong usage. */
const lineOf = (...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const presenter = CliOutput.layerPresenter({
      present: (event) =>
        Effect.sync(() =>
          event._tag === "InvalidInvocation" && lines.push(Usage.ofError(event.commandPath, event.errors[0]!))
        )
    })
    const error = yield* Effect.flip(
      Command.runWith(errand, { version: "0" })(args).pipe(Effect.provide(Layer.merge(NodeServices.layer, presenter)))
    )
    return error._tag === "Ended" ? error.line : lines.join("\n")
  })

describe("PGM-5 wrong usage in one line", () => {
  for (
    const [args, line] of [
      [["help"], "errand: there is no command help. See errand --help."],
      [["run", "a", "--model", "b", "--model", "c"], "errand run: give --model once. See errand run --help."],
      [["demo", "a"], "errand demo: a is too much. See errand demo --help."],
      [["check"], "errand check: give a FILE. See errand check --help."],
      [
        ["--completions", "csh"],
        "errand: --completions cannot be \"csh\"; give bash, zsh, fish, powershell, sh, pwsh. See errand --help."
      ],
      [["run"], "errand run: give a PROMPT. See errand run --help."],
      [["run", " "], "errand run: give a PROMPT that is not blank. See errand run --help."],
      [["run", "é".repeat(16_385)], "errand run: give a PROMPT of at most 32768 bytes. See errand run --help."],
      [
        ["run", "a", "b"],
        "errand run: b is too much; put a text with spaces into quotes. See errand run --help."
      ],
      [["run", "a", "--tools"], "errand run: give --tools a value. See errand run --help."],
      [
        ["run", "a", "--session", "b", "--continue"],
        "errand run: give --session or --continue, not both. See errand run --help."
      ],
      [
        ["run", "a", "--catalog", "b"],
        "errand run: --catalog or ERRAND_CATALOG: give one of full, compact. See errand run --help."
      ],
      [["check", "x", "--model", "gpt"], "errand check: --model: give PROVIDER:NAME. See errand check --help."],
      [["run", "a", "--\x1b[2J\nb"], "errand run: there is no option --\ufffd[2J b. See errand run --help."]
    ] as const
  ) {
    it.effect(`PGM-5 it says what to do: errand ${args.join(" ").slice(0, 60).replaceAll(/[\x00-\x1f]/g, "?")}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* lineOf(...args), line)
      }))
  }
})
