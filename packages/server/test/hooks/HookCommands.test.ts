import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import type { HookedCall, HookRejected } from "@errand/runtime"
import { Context, Effect, Fiber, Layer } from "effect"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ProcessGroups } from "../../src/builtins/ProcessGroup.ts"
import type { HookCommand } from "../../src/Config.ts"
import * as HookCommands from "../../src/hooks/HookCommands.ts"

const call: HookedCall = {
  tool: "client__a",
  callId: "c1",
  sessionId: "s",
  runId: "r",
  taskId: null,
  arguments: "{\"n\":9007199254740993}" as JsonText
}

/** A hook that is a shell script. */
const hook = (event: "before" | "after", script: string, extra: Partial<HookCommand> = {}): HookCommand => ({
  event,
  tool: "*",
  command: ["/bin/sh", "-c", script],
  ...extra
})

const says = (answer: unknown) => `cat > /dev/null; printf '%s' '${JSON.stringify(answer)}'`

const make = Effect.fnUntraced(function*(hooks: ReadonlyArray<HookCommand>) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "errand-hooks-")))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const groups = Context.get(yield* Layer.build(ProcessGroups.layer), ProcessGroups)
  return { folder, hooks: HookCommands.make(hooks, groups, folder)! }
})

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

describe("program 4: hooks of the config file", () => {
  it.effect("HKS-2 a hook reads one line of JSON, with arguments and result as they were", () =>
    Effect.gen(function*() {
      const { folder, hooks } = yield* make([
        hook("before", `cat > before; ${says({ allow: true })}`),
        hook("after", `cat > after; ${says({ allow: true })}`)
      ])
      assert.deepStrictEqual(yield* hooks.before(call), { allow: true })
      assert.isUndefined(
        yield* hooks.after({ ...call, taskId: "t" }, {
          status: "success",
          text: "é\n",
          structured: "{\"b\":1.0,\"a\":-0}" as JsonText
        })
      )
      const head = "\"tool\":\"client__a\",\"call_id\":\"c1\",\"session_id\":\"s\",\"run_id\":\"r\""
      assert.strictEqual(
        readFileSync(join(folder, "before"), "utf8"),
        `{"event":"before",${head},"task_id":null,"arguments":{"n":9007199254740993}}\n`
      )
      assert.strictEqual(
        readFileSync(join(folder, "after"), "utf8"),
        `{"event":"after",${head},"task_id":"t","arguments":{"n":9007199254740993},"result":{"status":"success","text":"é\\n","structured":{"b":1.0,"a":-0}}}\n`
      )
    }))

  it.effect("HKS-2 several hooks are asked in order, each with what the one before left", () =>
    Effect.gen(function*() {
      const { folder, hooks } = yield* make([
        hook("before", "cat > first; printf '{\"allow\":true,\"arguments\":{\"n\":9007199254740995,\"z\":0,\"a\":1}}'"),
        hook("before", "exit 1", { tool: "mcp__*" }),
        hook("before", `cat > second; ${says({ allow: true })}`, { tool: "client__*" })
      ])
      assert.deepStrictEqual(yield* hooks.before(call), {
        allow: true,
        arguments: "{\"n\":9007199254740995,\"z\":0,\"a\":1}" as JsonText
      })
      assert.include(
        readFileSync(join(folder, "second"), "utf8"),
        "\"arguments\":{\"n\":9007199254740995,\"z\":0,\"a\":1}"
      )
    }))

  it.effect("HKS-2 the first hook that denies is the last that is asked", () =>
    Effect.gen(function*() {
      const { folder, hooks } = yield* make([
        hook("before", says({ allow: false, reason: "not today" })),
        hook("before", `touch asked; ${says({ allow: true })}`)
      ])
      assert.deepStrictEqual(yield* hooks.before(call), { allow: false, reason: "not today" })
      assert.isFalse(existsSync(join(folder, "asked")))
    }))

  it.effect("HKS-2 a hook after may replace the result or reject it", () =>
    Effect.gen(function*() {
      const replaced = { status: "error", text: "other", structured: { big: 1 } }
      const first = yield* make([hook("after", says({ allow: true, result: replaced }))])
      assert.deepStrictEqual(yield* first.hooks.after(call, { status: "success", text: "x" }), {
        status: "error",
        text: "other",
        structured: "{\"big\":1}" as JsonText
      })
      const second = yield* make([hook("after", says({ allow: false }))])
      const rejected = yield* Effect.flip(second.hooks.after(call, { status: "success", text: "x" }))
      assert.deepStrictEqual([rejected._tag, rejected.reason], ["HookRejected", "no reason was given"])
    }))

  it.effect("HKS-2 WIR-29 a replacement without a status keeps the one that the result had", () =>
    Effect.gen(function*() {
      const { hooks } = yield* make([
        hook("after", says({ allow: true, result: { text: "REPLACED" } })),
        hook("after", "grep -q REPLACED && echo '{\"allow\":true,\"result\":{\"text\":\"again\",\"structured\":null}}'")
      ])
      for (const status of ["success", "error"] as const) {
        assert.deepStrictEqual(yield* hooks.after(call, { status, text: "x", structured: "1" as JsonText }), {
          status,
          text: "again",
          structured: "null" as JsonText
        })
      }
    }))

  const failing: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["ends with a code", `${says({ allow: true })}; exit 3`, /code 3/],
    ["ends by a signal", "kill -9 $$", /SIGKILL/],
    ["says nothing", "cat > /dev/null", /no valid JSON/],
    ["says no JSON", "echo allow", /no valid JSON/],
    [
      "says what is no UTF-8",
      "printf '{\"allow\":true,\"arguments\":{\"a\":\"\\377\"}}'",
      /no valid JSON/
    ],
    ["says a byte order mark", "printf '\\357\\273\\277{\"allow\":true}'", /no valid JSON/],
    ["says a key twice", "echo '{\"allow\":false,\"allow\":true}'", /no valid JSON/],
    ["says more than it may", "echo '{\"allow\":true,\"extra\":1}'", /not what a hook may answer/],
    ["says yes as text", "echo '{\"allow\":\"true\"}'", /not what a hook may answer/],
    [
      "answers the other event",
      "echo '{\"allow\":true,\"result\":{\"status\":\"success\",\"text\":\"\"}}'",
      /must not have/
    ],
    ["writes without end", "exec yes", /more than 262144 bytes/]
  ]
  it.effect.each(failing)("HKS-2 a hook that %s denies", ([, script, reason]) =>
    Effect.gen(function*() {
      const { hooks } = yield* make([hook("before", script)])
      const verdict = yield* hooks.before(call)
      assert.isFalse(verdict.allow)
      assert.match(verdict.allow ? "" : verdict.reason, reason)
    }))

  it.effect("HKS-2 WIR-29 an answer of 262,144 bytes counts, one byte more does not", () =>
    Effect.gen(function*() {
      const answer = (bytes: number) => `printf '%s' '{"allow":true}'; head -c ${bytes - 14} /dev/zero | tr '\\0' ' '`
      const { hooks } = yield* make([hook("before", answer(262_144))])
      assert.deepStrictEqual(yield* hooks.before(call), { allow: true })
      const { hooks: more } = yield* make([hook("before", answer(262_145))])
      assert.match(JSON.stringify(yield* more.before(call)), /more than 262144 bytes/)
    }))

  it.effect("HKS-2 a program that is not there denies before and rejects after", () =>
    Effect.gen(function*() {
      const command = ["/no/such/program"]
      const { hooks } = yield* make([hook("before", "", { command }), hook("after", "", { command })])
      assert.match(JSON.stringify(yield* hooks.before(call)), /"allow":false.*ENOENT/)
      const rejected: HookRejected = yield* Effect.flip(hooks.after(call, { status: "success", text: "x" }))
      assert.match(rejected.reason, /ENOENT/)
    }))

  it.live("HKS-2 CLS-3 a hook that does not answer in time denies, and none of its processes is left", () =>
    Effect.gen(function*() {
      const { folder, hooks } = yield* make([
        hook("before", "sleep 600 & echo $! > child; wait", { timeout_ms: 300 })
      ])
      const verdict = yield* hooks.before(call)
      assert.match(JSON.stringify(verdict), /did not answer within 300 ms/)
      assert.isFalse(alive(Number(readFileSync(join(folder, "child"), "utf8"))))
    }))

  it.live("CAN-2 CLS-3 interrupting a call ends its hook", () =>
    Effect.gen(function*() {
      const { folder, hooks } = yield* make([hook("before", "echo $$ > pid; exec sleep 600")])
      const asking = yield* Effect.forkChild(hooks.before(call))
      const pid = yield* Effect.suspend(() =>
        existsSync(join(folder, "pid"))
          ? Effect.succeed(Number(readFileSync(join(folder, "pid"), "utf8")))
          : Effect.fail("not yet")
      ).pipe(Effect.eventually)
      yield* Fiber.interrupt(asking)
      assert.isFalse(alive(pid))
    }))

  it.effect("BLT-6 a hook inherits neither provider keys nor settings of ours", () =>
    Effect.gen(function*() {
      process.env["SOME_API_KEY"] = "k"
      process.env["ERRAND_HOME"] = "h"
      const { folder, hooks } = yield* make([hook("before", `env > env; pwd > pwd; ${says({ allow: true })}`)])
      yield* hooks.before(call)
      delete process.env["SOME_API_KEY"]
      delete process.env["ERRAND_HOME"]
      assert.notMatch(readFileSync(join(folder, "env"), "utf8"), /SOME_API_KEY|ERRAND_/)
      assert.strictEqual(readFileSync(join(folder, "pwd"), "utf8").trim(), folder)
    }))

  it.effect("HKS-2 no hooks are no service", () =>
    Effect.gen(function*() {
      const groups = Context.get(yield* Layer.build(ProcessGroups.layer), ProcessGroups)
      assert.isNull(HookCommands.make([], groups, "/"))
    }))
})
