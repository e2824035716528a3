import { assert, describe, it } from "@effect/vitest"
import { make as makeClient } from "@errand/client"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { binary, run, start, temporary, toolsFile } from "./Binary.ts"

const script = (...root: ReadonlyArray<unknown>) => JSON.stringify({ format: "errand.script", version: 1, root })

const use = (name: string, args: unknown = {}) => ({ id: "c1", name, arguments: args })

const results = (text: string): ReadonlyArray<unknown> => JSON.parse(text.slice(text.indexOf("[")))

describe.concurrent("1 errand run", { timeout: 60_000 }, () => {
  it("PGM-3 PGM-6 it serves the tools of a TypeScript module, and stdout is the text alone", async () => {
    using home = temporary()
    const file = home.file(
      "s.json",
      script({ deltas: ["One ", "moment."], tool_calls: [use("client__greet", { name: "Ann" })] }, {
        text: "{{results}}"
      })
    )
    const args = ["run", "Greet Ann", "--tools", toolsFile, "--model", `script:${file}`, "--home", home.path]
    const { code, stderr, stdout } = await run(args)
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /^One moment\.\n\[.*\]\n$/)
    assert.deepStrictEqual(results(stdout), [
      { id: "c1", name: "client__greet", outcome: "success", result: { text: "Hello Ann" } }
    ])
    assert.match(stderr, /^session \S+\n {2}→ call {4}greet {"name":"Ann"}\n {2}← answer {2}greet after .* success\n/)
    assert.match(stderr, / {2}completed, 1 tool call\n$/)
  })

  it("PGM-3 a failed run ends with 1 and says why", async () => {
    using home = temporary()
    const { code, stderr, stdout } = await run(["run", "x", "--home", home.path], {
      ERRAND_MODEL: `script:${home.file("s.json", script())}`
    })
    assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
    assert.match(stderr, /failed \(model_failed\): script exhausted/)
  })

  it("PGM-3 a server that refuses its configuration ends it with 1", async () => {
    using home = temporary()
    const { code, stderr, stdout } = await run(["run", "x", "--home", home.path, "--model", "script:"])
    assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
    assert.match(stderr, /^errand run: initialize was refused \(configuration_invalid\): model: .*\n$/)
  })

  it("PGM-3 Ctrl-C cancels the turn, which the history keeps, and ends with 130", async () => {
    using home = temporary()
    const model = `script:${home.file("s.json", script({ tool_calls: [use("client__wait")] }, { text: "never" }))}`
    const args = ["run", "Wait", "--tools", toolsFile, "--model", model, "--home", home.path]
    const { child, ended, said } = start(args)
    await said("→ call    wait")
    child.kill("SIGINT")
    const { code, stderr, stdout } = await ended
    assert.deepStrictEqual({ code, stdout }, { code: 130, stdout: "" })
    assert.match(stderr, /^ {2}cancelled$/m)

    const id = /^session (\S+)$/m.exec(stderr)![1]!
    const entries = await Effect.gen(function*() {
      const client = yield* makeClient({
        server: { command: process.execPath, args: [binary, "serve", "--stdio", "--model", model, "--home", home.path] }
      })
      return yield* Stream.runCollect(client.history(id))
    }).pipe(Effect.scoped, Effect.runPromise)
    assert.deepStrictEqual(entries.map((entry) => [entry.kind, "status" in entry ? entry.status : null]), [
      ["user", null],
      ["tool", "cancelled"],
      ["run", "cancelled"]
    ])
  })

  it("PGM-3 without a terminal a question for permission is denied", async () => {
    using home = temporary()
    const file = home.file(
      "s.json",
      script({ tool_calls: [use("run_command", { command: "touch touched" })] }, { text: "{{results}}" })
    )
    const { code, stderr, stdout } = await run(
      ["run", "x", "--home", home.path, "--workspace", home.path, "--model", `script:${file}`]
    )
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual((results(stdout)[0] as { outcome: string }).outcome, "denied")
    assert.match(stderr, /^Allow run_command\? .*touch touched \[y\/N\] no, there is no terminal to ask on$/m)
  })

  it("PGM-3 --continue and --session go on with a session, and a new one is made without", async () => {
    using home = temporary()
    const model = `script:${home.file("s.json", script({ text: "{{roles}}" }))}`
    const go = async (...args: ReadonlyArray<string>) => {
      const { stderr, stdout } = await run(["run", "x", "--home", home.path, "--model", model, ...args])
      return { id: /^session (\S+)$/m.exec(stderr)![1]!, roles: results(stdout).filter((role) => role !== "system") }
    }
    const first = await go("--continue")
    assert.deepStrictEqual(first.roles, ["user"])
    assert.deepStrictEqual(await go("--continue"), { id: first.id, roles: ["user", "assistant", "user"] })
    const other = await go()
    assert.notStrictEqual(other.id, first.id)
    assert.deepStrictEqual(other.roles, ["user"])
    const third = await go("--session", first.id)
    assert.deepStrictEqual(third, { id: first.id, roles: ["user", "assistant", "user", "assistant", "user"] })
    // used last, though the other one was made last
    assert.strictEqual((await go("--continue")).id, first.id)
  })

  it("PGM-6 a faulty tools file ends it with 65, one that is not there with 64, and no server is started", async () => {
    using home = temporary()
    const made = `${home.path}/home`
    const go = async (file: string) => {
      const { code, stderr, stdout } = await run(["run", "x", "--home", made, "--tools", file])
      assert.strictEqual(stdout, "")
      return [code, stderr]
    }
    const none = home.file("none.mjs", "export const tools = []")
    const wrong = home.file("wrong.mjs", "export default [{}]")
    const thrown = home.file("thrown.mjs", "throw new Error('no luck')")
    assert.deepStrictEqual(await go(none), [65, `errand run: ${none}: default: expected an array of client tools\n`])
    assert.deepStrictEqual(await go(wrong), [
      65,
      `errand run: ${wrong}: default[0]: expected a client tool, Tool.make(…).handle(…) of @errand/client\n`
    ])
    assert.deepStrictEqual(await go(thrown), [65, `errand run: ${thrown}: Error: no luck\n`])
    assert.deepStrictEqual(await go("nowhere.ts"), [64, "errand run: cannot read nowhere.ts (ENOENT)\n"])
    assert.strictEqual((await run(["check", made])).code, 64)
  })
})
