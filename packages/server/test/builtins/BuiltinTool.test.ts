import { assert, describe, it } from "@effect/vitest"
import { InputSchema, Json } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Builtins } from "../../src/builtins/Builtins.ts"
import { call, withFolder } from "./Folder.ts"

const reject = (name: string, args: unknown, path: string) =>
  Effect.map(call(name, args), (outcome) => {
    assert.strictEqual(outcome._tag, "Refused")
    if (outcome._tag !== "Refused") return
    assert.strictEqual(outcome.code, "invalid_arguments")
    assert.isTrue(outcome.message.startsWith(`${path}: `), outcome.message)
  })

describe("program 3, built-in tools", () => {
  it.effect("BLT-1 HKS-1 five tools; the three that only look never ask, the other two do", () =>
    Effect.gen(function*() {
      const { get, tools } = yield* Builtins
      assert.deepStrictEqual(tools.map(({ asks, inspection, name }) => [name, inspection, asks]), [
        ["read_file", true, false],
        ["list_files", true, false],
        ["search_files", true, false],
        ["write_file", false, true],
        ["run_command", false, true]
      ])
      assert.strictEqual(get("read_file"), tools[0])
      assert.strictEqual(get("toString"), undefined)
    }).pipe(withFolder))

  it.effect("SCH-1 input schemas are closed objects in the subset of section 8", () =>
    Effect.gen(function*() {
      for (const { inputSchema } of (yield* Builtins).tools) {
        assert.deepStrictEqual(InputSchema.faults(Result.getOrThrow(Json.read(inputSchema)), ""), [])
        const plain = Result.getOrThrow(Json.parse(inputSchema)) as Record<string, unknown>
        assert.strictEqual(plain["type"], "object")
        assert.strictEqual(plain["additionalProperties"], false)
      }
    }).pipe(withFolder))

  it.effect("BLT-1 arguments of the wrong shape are refused with their path", () =>
    Effect.gen(function*() {
      yield* reject("read_file", {}, "path")
      yield* reject("read_file", { path: 7 }, "path")
      yield* reject("read_file", { path: "" }, "path")
      yield* reject("read_file", { path: "a\0b" }, "path")
      yield* reject("read_file", { path: "a", ofset: 1 }, "ofset")
      yield* reject("read_file", { path: "a", offset: 0 }, "offset")
      yield* reject("read_file", { path: "a", offset: 1.5 }, "offset")
      yield* reject("read_file", { path: "a", limit: null }, "limit")
      yield* reject("search_files", { pattern: "x".repeat(1025) }, "pattern")
      yield* reject("write_file", { path: "a" }, "content")
      yield* reject("run_command", { command: "true", timeout_ms: 0 }, "timeout_ms")
      yield* reject("run_command", { command: "true", timeout_ms: 600_001 }, "timeout_ms")
    }).pipe(withFolder))

  it.effect("E7 integers that a double cannot hold are refused, never rounded", () =>
    Effect.gen(function*() {
      const outcome = yield* (yield* Builtins).get("read_file")!.execute(
        Result.getOrThrow(Json.compact(`{"path":"a","offset":9007199254740993}`)).text
      )
      assert.strictEqual(outcome._tag === "Refused" && outcome.code, "invalid_arguments")
    }).pipe(withFolder))

  it.effect("TRN-8 a summary tells what would be done, and how much of it is not shown", () =>
    Effect.gen(function*() {
      const { get } = yield* Builtins
      const summary = (name: string, args: unknown) =>
        get(name)!.summary(Result.getOrThrow(Json.compact(JSON.stringify(args))).text)
      assert.strictEqual(summary("write_file", { path: "a\nb", content: "é" }), `write 2 bytes to "a\\nb"`)
      assert.strictEqual(summary("run_command", { command: "rm x\nls" }), "run rm x\nls")
      assert.strictEqual(summary("run_command", { command: "x".repeat(1996) }), `run ${"x".repeat(1996)}`)
      assert.strictEqual(
        summary("run_command", { command: "x".repeat(1997) }),
        `run ${"x".repeat(1996)}… (1 more character)`
      )
      assert.strictEqual(summary("run_command", {}), "run_command with invalid arguments")
    }).pipe(withFolder))
})
