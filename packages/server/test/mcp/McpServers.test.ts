import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fixture, runs, start, until } from "./McpRig.ts"

describe("program 3: MCP servers over pipes", { timeout: 60_000 }, () => {
  it.effect("BLT-5 PRM-1 WIR-38 tools of all pages get legal, unique names, need approval, and keep their schema unchanged", () =>
    Effect.gen(function*() {
      const { tools } = yield* start({ one: fixture(), two: fixture() })
      const names = tools().map(({ name }) => name)
      assert.strictEqual(names.length, 38)
      assert.strictEqual(new Set(names).size, 38)
      assert.includeMembers(names, ["mcp__one__echo", "mcp__two__echo", "mcp__two__large"])
      for (const name of names) assert.match(name, /^mcp__(?:one|two)__[A-Za-z0-9_-]{1,53}$/)
      const [echo, weird] = tools()
      assert.deepStrictEqual({ ...echo }, {
        name: "mcp__one__echo",
        description: "Gives back what it gets.",
        inputSchema: "{\"type\":\"object\",\"required\":[],\"$schema\":\"http://x\",\"a\":1.50}",
        kind: "mcp",
        timeoutMs: 0,
        inspection: false,
        otherwise: "ask",
        server: "one",
        original: "echo"
      } as never)
      assert.match(weird!.name, /^mcp__one__weird_name___[0-9a-f]{8}$/)
      assert.strictEqual(weird!.description, "The tool weird.name/ü of the MCP server one.")
      assert.strictEqual(tools(), tools())
    }))

  it.effect("FRM-12 BLT-5 arguments and structured results go through without loss", () =>
    Effect.gen(function*() {
      const { call } = yield* start({ one: fixture() })
      const args = "{\"b\":12345678901234567890,\"a\":0.10000000000000000001,\"__proto__\":-0}"
      assert.deepStrictEqual(yield* call("mcp__one__echo", args), {
        _tag: "Success",
        text: "got it",
        structured: args
      } as never)
    }))

  it.effect("BLT-5 WIR-42 errors of a tool, refusals and broken answers are told, images are left out with a note, size is bounded", () =>
    Effect.gen(function*() {
      const { call, text } = yield* start({ one: fixture() })
      assert.strictEqual(
        yield* text("mcp__one__image"),
        "see\n[image left out: image/png, 3,000 bytes]\n[resource doc: file:///doc]\ninside"
      )
      assert.deepStrictEqual(yield* call("mcp__one__fail"), {
        _tag: "Failure",
        text: "it went wrong, token=abcdefgh12345678"
      })
      assert.deepStrictEqual(yield* call("mcp__one__refuse"), {
        _tag: "Failure",
        text: "The MCP server refused the call: bad arguments (-32602)"
      })
      assert.include(yield* call("mcp__one__broken"), { _tag: "Uncertain", code: "mcp_lost" })
      const large = yield* text("mcp__one__large")
      assert.isAtMost(large.length, 32_768)
      assert.strictEqual(yield* text("mcp__one__latin"), "caf\ufffd")
      assert.match(large, /^x+\n… [\d,]+ bytes left out\n$/)
      assert.include(yield* call("mcp__one__nothing"), { _tag: "Refused", code: "mcp_unavailable" })
    }))

  it.effect("BLT-6 WIR-44 a server gets no provider keys and no ERRAND_* but what its configuration names", () =>
    Effect.gen(function*() {
      process.env["OPENAI_API_KEY"] = "x"
      process.env["ERRAND_HOME"] = "x"
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          delete process.env["OPENAI_API_KEY"]
          delete process.env["ERRAND_HOME"]
        })
      )
      const { text } = yield* start({ one: fixture({ GIVEN_API_KEY: "mine" }) })
      const names = JSON.parse(yield* text("mcp__one__env")) as ReadonlyArray<string>
      assert.includeMembers(names as Array<string>, ["PATH", "GIVEN_API_KEY"])
      assert.notIncludeMembers(names as Array<string>, ["OPENAI_API_KEY"])
      assert.notIncludeMembers(names as Array<string>, ["ERRAND_HOME"])
    }))

  it.effect("CAN-2 BLT-5 interrupting a call tells the server, and the server goes on", () =>
    Effect.gen(function*() {
      const { call, text } = yield* start({ one: fixture() })
      const fiber = yield* Effect.forkChild(call("mcp__one__hang"), { startImmediately: true })
      // calls are answered in order, so this one comes after the other has begun
      const { hanging } = JSON.parse(yield* text("mcp__one__cancelled"))
      assert.isNumber(hanging)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(JSON.parse(yield* text("mcp__one__cancelled")), { hanging, cancelled: [hanging] })
    }))

  it.effect("BLT-5 WIR-41 a call without a sign of life expires after 60 s and is cancelled; it may have executed", () =>
    Effect.gen(function*() {
      const { call, text } = yield* start({ one: fixture() })
      const fiber = yield* Effect.forkChild(call("mcp__one__hang"), { startImmediately: true })
      yield* text("mcp__one__cancelled")
      yield* TestClock.adjust(59_999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual(outcome, {
        _tag: "Uncertain",
        code: "mcp_timeout",
        message: "The MCP server one gave no answer within 60000 ms. It may have executed: do not repeat it blindly."
      })
      assert.strictEqual(JSON.parse(yield* text("mcp__one__cancelled")).cancelled.length, 1)
    }))

  it.effect("BLT-5 WIR-41 progress is a sign of life, for ten minutes at most", () =>
    Effect.gen(function*() {
      const { call, text } = yield* start({ one: fixture() })
      const hang = Effect.forkChild(call("mcp__one__hang"), { startImmediately: true })
      const first = yield* hang
      for (let i = 0; i < 3; i++) {
        yield* text("mcp__one__beat")
        yield* TestClock.adjust(59_999)
      }
      yield* text("mcp__one__release")
      assert.deepStrictEqual(yield* Fiber.join(first), { _tag: "Success", text: "slow but done" })
      const second = yield* hang
      for (let i = 0; i < 12; i++) {
        assert.isUndefined(second.pollUnsafe())
        yield* text("mcp__one__beat")
        yield* TestClock.adjust(50_000)
      }
      const outcome = yield* Fiber.join(second)
      assert.match("message" in outcome ? outcome.message : "", /no answer within 600000 ms/)
    }))

  it.effect("BLT-5 a server that says its tools have changed is asked again", () =>
    Effect.gen(function*() {
      const { text, tools } = yield* start({ one: fixture() })
      const before = tools()
      assert.strictEqual(yield* text("mcp__one__grow"), "grown")
      yield* until(() => tools() !== before)
      assert.deepStrictEqual(tools().slice(before.length).map(({ name }) => name), ["mcp__one__grown"])
    }))

  it.effect("BLT-5 WIR-39 a server that says it again and again is asked once a second", () =>
    Effect.gen(function*() {
      const { text } = yield* start({ one: fixture({ FIXTURE_MODE: "restless" }) })
      const settled = Effect.gen(function*() {
        let lists = ""
        for (let i = 0; i < 20; i++) lists = yield* text("mcp__one__lists")
        return lists
      })
      assert.strictEqual(yield* settled, "2")
      yield* TestClock.adjust(999)
      assert.strictEqual(yield* settled, "2")
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* settled, "3")
    }))

  it.effect("BLT-5 a server that dies fails the call that it had, then those that come, and comes back", () =>
    Effect.gen(function*() {
      const { call, text, tools } = yield* start({ one: fixture(), two: fixture() })
      const before = tools()
      const outcome = yield* call("mcp__one__die")
      assert.include(outcome, { _tag: "Uncertain", code: "mcp_lost" })
      assert.match("message" in outcome ? outcome.message : "", /it ended \(code 7\).*may have executed/)
      yield* Effect.yieldNow
      assert.include(yield* call("mcp__one__echo"), { _tag: "Refused", code: "mcp_unavailable" })
      assert.strictEqual(yield* text("mcp__two__echo"), "got it")
      assert.strictEqual(tools(), before)
      yield* TestClock.adjust(499)
      assert.include(yield* call("mcp__one__echo"), { _tag: "Refused", code: "mcp_unavailable" })
      yield* TestClock.adjust(1)
      while ((yield* call("mcp__one__echo"))._tag !== "Success") yield* Effect.promise(() => new Promise(setImmediate))
    }))

  it.effect("BLT-5 WIR-40 what a server wrote before it died counts, also what was not read yet", () =>
    Effect.gen(function*() {
      const names = ["one", "two", "three", "four"]
      const { call } = yield* start(Object.fromEntries(names.map((name) => [name, fixture()])))
      const outcomes = yield* Effect.forEach(names, (name) => call(`mcp__${name}__lastWords`), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), names.map(() => "Success"))
    }))

  it.effect("BLT-5 WIR-43 a message of more than 16 MiB ends the server that sends it, and pages of tools without end are left", () =>
    Effect.gen(function*() {
      const { call, tools } = yield* start({ one: fixture(), endless: fixture({ FIXTURE_MODE: "endless" }) })
      assert.deepStrictEqual(tools().filter(({ server }) => server === "endless").length, 2)
      const outcome = yield* call("mcp__one__flood")
      assert.match(
        "message" in outcome ? outcome.message : "",
        /a message of more than 16777216 bytes.*may have executed/
      )
    }))

  it.effect("BLT-5 WIR-40 each time that it is lost a server is started again after twice as long, 30 s at most", () =>
    Effect.gen(function*() {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "errand-mcp-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      const { args, command } = fixture() as { readonly args: ReadonlyArray<string>; readonly command: string }
      // born once, and never again
      const script = "test -e born && exit 1; touch born; exec \"$0\" \"$@\""
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => said.push(String(message)))
      const { call } = yield* start(
        { one: { command: "/bin/sh", args: ["-c", `cd ${folder}; ${script}`, command, ...args] } }
      ).pipe(Effect.provide(Logger.layer([logger])))
      yield* call("mcp__one__die")
      for (const wait of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
        yield* until(() => said.length > 0)
        assert.match(said.splice(0).join(), new RegExp(`is started again in ${wait} ms`))
        yield* TestClock.adjust(wait - 1)
        yield* Effect.yieldNow
        assert.deepStrictEqual(said, [])
        yield* TestClock.adjust(1)
      }
    }))

  it.effect("BLT-5 a server that cannot start is absent, and a start goes on with the others", () =>
    Effect.gen(function*() {
      const { tools } = yield* start({
        gone: { command: "/no/such/program" },
        fails: fixture({ FIXTURE_MODE: "fails" }),
        future: fixture({ FIXTURE_MODE: "future" }),
        echoes: { command: "cat" },
        good: fixture()
      })
      assert.deepStrictEqual(new Set(tools().map(({ server }) => server)), new Set(["good"]))
    }))

  it.effect("BLT-5 a start waits 5 s for a server, which may come later", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(start({ mute: fixture({ FIXTURE_MODE: "mute" }), good: fixture() }))
      yield* TestClock.adjust(4999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(fiber)
    }))

  it.effect("BLT-5 BLT-6 CLS-3 closing leaves no process of a server, also of one that ignores a polite end", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { text } = yield* Scope.provide(start({ one: fixture(), two: fixture() }), scope)
      const pids = (JSON.parse(`[${yield* text("mcp__one__children")},${yield* text("mcp__two__children")}]`) as Array<
        Array<number>
      >)
        .flat()
      assert.deepStrictEqual(pids.map(runs), [true, true, true, true])
      const at = performance.now()
      yield* Scope.close(scope, Exit.void)
      assert.isBelow(performance.now() - at, 1500)
      yield* until(() => !pids.some(runs))
    }))
})
