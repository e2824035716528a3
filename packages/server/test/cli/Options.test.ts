import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { execFileSync } from "node:child_process"
import { homedir, userInfo } from "node:os"
import { join } from "node:path"
import { errand } from "../../src/cli/Commands.ts"
import { parse } from "../../src/cli/Serve.ts"
import * as Model from "../../src/Model.ts"
import * as Options from "../../src/Options.ts"
import { homeOf, load, type Settings } from "../../src/Settings.ts"
import { temporary } from "./Binary.ts"

const entries = Object.entries(Options.entries) as ReadonlyArray<[Options.OptionName, Options.OptionEntry]>

/** The help of a command, as the command line library has it. */
const helpOf = (command: string) =>
  Effect.gen(function*() {
    const docs: Array<CliOutput.Presenter.Help["helpDoc"]> = []
    const presenter = CliOutput.layerPresenter({
      present: (event) => Effect.sync(() => event._tag === "Help" && docs.push(event.helpDoc))
    })
    yield* Command.runWith(errand, { version: "0" })([command, "--help"]).pipe(
      Effect.provide(Layer.merge(NodeServices.layer, presenter))
    )
    return docs[0]!
  })

describe("PGM-1 the options of the server", () => {
  it.effect("PGM-1 the lean parser and the help name the same options", () =>
    Effect.gen(function*() {
      const help = yield* helpOf("serve")
      assert.deepStrictEqual(help.flags.map(({ name }) => name), ["stdio", ...entries.map(([, { flag }]) => flag)])
      for (const [name, { env, flag, help: text }] of entries) {
        const doc = help.flags.find((one) => one.name === flag)!
        const description = Option.getOrElse(doc.description, () => "")
        assert.include(description, text)
        assert.strictEqual(env !== null && description.includes(`(${env})`), env !== null)
        for (const args of [[`--${flag}`, "x"], [`--${flag}=x`]]) {
          assert.deepStrictEqual(parse(args), Result.succeed({ stdio: false, [name]: "x" }))
        }
      }
      assert.deepStrictEqual(parse(["--stdio"]), Result.succeed({ stdio: true }))
      for (const flag of ["--help", "--tools", "--nope"]) assert.isTrue(Result.isFailure(parse([flag])))
    }))

  it.effect("PGM-3 errand run takes all of them as well", () =>
    Effect.gen(function*() {
      const flags = (yield* helpOf("run")).flags.map(({ name }) => name)
      assert.includeMembers(flags, entries.map(([, { flag }]) => flag))
    }))

  it("PGM-1 the environment has the names of the contract", () => {
    assert.deepStrictEqual(entries.flatMap(([, { env }]) => env === null ? [] : [env]).sort(), [
      "ERRAND_CATALOG",
      "ERRAND_CONFIG",
      "ERRAND_HOME",
      "ERRAND_LOG_LEVEL",
      "ERRAND_MODEL",
      "ERRAND_WORKSPACE"
    ])
  })

  it("PGM-1 a flag wins over its variable, and an empty variable counts as none", () => {
    for (const [name, { env }] of entries) {
      assert.deepStrictEqual(Options.merge({ [name]: "flag" }, env === null ? {} : { [env]: "env" }), {
        [name]: "flag"
      })
      if (env === null) continue
      assert.deepStrictEqual(Options.merge({}, { [env]: "env" }), { [name]: "env" })
      assert.deepStrictEqual(Options.merge({}, { [env]: "" }), {})
    }
  })

  it("PGM-3 options go on to the server as they were told, whatever they begin with", () => {
    const told = Object.fromEntries(entries.map(([name], i) => [name, i % 2 === 0 ? `--${name}` : `a b=${name}`]))
    const parsed = parse(Options.args(told))
    assert.deepStrictEqual(parsed, Result.succeed({ ...told, stdio: false }))
  })

  it("PGM-5 values are checked on both sides of each bound, and the fault names flag and variable", () => {
    const fault = (texts: Options.OptionTexts) => Result.getFailure(Options.decode(texts)).pipe(Option.getOrNull)
    const good = (texts: Options.OptionTexts) => assert.isNull(fault(texts))
    for (const [name, least, most] of [["requestIds", 64, 1_000_000], ["runTimeoutMs", 1, 2147483647]] as const) {
      good({ [name]: String(least) })
      good({ [name]: String(most) })
      for (const text of [String(least - 1), String(most + 1), "1e3", "-5", "64.5", " 64", "x"]) {
        assert.match(fault({ [name]: text })!, /^--[a-z-]+: give a whole number from/)
      }
    }
    good({ turnLimit: "1", catalog: "compact", logLevel: "none", baseUrl: "http://localhost:8080/v1" })
    assert.match(fault({ turnLimit: "0" })!, /^--turn-limit: /)
    assert.strictEqual(fault({ catalog: "all" }), "--catalog or ERRAND_CATALOG: give one of full, compact")
    assert.match(fault({ logLevel: "loud" })!, /^--log-level or ERRAND_LOG_LEVEL: give one of all, trace, /)
    for (const baseUrl of ["localhost:8080", "file:///x", "no"]) {
      assert.match(fault({ baseUrl })!, /^--base-url: give an address that begins with http/)
    }
    for (const [name, { flag, value }] of entries) {
      assert.match(fault({ [name]: "" })!, new RegExp(`^--${flag}[^:]*: give ${value.replaceAll("|", "\\|")}$`))
    }
  })
})

const settle = (flags: Options.OptionTexts, env: Readonly<Record<string, string>>) =>
  load(Result.getOrThrow(Options.decode(Options.merge(flags, env))))

describe("PGM-6 settings", () => {
  const file = {
    model: "script:file",
    base_url: "http://file",
    catalog: "full",
    turn_limit: 1,
    run_timeout_ms: 1,
    request_ids: 64,
    instructions: "said.txt"
  }
  const settings = ({ baseUrl, catalog, instructions, model, requestIds, runTimeoutMs, turnLimit }: Settings) => ({
    baseUrl,
    catalog,
    instructions,
    model,
    requestIds,
    runTimeoutMs,
    turnLimit
  })

  it.effect("PGM-1 PGM-6 flags win over the environment, and both over the config file, for every option", () =>
    Effect.gen(function*() {
      using home = temporary()
      home.file("config.json", JSON.stringify(file))
      home.file("said.txt", "from the file")
      const env = { ERRAND_HOME: home.path, ERRAND_MODEL: "script:env", ERRAND_CATALOG: "compact" }
      const flags = {
        model: "script:flag",
        catalog: "full",
        baseUrl: "http://flag",
        instructions: home.file("flag.txt", "from the flag"),
        requestIds: "65",
        runTimeoutMs: "2",
        turnLimit: "2"
      }
      const fromFile = settings(yield* settle({}, { ERRAND_HOME: home.path }))
      assert.deepStrictEqual(fromFile, {
        model: "script:file",
        catalog: "full",
        baseUrl: "http://file",
        instructions: "from the file",
        requestIds: 64,
        runTimeoutMs: 1,
        turnLimit: 1
      })
      assert.deepStrictEqual(settings(yield* settle({}, env)), { ...fromFile, model: "script:env", catalog: "compact" })
      assert.deepStrictEqual(settings(yield* settle(flags, env)), {
        model: "script:flag",
        catalog: "full",
        baseUrl: "http://flag",
        instructions: "from the flag",
        requestIds: 65,
        runTimeoutMs: 2,
        turnLimit: 2
      })
    }))

  it.effect("PGM-1 without anything told the defaults hold, and a missing config file is none", () =>
    Effect.gen(function*() {
      using home = temporary()
      const found = yield* settle({ home: join(home.path, "none") }, {})
      assert.deepStrictEqual(settings(found), {
        model: "script:demo",
        catalog: "full",
        baseUrl: null,
        instructions: null,
        requestIds: null,
        runTimeoutMs: null,
        turnLimit: null
      })
      assert.strictEqual(found.workspace, process.cwd())
      const { home: usual } = yield* settle({ config: home.file("c.json", "{}") }, {})
      assert.strictEqual(usual, join(homedir(), ".errand"))
    }))

  it("PGM-1 BLT-6 an empty HOME does not put the sessions into the working directory", () => {
    const { HOME } = process.env
    try {
      process.env["HOME"] = ""
      assert.strictEqual(homeOf(Result.getOrThrow(Options.decode({}))), join(userInfo().homedir, ".errand"))
    } finally {
      if (HOME === undefined) delete process.env["HOME"]
      else process.env["HOME"] = HOME
    }
  })

  it.effect("PGM-6 a config file that was named must exist, and its faults are told with their path", () =>
    Effect.gen(function*() {
      using home = temporary()
      const fault = (text: string) =>
        Effect.map(
          Effect.flip(settle({ home: home.path, config: home.file("c.json", text) }, {})),
          ({ message }) => message
        )
      assert.strictEqual(
        (yield* Effect.flip(settle({ config: join(home.path, "none.json") }, {}))).message,
        `config: cannot read ${join(home.path, "none.json")} (ENOENT)`
      )
      const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2"
      assert.strictEqual(
        (yield* Effect.flip(settle({ config: `/none/${secret}` }, {}))).message,
        "config: cannot read /none/[redacted] (ENOENT)"
      )
      assert.match(yield* fault("{"), /^config: is no valid JSON: /)
      assert.match(yield* fault("{\"modle\":\"x\"}"), /^config: modle: /)
      assert.match(yield* fault("{\"turn_limit\":0}"), /^config: turn_limit: /)
      assert.match(yield* fault("{\"permissions\":[{\"tool\":\"*\"}]}"), /^config: permissions\[0\]\.allow: /)
    }))

  it.effect("CLS-3 WIR-50 what is named as a file is refused, and not waited for, when it is none", () =>
    Effect.gen(function*() {
      using home = temporary()
      const pipe = join(home.path, "pipe")
      execFileSync("mkfifo", [pipe])
      const problem = (setting: string) => `${setting}: cannot read ${pipe} (it is no regular file)`
      for (const name of ["config", "instructions"] as const) {
        const refused = yield* Effect.flip(settle({ home: home.path, [name]: pipe }, {}))
        assert.strictEqual(refused.message, problem(name))
      }
      const refused = yield* Effect.flip(Model.layerOf({ model: `script:${pipe}` }))
      assert.strictEqual(refused.message, problem("model"))
    }))
})
