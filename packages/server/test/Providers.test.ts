import { assert, describe, it } from "@effect/vitest"
import { ModelTurn } from "@errand/runtime"
import { Duplex, Peer, TestServer } from "@errand/testing"
import {
  type Answer,
  anthropicMessages,
  chatCompletions,
  openAiResponses,
  ProviderEmulator
} from "@errand/testing/providers"
import { ConfigProvider, Effect, Layer, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import * as Model from "../src/Model.ts"
import * as Options from "../src/Options.ts"
import { serve } from "../src/Server.ts"
import { Startup } from "../src/Startup.ts"

/** `firstText` counts the events until the first piece of a text was told. */
const families = {
  openai: { dialect: openAiResponses, variable: "OPENAI_API_KEY", model: "openai:gpt-5.1", firstText: 5 },
  anthropic: {
    dialect: anthropicMessages,
    variable: "ANTHROPIC_API_KEY",
    model: "anthropic:claude-sonnet-4-5",
    firstText: 3
  },
  "openai-compatible": {
    dialect: chatCompletions,
    variable: "ERRAND_API_KEY",
    model: "openai-compatible:qwen/qwen3:8b",
    firstText: 2
  }
}
const each = Object.keys(families) as ReadonlyArray<keyof typeof families>

const home = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(Path.join(tmpdir(), "errand-providers-"))),
  (path) => Effect.sync(() => fs.rmSync(path, { recursive: true, force: true }))
)

/** The program's own server, started by options, with an emulated provider behind it. */
const start = Effect.fnUntraced(function*(name: keyof typeof families, key?: string) {
  const emulator = yield* ProviderEmulator
  const folder = yield* home
  const { model, variable } = families[name]
  const options = Result.getOrThrow(Options.decode({ model, home: folder, baseUrl: `${emulator.address}/v1` }))
  const logged: Array<string> = []
  const settings = Layer.mergeAll(
    Startup.layer(options),
    ConfigProvider.layer(ConfigProvider.fromUnknown({ [variable]: key ?? emulator.key })),
    Logger.layer([Logger.make((entry) => void logged.push(Logger.formatLogFmt.log(entry)))])
  )
  const duplex = yield* Duplex.make
  const peer = new Peer(duplex)
  yield* Effect.forkScoped(Effect.provide(serve(duplex.pipes), settings))
  return { emulator, folder, logged, peer }
})

/** Runs a turn to its end while time flies, answering client calls with success. */
const turn = Effect.fnUntraced(function*(peer: Peer, session_id: string) {
  const before = peer.events("run.finished").length
  yield* peer.ok("turn.start", { session_id, prompt: "go" })
  let answered = peer.events("client.tool.call").length
  while (peer.events("run.finished").length === before) {
    yield* Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))
    yield* TestClock.adjust(20)
    const calls = peer.frames.filter((frame) => "event" in frame && frame.event === "client.tool.call")
    for (; answered < calls.length; answered++) {
      yield* peer.ok("client.tool.result", peer.answer(calls[answered] as Parameters<Peer["answer"]>[0]))
    }
  }
  return peer.events("run.finished").at(-1)!
})

const filesUnder = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => Path.join(folder, file))
    .filter((path) => fs.statSync(path).isFile())

const call = (name: string): Answer => ({ reasoning: "hm", calls: [{ name, arguments: `{"n":9007199254740993}` }] })

for (const name of each) {
  describe(`MDL-2 the server with ${name}`, () => {
    it.effect("MDL-2 SES-11 calls go out and back, and no failure leaves a history that the provider refuses", () =>
      Effect.gen(function*() {
        const { emulator, peer } = yield* start(name)
        const session = yield* TestServer.session(peer, [TestServer.tool("client__a")])
        yield* emulator.script(
          { ...call("client__a"), text: "Looking.", usage: { input: 10, output: 2 } },
          { text: "Done.", usage: { input: 20, output: 3 } },
          // a run that fails after a call, one that fails at once, one whose call is cut off, one with a made-up tool
          call("client__a"),
          { fault: { type: "status", status: 400, message: "no" } },
          { fault: { type: "status", status: 403, message: "no" } },
          { calls: [{ name: "client__a", arguments: `{"a":` }], stop: "length" },
          { calls: [{ name: "no such tool!", arguments: "[]" }, { name: "client__a", arguments: "{}" }] },
          {},
          { text: "Still here." }
        )
        const first = yield* turn(peer, session)
        assert.deepStrictEqual(first.usage, { input_tokens: 30, output_tokens: 5, model_requests: 2, tool_calls: 1 })
        const statuses = [first.status]
        for (let run = 0; run < 4; run++) statuses.push((yield* turn(peer, session)).status)
        assert.deepStrictEqual(statuses, ["completed", "failed", "failed", "completed", "completed"])
        assert.deepStrictEqual(
          emulator.requests.map(({ refusal }) => refusal),
          emulator.requests.map(() => null)
        )
        const line = peer.lines.find((line) => line.includes("client.tool.call"))
        assert.include(line, `{"n":9007199254740993}`)
      }).pipe(Effect.provide(ProviderEmulator.layer(families[name].dialect))))

    it.effect("MDL-3 a transient failure is retried by the server, and counted once", () =>
      Effect.gen(function*() {
        const { emulator, peer } = yield* start(name)
        const session = yield* TestServer.session(peer)
        yield* emulator.script(
          { fault: { type: "status", status: 529 } },
          { fault: { type: "reset", after: 0 } },
          { text: "at last" }
        )
        const ended = yield* turn(peer, session)
        assert.strictEqual(ended.status, "completed")
        assert.strictEqual(emulator.requests.length, 3)
        assert.strictEqual(ended.usage.model_requests, 1)
      }).pipe(Effect.provide(ProviderEmulator.layer(families[name].dialect))))

    it.effect("MDL-2 the key is in no frame, no line of the log and no file", () =>
      Effect.gen(function*() {
        const key = "errand-key-5f0c1b7a9d"
        const { emulator, folder, logged, peer } = yield* start(name, key)
        const session = yield* TestServer.session(peer, [
          TestServer.tool("client__a", { input_schema: { type: "object", anyOf: [{ required: ["a"] }] } })
        ])
        const ended = yield* turn(peer, session)
        assert.deepStrictEqual(ended.error, {
          code: "model_failed",
          message: "Incorrect API key provided: [redacted]."
        })
        assert.include(JSON.stringify(emulator.requests[0]!.headers), key)
        const everything = [
          ...peer.lines,
          ...logged,
          ...filesUnder(folder).map((path) => fs.readFileSync(path, "latin1"))
        ]
        assert.isAbove(everything.length, 5)
        for (const text of everything) assert.notInclude(text, key)
      }).pipe(Effect.provide(ProviderEmulator.layer(families[name].dialect))))
  })
}

describe("MDL-4 tools that a provider refuses", () => {
  it.effect("MDL-4 are told in the log once, and go out unchanged", () =>
    Effect.gen(function*() {
      const { emulator, logged, peer } = yield* start("anthropic")
      const session = yield* TestServer.session(peer, [
        TestServer.tool("client__a", { input_schema: { type: "object", anyOf: [{ required: ["a"] }] } })
      ])
      const words = emulator.requests
      for (let run = 0; run < 2; run++) assert.strictEqual((yield* turn(peer, session)).error?.code, "model_failed")
      assert.strictEqual(words.length, 2)
      assert.include(words[0]!.text, `{"type":"object","anyOf":[{"required":["a"]}]}`)
      const told = logged.filter((line) => line.includes("client__a"))
      assert.strictEqual(told.length, 1, logged.join("\n"))
      assert.include(told[0], "anthropic refuses the tool client__a: input_schema.anyOf")
    }).pipe(Effect.provide(ProviderEmulator.layer(anthropicMessages))))
})

describe("MDL-2 what a model needs", () => {
  const fault = (model: string, baseUrl: string | null, env: object = {}) =>
    Model.layerOf({ model, baseUrl }).pipe(
      Effect.match({ onFailure: ({ message }) => message, onSuccess: () => null }),
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
    )

  it.effect("MDL-2 a missing key and a missing address are faults that name what to set", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* fault("openai:x", null), "model: openai needs a key; set OPENAI_API_KEY")
      assert.strictEqual(
        yield* fault("openai:x", null, { OPENAI_API_KEY: " " }),
        "model: openai needs a key; set OPENAI_API_KEY"
      )
      assert.strictEqual(yield* fault("anthropic:x", null), "model: anthropic needs a key; set ANTHROPIC_API_KEY")
      assert.strictEqual(
        yield* fault("openai-compatible:x", null),
        "model: openai-compatible needs an address; give --base-url"
      )
      assert.isNull(yield* fault("openai:x", null, { OPENAI_API_KEY: "sk-1\n" }))
      assert.isNull(yield* fault("openai-compatible:x", "http://localhost:8080/v1/"))
    }))

  it.effect("MDL-2 a key and an address that cannot be used are faults that do not repeat them", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* fault("openai:x", null, { OPENAI_API_KEY: "sk\nx" }),
        "OPENAI_API_KEY: holds what no key has"
      )
      for (const url of ["localhost:8080", "file:///x", "nonsense", "http://x/v1?a=b", "http://x/v1#a"]) {
        assert.strictEqual(
          yield* fault("openai-compatible:x", url),
          "base-url: give an address such as http://localhost:8080/v1"
        )
      }
      assert.strictEqual(
        yield* fault("openai-compatible:x", "http://user:secret@x/v1"),
        "base-url: holds a key; set a variable instead"
      )
    }))

  it.effect("LIF-9 MDL-2 a model has the provider and the name of its setting, a script too", () =>
    Effect.gen(function*() {
      const folder = fs.mkdtempSync(Path.join(tmpdir(), "errand-model-"))
      const file = Path.join(folder, "a:b.json")
      fs.writeFileSync(file, JSON.stringify({ format: "errand.script", version: 1, root: [] }))
      for (const setting of ["script:demo", `script:${file}`, "openai-compatible:x:y"]) {
        const model = yield* Model.layerOf({ model: setting, baseUrl: "http://localhost/v1" }).pipe(
          Effect.flatMap((layer) => Effect.provide(ModelTurn, layer))
        )
        assert.strictEqual(`${model.provider}:${model.name}`, setting)
      }
      fs.rmSync(folder, { recursive: true })
    }))

  it.effect("MDL-2 other models are refused", () =>
    Effect.gen(function*() {
      for (const model of ["", "openai", "openai:", "google:x", ":x", "script:"]) {
        assert.include(yield* fault(model, null), "model: expected script:FILE")
      }
    }))
})

/** What a client of the binary does once some words have been written so many times; the last step ends its input. */
type Step = readonly [words: string, times: number, method: string, params?: object]

/** The built binary over its real pipes: takes the steps one after the other, and gives all that was written. */
const binary = (args: ReadonlyArray<string>, env: object, steps: ReadonlyArray<Step>) =>
  Effect.callback<{ readonly out: string; readonly err: string; readonly code: number | null }>((resume) => {
    const bin = Path.join(import.meta.dirname, "../bin/errand.mjs")
    const child = spawn(process.execPath, [bin, "serve", "--stdio", ...args], {
      env: { PATH: process.env["PATH"], ...env }
    })
    let out = ""
    let err = ""
    let taken = 0
    const valueOf = (key: string) => out.split(`"${key}":"`).at(-1)!.split(`"`, 1)[0]
    const wrote = (words: string, times: number) => times === 0 || out.split(words).length > times
    const go = () => {
      for (let step = steps[taken]; step !== undefined && wrote(step[0], step[1]); step = steps[taken]) {
        const [, , method, params] = step
        taken++
        const text = JSON.stringify({ id: `q${taken}`, method, params })
        child.stdin.write(`${text.replace("SESSION", valueOf("session_id")!).replace("RUN", valueOf("run_id")!)}\n`)
        if (taken === steps.length) child.stdin.end()
      }
    }
    child.stderr.on("data", (chunk: Buffer) => err += chunk.toString())
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString()
      go()
    })
    child.on("close", (code) => resume(Effect.succeed({ out, err, code })))
    go()
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const opening: ReadonlyArray<Step> = [
  ["", 0, "initialize", { required_capabilities: [] }],
  [`"id":"q1"`, 1, "session.create"],
  [`"id":"q2"`, 1, "turn.start", { session_id: "SESSION", prompt: "go" }]
]
const again = (
  finished: number
): Step => ["run.finished", finished, "turn.start", { session_id: "SESSION", prompt: "go" }]

/** One turn with the built binary, or more. */
const speak = Effect.fnUntraced(function*(
  model: string,
  args: ReadonlyArray<string>,
  env: object,
  steps: ReadonlyArray<Step> = [["run.finished", 1, "status"]]
) {
  return yield* binary(["--home", yield* home, "--model", model, ...args], env, [...opening, ...steps])
})

describe("MDL-2 the built binary", () => {
  for (const name of each) {
    it.live(`MDL-2 speaks to ${name}`, () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        yield* emulator.script({ text: ["Hello ", "from afar."] })
        const { model, variable } = families[name]
        const { err, out } = yield* speak(model, ["--base-url", `${emulator.address}/v1`], { [variable]: emulator.key })
        assert.strictEqual(err, "")
        assert.include(out, "Hello from afar.")
        assert.notInclude(out, emulator.key)
        assert.notInclude(emulator.requests[0]!.text, "cache_control")
      }).pipe(Effect.scoped, Effect.provide(ProviderEmulator.layer(families[name].dialect))))

    it.live(`MDL-3 CAN-2 survives cancelled and broken answers of ${name}`, () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const { firstText, model, variable } = families[name]
        const text = ["One ", "two ", "three."]
        yield* emulator.script(
          { text, fault: { type: "silence", after: firstText } },
          { text, fault: { type: "reset", after: firstText } },
          { text, fault: { type: "truncate", after: firstText } },
          { text, fault: { type: "error", after: firstText } },
          { text: "All is well." }
        )
        const cancel: Step = ["message.delta", 1, "turn.cancel", { session_id: "SESSION", run_id: "RUN" }]
        const steps: ReadonlyArray<Step> = [cancel, again(1), again(2), again(3), again(4), [
          "run.finished",
          5,
          "status"
        ]]
        const args = ["--base-url", `${emulator.address}/v1`, "--log-level", "debug"]
        const { code, err, out } = yield* speak(model, args, { [variable]: emulator.key }, steps)
        assert.deepStrictEqual(
          [...out.matchAll(/"status":"(completed|failed|cancelled)"/g)].map(([, status]) => status),
          [
            "cancelled",
            "failed",
            "failed",
            "failed",
            "completed"
          ]
        )
        assert.isTrue(emulator.requests[0]!.aborted)
        assert.strictEqual(err, "")
        assert.strictEqual(code, 0)
      }).pipe(Effect.scoped, Effect.provide(ProviderEmulator.layer(families[name].dialect))))
  }

  it.live("MDL-2 asks Anthropic itself, but no gateway, to cache the conversation", () =>
    Effect.gen(function*() {
      const emulator = yield* ProviderEmulator
      yield* emulator.script({ text: "Hello." })
      const { out } = yield* speak(families.anthropic.model, [], {
        ANTHROPIC_API_KEY: emulator.key,
        ANTHROPIC_BASE_URL: `${emulator.address}/v1`
      })
      assert.include(out, "Hello.")
      assert.deepStrictEqual({ ...emulator.requests[0]!.body.cache_control as object }, { type: "ephemeral" })
    }).pipe(Effect.scoped, Effect.provide(ProviderEmulator.layer(anthropicMessages))))
})
