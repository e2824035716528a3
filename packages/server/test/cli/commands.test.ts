import { assert, describe, it } from "@effect/vitest"
import { JsonSchema } from "@errand/protocol"
import { spawn } from "node:child_process"
import { openSync } from "node:fs"
import { version } from "../../src/Version.ts"
import { binary, run, temporary, toolsFile } from "./Binary.ts"

const commands = ["serve", "demo", "run", "check", "schema"]

describe.concurrent("1 Commands", { timeout: 60_000 }, () => {
  for (
    const [args, problem] of [
      [["--nope"], "errand: there is no option --nope. See errand --help."],
      [["serf"], "errand: there is no command serf; perhaps serve. See errand --help."],
      [["nosuch", "--help"], "errand: there is no command nosuch. See errand --help."],
      [["serf", "--version"], "errand: there is no command serf; perhaps serve. See errand --help."],
      [["serve"], "errand serve: give --stdio, the one transport there is. See errand serve --help."],
      [["serve", "--stdio", "--nope"], "errand serve: Unknown option '--nope'. See errand serve --help."],
      [
        ["serve", "--stdio", "--model"],
        "errand serve: Option '--model <value>' argument missing. See errand serve --help."
      ],
      [
        ["serve", "--stdio", "--model="],
        "errand serve: --model or ERRAND_MODEL: give PROVIDER:NAME. See errand serve --help."
      ],
      [
        ["serve", "--stdio", "more"],
        "errand serve: Unexpected argument 'more'. See errand serve --help."
      ],
      [
        ["serve", "--stdio", "--request-ids", "63"],
        "errand serve: --request-ids: give a whole number from 64 to 1000000. See errand serve --help."
      ],
      [["run", "a", "--modle", "b"], "errand run: there is no option --modle; perhaps --model. See errand run --help."],
      [["check", "nowhere.json"], "errand check: cannot read nowhere.json (ENOENT). See errand check --help."]
    ] as const
  ) {
    it(`PGM-5 CLS-4 wrong usage is one line and code 64: errand ${args.join(" ")}`, async () => {
      assert.deepStrictEqual(await run(args), { code: 64, stdout: "", stderr: `${problem}\n` })
    })
  }

  for (const command of [[], ...commands.map((one) => [one])]) {
    const name = ["errand", ...command].join(" ")

    it(`PGM-5 --help and --version go to stdout with code 0: ${name}`, async () => {
      const [told, help] = await Promise.all([run([...command, "--version"]), run([...command, "--help"])])
      assert.deepStrictEqual(told, { code: 0, stdout: `errand ${version}\n`, stderr: "" })
      assert.deepStrictEqual([help.code, help.stderr], [0, ""])
      assert.include(help.stdout, name)
    })
  }

  it("PGM-5 errand alone shows its commands with code 0", async () => {
    const { code, stderr, stdout } = await run([])
    assert.deepStrictEqual([code, stderr], [0, ""])
    for (const command of commands) assert.match(stdout, new RegExp(`^ {2}${command} {2}`, "m"))
  })

  for (const shell of ["bash", "zsh", "fish"]) {
    it(`PGM-5 completions come from the command line library: ${shell}`, async () => {
      const { code, stdout } = await run(["--completions", shell])
      assert.strictEqual(code, 0)
      for (const name of [...commands, "run-timeout-ms"]) assert.include(stdout, name)
    })
  }

  for (const args of [["serve", "--stdio"], ["demo"], ["--help"]]) {
    it(`PGM-7 Windows is told so in one line with code 64: errand ${args.join(" ")}`, async () => {
      const code = "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})"
      const ended = await run(args, { NODE_OPTIONS: `--import=${code}` })
      assert.deepStrictEqual(ended, {
        code: 64,
        stdout: "",
        stderr: "errand runs on Linux and macOS; on Windows run it inside WSL.\n"
      })
    })
  }

  it("PGM-4 schema prints the schema of the protocol whole", async () => {
    assert.deepStrictEqual(await run(["schema"]), { code: 0, stdout: JsonSchema.text(), stderr: "" })
  })

  it("PGM-4 check says how much of the limits a module uses", async () => {
    const { code, stderr, stdout } = await run(["check", toolsFile])
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.match(stdout, /^registry: 2 of 32 tools, \d+ of 32768 bytes\nclient__greet: .*\nclient__wait: .*\n$/)
  })

  it("PGM-4 check prints each fault of descriptors with its path and ends with 65", async () => {
    using place = temporary()
    const file = place.file(
      "tools.json",
      "[{\"name\":\"lookup\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},\"x\":1}]"
    )
    const { code, stderr, stdout } = await run(["check", file])
    assert.deepStrictEqual({ code, stderr }, { code: 65, stderr: "" })
    assert.match(stdout, /^client_tools\[0\]\.name: .*\nclient_tools\[0\]\.x: unknown field\n$/)
  })

  it("PGM-4 check takes a module whose declaration throws as faulty, and names tool and path", async () => {
    using place = temporary()
    const client = new URL("../../../client/dist/index.js", import.meta.url).href
    const file = place.file(
      "tools.mjs",
      `import { Tool } from "${client}"\nexport default [Tool.raw("a", { description: "d", parameters: { type: "array" } })]`
    )
    const { code, stderr, stdout } = await run(["check", file])
    assert.deepStrictEqual({ code, stderr }, { code: 65, stderr: "" })
    assert.match(stdout, /"client__a" cannot be declared: parameters\.type: /)
  })
})

describe.concurrent("6 errand serve", { timeout: 60_000 }, () => {
  const serve = (env: Readonly<Record<string, string>>, stdin: "pipe" | number, stdout: "pipe" | number) => {
    const child = spawn(process.execPath, [binary, "serve", "--stdio"], {
      stdio: [stdin, stdout, "pipe"],
      env: { ...process.env, ...env }
    })
    let stderr = ""
    child.stderr!.setEncoding("utf8").on("data", (text: string) => stderr += text)
    return {
      child,
      ended: new Promise<{ code: number | null; stderr: string }>((resolve) =>
        child.on("close", (code) => resolve({ code, stderr }))
      )
    }
  }

  type Child = ReturnType<typeof serve>["child"]
  for (
    const [how, code, end] of [
      ["the end of input", 0, (child: Child) => child.stdin!.end()],
      ["shutdown", 0, (child: Child) => child.stdin!.write("{\"id\":\"2\",\"method\":\"shutdown\"}\n")],
      ["a line too long", 65, (child: Child) => child.stdin!.write(" ".repeat(65_537))],
      ["SIGINT", 130, (child: Child) => child.kill("SIGINT")],
      ["SIGTERM", 143, (child: Child) => child.kill("SIGTERM")],
      ["SIGHUP", 143, (child: Child) => child.kill("SIGHUP")]
    ] as const
  ) {
    it(`CLS-4 WIR-10 ${how} ends it with ${code}`, async () => {
      using home = temporary()
      const { child, ended } = serve({ ERRAND_HOME: home.path }, "pipe", "pipe")
      child.stdin!.on("error", () => {})
      child.stdin!.write("{\"id\":\"1\",\"method\":\"status\"}\n")
      await new Promise((resolve) => child.stdout!.once("data", resolve))
      end(child)
      assert.deepStrictEqual(await ended, { code, stderr: "" })
    })
  }

  it("CLS-5 a regular file as stdin or stdout is wrong usage in one line", async () => {
    using home = temporary()
    const file = home.file("input", "")
    for (
      const [stdin, stdout, name] of [[openSync(file, "r"), "pipe", "stdin"], [
        "pipe",
        openSync(file, "w"),
        "stdout"
      ]] as const
    ) {
      assert.deepStrictEqual(await serve({ ERRAND_HOME: home.path }, stdin, stdout).ended, {
        code: 64,
        stderr: `errand serve --stdio talks to a program: ${name} must be a pipe, not a file. Try errand demo.\n`
      })
    }
  })
})
