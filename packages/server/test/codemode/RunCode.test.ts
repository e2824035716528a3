import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import type { CatalogTool, ToolOutcome } from "@errand/runtime"
import { Deferred, Effect, Fiber } from "effect"
import type { Worker } from "node:worker_threads"
import { fault, run, value } from "./CodeRig.ts"

const tool = (name: string, description: string): CatalogTool => ({
  name,
  description,
  inputSchema: "{\"type\":\"object\",\"minProperties\":1.0}" as JsonText,
  kind: "client",
  timeoutMs: 1000,
  inspection: false,
  otherwise: "allow"
})

const alive = new Set<Worker>()
process.on("worker", (worker) => {
  alive.add(worker)
  worker.once("exit", () => alive.delete(worker))
})

describe("program 3: what code returns", { timeout: 60_000 }, () => {
  it.effect("BLT-3 a string is the text, another value is structured, and nothing is said to be nothing", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* run("return 'done'"), { _tag: "Success", text: "done" })
      assert.deepStrictEqual(yield* run("return {a: [1, null], b: 'x'}"), {
        _tag: "Success",
        text: "",
        structured: "{\"a\":[1,null],\"b\":\"x\"}" as JsonText
      })
      assert.deepStrictEqual(yield* run("return null"), {
        _tag: "Success",
        text: "",
        structured: "null" as JsonText
      })
      assert.deepStrictEqual(yield* run("1 + 1 // nothing comes back"), {
        _tag: "Success",
        text: "(the code returned nothing)"
      })
    }))

  it.effect("BLT-3 what is logged stands in the text, before a returned string", () =>
    Effect.gen(function*() {
      const logged = "console.log('one', {two: 2}, [3n], undefined); console.error(new TypeError('bad'))"
      assert.deepStrictEqual(yield* run(`${logged}; return 'end'`), {
        _tag: "Success",
        text: "one {\"two\":2} [3] undefined\nTypeError: bad\nend"
      })
      assert.deepStrictEqual(yield* run(`console.log('a'); return 1`), {
        _tag: "Success",
        text: "a\n",
        structured: "1" as JsonText
      })
    }))

  it.effect("BLT-3 WIR-31 of a log that is too long the beginning is told and how much is missing in all, and a value stays one", () =>
    Effect.gen(function*() {
      const told = Effect.fnUntraced(function*(code: string) {
        const outcome = yield* run(code)
        const text = outcome._tag === "Success" || outcome._tag === "Failure" ? outcome.text : ""
        assert.isAtMost(Buffer.byteLength(text), 32_768)
        const [, log = "", left = ""] = /^([^…]*)\n… ([\d,]+) bytes left out\n/.exec(text) ?? []
        assert.strictEqual(Buffer.byteLength(log) + Number(left.replaceAll(",", "")), 40_000)
        assert.notInclude(text, "\ufffd")
        return { ...outcome, text: text.slice(text.indexOf("left out\n") + 9) }
      })
      const log = "for (let i = 0; i < 40; i++) console.log('y'.repeat(999));"
      assert.deepStrictEqual(yield* told(`${log} return {a: 1}`), {
        _tag: "Success",
        text: "",
        structured: "{\"a\":1}" as JsonText
      })
      assert.deepStrictEqual(yield* told(`${log} return 'end'`), { _tag: "Success", text: "end" })
      assert.deepInclude(yield* told(`${log} throw 'end'`), { _tag: "Failure", text: "end" })
      yield* told("console.log('x' + '😀'.repeat(9999) + 'yy')")
    }))

  it.effect("BLT-3 WIR-35 the message of an error holds the beginning of what a tool told, its text all of it", () =>
    Effect.gen(function*() {
      const nested = () => Effect.succeed({ _tag: "Failure", text: "z".repeat(3000) } as const)
      const told = yield* run(
        "try { await tools.call('x', {}) } catch (e) { return [e.message.length < 2100, e.message.startsWith('z'.repeat(2000)), e.text.length] }",
        { nested }
      )
      assert.deepInclude(told, { structured: "[true,true,3000]" as JsonText })
    }))

  it.effect("BLT-3 PRM-4 faults E2 no text of code ends at a NUL: what it returns, logs, throws, and what it calls by name", () =>
    Effect.gen(function*() {
      const nul = "a\0b"
      assert.deepStrictEqual(yield* run("return 'a\\0b'"), { _tag: "Success", text: nul })
      assert.deepStrictEqual(yield* run("console.log('a\\0b')"), { _tag: "Success", text: `${nul}\n` })
      assert.include(yield* fault("throw new Error('a\\0b')"), nul)
      assert.strictEqual(yield* value("return 'a\\0b'.length"), "3")
      assert.strictEqual(yield* value("return (await tools.call('a\\0b', {})).text"), undefined)
      assert.deepStrictEqual(yield* run("return (await tools.call('a\\0b', {k: '\\0'})).text"), {
        _tag: "Success",
        text: `${nul} {"k":"\\u0000"}`
      })
      assert.deepStrictEqual(yield* run(`return '${nul}'.length + /* \0 */ 0`), {
        _tag: "Success",
        text: "",
        structured: "3" as JsonText
      })
    }))

  it.effect("BLT-3 faults E1 half an emoji that code returns or logs is one character, and a failure inside a value", () =>
    Effect.gen(function*() {
      const outcome = yield* run("console.log('x\\ud83d'); return '\\ud83dy'")
      assert.strictEqual(outcome._tag === "Success" ? outcome.text.toWellFormed() : "", "x\ufffd\n\ufffdy")
      assert.match(yield* fault("return ['\\ud83d']"), /lone surrogate/)
    }))

  it.effect("BLT-3 a returned value is bounded like every result, and the text says what was left out", () =>
    Effect.gen(function*() {
      const fits = yield* run("return {s: 'x'.repeat(32_768 - 8)}")
      assert.strictEqual(fits._tag === "Success" && fits.structured?.length, 32_768)
      const over = yield* run("console.log('first'); return {s: 'x'.repeat(32_768 - 7)}")
      assert.strictEqual(over._tag, "Success")
      const text = over._tag === "Success" ? over.text : ""
      assert.match(text, /^first\nThe structured value is too large to be told whole: \{"s":"xxx/)
      assert.match(text, /… \d+ bytes left out\n$|… [\d,]+ bytes left out\n$/)
      assert.isAtMost(text.length, 32_768)
      const logs = yield* run("for (let i = 0; i < 9000; i++) console.log('line ' + i); return 'the end'")
      const log = logs._tag === "Success" ? logs.text : ""
      assert.match(log, /^line 0\nline 1\n/)
      assert.match(log, /left out\nthe end$/)
      assert.isAtMost(log.length, 32_768)
    }))

  it.effect("FRM-12 integers that a double cannot hold are BigInts in code and keep their digits on every way", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const structured =
        "{\"id\":12345678901234567890,\"near\":9007199254740991,\"list\":[-9007199254740993]}" as JsonText
      const told = yield* value(
        `const { structured } = await tools.call('client__a', { id: 98765432109876543210n })
         return [typeof structured.id, typeof structured.near, structured.list[0] + 1n, structured]`,
        {
          nested: (_, args) =>
            Effect.sync((): ToolOutcome => {
              seen.push(args)
              return { _tag: "Success", text: "", structured }
            })
        }
      )
      assert.deepStrictEqual(seen, ["{\"id\":98765432109876543210}"])
      assert.strictEqual(told, `["bigint","number",-9007199254740992,${structured}]`)
    }))

  it.effect("BLT-3 FRM-12 WIR-32 code that writes and reads JSON itself loses no digit either", () =>
    Effect.gen(function*() {
      const structured = "{\"n\":9007199254740993}" as JsonText
      const answer = { nested: () => Effect.succeed<ToolOutcome>({ _tag: "Success", text: "", structured }) }
      const ask = "const r = await tools.call('client__a', {}); "
      assert.deepStrictEqual(yield* run(`${ask} return JSON.stringify(r.structured)`, answer), {
        _tag: "Success",
        text: structured
      })
      assert.strictEqual(
        yield* value(
          `${ask} const { n } = r.structured
          return [
            JSON.stringify({ n }, null, 1),
            JSON.stringify({ a: n, b: [n] }, (key, value) => key === "a" ? value + 1n : value),
            JSON.stringify({ b: 1, a: { n, x: 2 }, x: [3n, { b: n }], list: 4 }, ["x", "a", "n"]),
            JSON.stringify({ n: { toJSON: () => n }, s: JSON.stringify([n]), quoted: String(n), u: undefined }),
            JSON.stringify(undefined) === undefined,
            typeof JSON.stringify,
            JSON.stringify.length + JSON.parse.length,
          ]`,
          answer
        ),
        JSON.stringify([
          "{\n \"n\": 9007199254740993\n}",
          "{\"a\":9007199254740994,\"b\":[9007199254740993]}",
          "{\"x\":[3,{}],\"a\":{\"x\":2,\"n\":9007199254740993}}",
          "{\"n\":9007199254740993,\"s\":\"[9007199254740993]\",\"quoted\":\"9007199254740993\"}",
          true,
          "function",
          5
        ])
      )
      assert.strictEqual(
        yield* value(`
          const text = '{"n":-9007199254740993,"near":9007199254740991,"d":9007199254740993.5,"e":9007199254740993e0,' +
            '"s":"\\\\\\"9007199254740993","9007199254740995":[1]}'
          const parsed = JSON.parse(text)
          const faults = ["[09007199254740993]", "{9007199254740993:1}", "[9007199254740993"].map((text) => {
            try { return JSON.parse(text) } catch (error) { return error.name }
          })
          const doubled = JSON.parse(text, (_, value) => typeof value === "bigint" ? value * 2n : value)
          return [typeof parsed.n, typeof parsed.near, typeof parsed.d, typeof parsed.e, parsed.s, faults, doubled.n, parsed]
        `),
        String
          .raw`["bigint","number","number","number","\"9007199254740993",["SyntaxError","SyntaxError","SyntaxError"],` +
          String.raw`-18014398509481986,{"n":-9007199254740993,"near":9007199254740991,"d":9007199254740994,` +
          String.raw`"e":9007199254740992,"s":"\"9007199254740993","9007199254740995":[1]}]`
      )
    }))

  it.effect("BLT-3 a value that JSON cannot hold is a failure that says why", () =>
    Effect.gen(function*() {
      assert.match(yield* fault("const a = {}; a.a = a; return a"), /^TypeError: circular reference/)
      assert.match(yield* fault("return ['\\ud800']"), /^The returned value cannot be told: .*surrogate/)
      const nest = (depth: number) => `let a = 1; for (let i = 0; i < ${depth}; i++) a = [a]; return a`
      assert.strictEqual(yield* value(nest(128)), `${"[".repeat(128)}1${"]".repeat(128)}`)
      assert.match(yield* fault(nest(129)), /cannot be told/)
    }))
})

describe("program 3: what code can reach", { timeout: 60_000 }, () => {
  it.effect("BLT-3 there is nothing around the code but the language, tools and console", () =>
    Effect.gen(function*() {
      const names = [
        "process",
        "require",
        "fetch",
        "setTimeout",
        "WebAssembly",
        "Deno",
        "std",
        "os",
        "host",
        "job",
        "mark"
      ]
      assert.strictEqual(
        yield* value(`return [${names.map((name) => `typeof ${name}`)}].filter((t) => t !== 'undefined')`),
        "[]"
      )
      assert.match(yield* fault("await import('node:fs')"), /ReferenceError|TypeError|could not load/)
      assert.strictEqual(
        yield* value("return ['x'].map.constructor('return typeof process + typeof this.tools')()"),
        undefined
      )
      assert.match(
        yield* fault("tools.call = null; 'use strict'; Object.defineProperty(tools, 'call', {value: 1})"),
        /TypeError/
      )
    }))

  it.effect("BLT-3 code that breaks its own world ends all the same, and reaches nothing by it", () =>
    Effect.gen(function*() {
      const worlds = [
        "}); this.stolen = 1; (async () => {",
        "}), (async () => { return typeof process",
        "return 1 } /*",
        "return `",
        "\u2028\u2029 return 1 // \u0000",
        "Promise.prototype.then = () => {}; return 1",
        "Promise.prototype.catch = null; await null; return 1",
        "JSON.stringify = () => { throw 1 }; JSON.parse = null; return {a: await tools.call('a', {})}",
        "Object.prototype.toJSON = () => 'x'; return {a: 1}",
        "Object.defineProperty(Object.prototype, 'then', {get() { for (;;) {} }}); return {}",
        "Error.prototype.toString = null; Object.defineProperty(Error.prototype, 'name', {get() { throw this }}); throw new Error('x')",
        "throw new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 2 }})",
        "String.prototype.includes = () => true; String.prototype.split = null; throw new Error('x')",
        "Array.prototype.join = () => { throw 3 }; console.log('x', 1); return [1]",
        "globalThis.BigInt = null; return await tools.call('a', {})",
        "return Symbol('x')",
        "return new Proxy({}, {ownKeys() { throw new Error('trap') }})",
        "throw undefined",
        "await tools.call({toString() { throw new Error('name') }}, {})",
        "return (function* () {})()"
      ]
      const answers = Effect.succeed<ToolOutcome>({ _tag: "Success", text: "", structured: "1e3" as JsonText })
      const told = yield* Effect.forEach(
        worlds,
        (code) => run(code, { bounds: { time_ms: 300 }, nested: () => answers }),
        { concurrency: 4 }
      )
      for (const outcome of told) {
        assert.include(["Success", "Failure"], outcome._tag)
        assert.notMatch(JSON.stringify(outcome), /"object"|int-[0-9a-f]{8}|The sandbox/)
      }
    }))

  it.effect("BLT-3 WIR-34 search and describe show tools with their schema unchanged, and no other", () =>
    Effect.gen(function*() {
      const tools = [tool("client__a", "Looks up records."), tool("client__b", "Sends mail.")]
      assert.strictEqual(
        yield* value("return await tools.search('records')", { tools }),
        "[{\"name\":\"client__a\",\"description\":\"Looks up records.\"}]"
      )
      assert.strictEqual(
        yield* value("return (await tools.search()).map((t) => t.name)", { tools }),
        "[\"client__a\",\"client__b\"]"
      )
      assert.strictEqual(
        yield* value("return await tools.describe('client__b')", { tools }),
        "{\"name\":\"client__b\",\"description\":\"Sends mail.\",\"input_schema\":{\"type\":\"object\",\"minProperties\":1}}"
      )
      assert.match(
        yield* fault("await tools.describe('client__c')", { tools }),
        /^ToolError: There is no tool .*\(unknown_tool\)/
      )
    }))

  it.effect("BLT-3 a call gives text and structured, or throws an error with the code and what the tool told", () =>
    Effect.gen(function*() {
      const ends: Record<string, ToolOutcome> = {
        client__good: { _tag: "Success", text: "T", structured: "{\"a\":1}" as JsonText },
        client__bad: { _tag: "Failure", text: "went wrong", structured: "null" as JsonText },
        client__no: { _tag: "Refused", code: "client_tool_denied", message: "No." },
        list_files: { _tag: "Failure", text: "no such folder" }
      }
      const nested = (name: string) => Effect.succeed(ends[name]!)
      assert.strictEqual(
        yield* value("return await tools.call('client__good')", { nested }),
        "{\"text\":\"T\",\"structured\":{\"a\":1}}"
      )
      const caught = (name: string) =>
        value(
          `try { await tools.call('${name}', {}) } catch (e) { return [e.name, e.code, e.message, e.text, e.structured] }`,
          { nested }
        )
      assert.strictEqual(
        yield* caught("client__bad"),
        "[\"ToolError\",\"client_tool_error\",\"went wrong\",\"went wrong\",null]"
      )
      assert.strictEqual(yield* caught("client__no"), "[\"ToolError\",\"client_tool_denied\",\"No.\",null,null]")
      assert.strictEqual(
        yield* caught("list_files"),
        "[\"ToolError\",\"tool_error\",\"no such folder\",\"no such folder\",null]"
      )
    }))
})

describe("program 3: errors and bounds of code", { timeout: 60_000 }, () => {
  it.effect("BLT-3 errors name the line of the code, also those of a tool that nobody caught", () =>
    Effect.gen(function*() {
      assert.match(
        yield* fault("const a = 1\nfunction f() {\n  throw new TypeError('bad')\n}\nf()"),
        /^TypeError: bad\n.*f \(code\.js:3/
      )
      assert.match(yield* fault("let a = 1\nlet b = ;"), /^SyntaxError: .*\n.*code\.js:2/)
      assert.match(yield* fault("throw 'plain'"), /^plain$/)
      const nested = () => Effect.succeed<ToolOutcome>({ _tag: "Refused", code: "client_tool_busy", message: "Busy." })
      assert.match(
        yield* fault("const x = 1\n\nawait tools.call('client__a', {})", { nested }),
        /^ToolError: Busy\. \(client_tool_busy\)\n.*code\.js:3/
      )
    }))

  it.effect("BLT-3 computing is bounded in time, also inside one regular expression", () =>
    Effect.gen(function*() {
      const bounds = { time_ms: 200 }
      assert.match(
        yield* fault("console.log('before'); for (;;) {}", { bounds }),
        /^before\nThe code computed for more than 200 ms/
      )
      assert.match(yield* fault("await 1; for (;;) await 1", { bounds }), /computed for more than 200 ms/)
      assert.match(yield* fault("try { for (;;) {} } catch { return 1 }", { bounds }), /computed for more than 200 ms/)
      assert.match(
        yield* fault("return /^(a+)+$/.test('a'.repeat(40) + 'b')", { bounds }),
        /computed for more than 200 ms/
      )
    }))

  it.live("BLT-3 waiting for tools does not count as computing", () =>
    Effect.gen(function*() {
      const nested = () => Effect.as(Effect.sleep(600), { _tag: "Success", text: "late" } as const)
      assert.strictEqual(
        yield* value("return (await tools.call('client__a', {})).text.length", { nested, bounds: { time_ms: 300 } }),
        "4"
      )
    }))

  it.effect("BLT-3 PGM-6 bounds beyond what a timer and the interpreter can hold are the largest that they can", () =>
    Effect.gen(function*() {
      for (const more of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
        assert.strictEqual(yield* value("return 1", { bounds: { time_ms: more } }), "1")
        assert.strictEqual(yield* value("return 1", { bounds: { memory_bytes: more + 65_536 } }), "1")
      }
    }))

  it.effect("BLT-3 memory and stack are bounded, and the next code is not touched by it", () =>
    Effect.gen(function*() {
      const bounds = { memory_bytes: 20 * 1024 * 1024 }
      assert.match(
        yield* fault("const all = []; for (;;) all.push('x'.repeat(100_000) + all.length)", { bounds }),
        /^InternalError: out of memory/
      )
      assert.strictEqual(yield* value("return new Array(100_000).fill(1).length", { bounds }), "100000")
      assert.match(yield* fault("function f() { return f() + 1 }; return f()"), /stack/)
      const bytes = "return new Uint8Array(18 * 1024 * 1024).length"
      assert.strictEqual(yield* value(bytes, { bounds: { memory_bytes: 48 * 1024 * 1024 } }), String(18 * 1024 * 1024))
      assert.match(yield* fault(bytes, { bounds: { memory_bytes: 16 * 1024 * 1024 } }), /out of memory/)
    }))

  it.effect("BLT-3 a call that fails by a fault of ours still ends for the code", () =>
    Effect.gen(function*() {
      const nested = () => Effect.die(new Error("a fault"))
      assert.match(yield* fault("await tools.call('client__a', {})", { nested }), /internal_error/)
    }))

  it.effect("BLT-3 code that waits for what cannot come ends", () =>
    Effect.gen(function*() {
      assert.match(yield* fault("await new Promise(() => {})"), /can never come/)
      assert.match(yield* fault("await tools.call('client__a', {}); await new Promise(() => {})"), /can never come/)
    }))

  it.effect("BLT-3 64 calls may be in flight and 1000 may be made; what is beyond throws and was not made", () =>
    Effect.gen(function*() {
      let made = 0
      const nested = () => Effect.sync((): ToolOutcome => ({ _tag: "Success", text: String(++made) }))
      const many = (n: number) =>
        `const ends = await Promise.allSettled(Array.from({ length: ${n} }, () => tools.call('client__a', {})))
         return ends.filter((end) => end.status === 'rejected').map((end) => end.reason.code)`
      assert.strictEqual(yield* value(many(64), { nested }), "[]")
      assert.strictEqual(yield* value(many(65), { nested }), "[\"too_many_calls\"]")
      made = 0
      const row = (n: number) => `for (let i = 0; i < ${n}; i++) await tools.call('client__a', {}); return 'ok'`
      assert.deepStrictEqual(yield* run(row(1000), { nested }), { _tag: "Success", text: "ok" })
      assert.match(yield* fault(row(1001), { nested }), /too_many_calls/)
      assert.strictEqual(made, 2000)
    }))

  it.effect("BLT-3 arguments have a bound of their own, and what is no object goes to the pipeline as it is", () =>
    Effect.gen(function*() {
      const seen: Array<number | string> = []
      const nested = (_: string, args: string) =>
        Effect.sync((): ToolOutcome => {
          seen.push(args.length > 100 ? args.length : args)
          return { _tag: "Success", text: "" }
        })
      const big = (length: number) => `await tools.call('write_file', { a: 'x'.repeat(${length} - 8) })`
      assert.strictEqual((yield* run(big(1024 * 1024), { nested }))._tag, "Success")
      assert.match(yield* fault(big(1024 * 1024 + 1), { nested }), /payload_limit/)
      yield* run(
        "await tools.call('client__a'); await tools.call('client__a', 5); await tools.call('client__a', () => {})",
        { nested }
      )
      assert.deepStrictEqual(seen, [1024 * 1024, "{}", "5", "null"])
    }))

  it.effect("BLT-3 WIR-33 names and searches have the same bound: what is beyond is not copied to the server", () =>
    Effect.gen(function*() {
      let asked = 0
      const nested = () => Effect.sync((): ToolOutcome => ({ _tag: "Success", text: String(++asked) }))
      const long = "'x'.repeat(1024 * 1024 + 1)"
      for (const ask of [`tools.call(${long}, {})`, `tools.search(${long})`, `tools.describe(${long})`]) {
        assert.match(yield* fault(`await ${ask}`, { nested }), /payload_limit/)
      }
      assert.strictEqual(asked, 0)
      assert.strictEqual(yield* value("return await tools.search('x'.repeat(1024 * 1024))"), "[]")
    }))
})

describe("section 12: ending code", { timeout: 60_000 }, () => {
  it.effect("CAN-2 calls that are open when the code ends are interrupted, and its thread is gone", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const nested = (name: string) =>
        name === "client__fast" ? Effect.succeed<ToolOutcome>({ _tag: "Success", text: "" }) : Effect.never.pipe(
          Effect.onInterrupt(() => Effect.sync(() => interrupted++))
        )
      const code =
        "tools.call('client__slow'); tools.call('client__slow').catch(() => {}); await tools.call('client__fast'); return 'ok'"
      assert.deepStrictEqual(yield* run(code, { nested }), { _tag: "Success", text: "ok" })
      assert.strictEqual(interrupted, 2)
      assert.strictEqual(alive.size, 0)
    }))

  it.effect("CAN-2 interruption ends code at once, also code that never pauses, with its calls and its thread", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let interrupted = 0
      const nested = () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => interrupted++))
        )
      const fiber = yield* Effect.forkChild(run("tools.call('client__a'); for (;;) {}", { nested }))
      yield* Deferred.await(started)
      assert.strictEqual(alive.size, 1)
      const at = performance.now()
      yield* Fiber.interrupt(fiber)
      assert.isBelow(performance.now() - at, 1000)
      assert.strictEqual(interrupted, 1)
      assert.strictEqual(alive.size, 0)
    }))
})
