import { assert, describe, it } from "@effect/vitest"
import type { ToolOutcome } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { existsSync, readFileSync, watch } from "node:fs"
import { join } from "node:path"
import { Builtins } from "../../src/builtins/Builtins.ts"
import * as ChildEnvironment from "../../src/builtins/ChildEnvironment.ts"
import { call, Folder, withFolder } from "./Folder.ts"

const run = (command: string, rest: object = {}) => call("run_command", { command, ...rest })

const textOf = (outcome: ToolOutcome): string =>
  outcome._tag === "Success" || outcome._tag === "Failure" ? outcome.text : outcome.message

/** Waits until a file of the workspace holds something ending in a line break. */
const line = Effect.fnUntraced(function*(path: string) {
  const { workspace } = yield* Folder
  const file = join(workspace, path)
  return yield* Effect.callback<string>((resume) => {
    const look = () => {
      const text = existsSync(file) ? readFileSync(file, "utf8") : ""
      if (text.endsWith("\n")) resume(Effect.succeed(text.trim()))
    }
    const watcher = watch(workspace, look)
    look()
    return Effect.sync(() => watcher.close())
  })
})

/** Whether a process exists and is more than the entry of one that ended. */
const alive = (pid: string): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

describe("BLT-1 run_command", () => {
  it.live("both streams come in the order in which they were written, with the exit code", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* run("echo a; echo b >&2; echo c; echo d >&2"), {
        _tag: "Success",
        text: "a\nb\nc\nd\n(exit code 0)"
      })
      assert.deepStrictEqual(yield* run("printf x; exit 3"), { _tag: "Failure", text: "x\n(exit code 3)" })
      assert.deepStrictEqual(yield* run("true"), { _tag: "Success", text: "(exit code 0)" })
      assert.deepStrictEqual(yield* run("kill -9 $$"), { _tag: "Failure", text: "(ended by signal SIGKILL)" })
      assert.match(textOf(yield* run("no-such-command")), /not found\n\(exit code 127\)$/)
      assert.match(textOf(yield* run("if")), /\(exit code 2\)$/)
    }).pipe(withFolder))

  it.live("starts in the workspace, in its own process group, without input", () =>
    Effect.gen(function*() {
      const { workspace } = yield* Folder
      assert.strictEqual(textOf(yield* run("pwd; cat")), `${workspace}\n(exit code 0)`)
      assert.strictEqual(textOf(yield* run("ps -o pgid= -p $$ | grep -q $$ && echo own")), "own\n(exit code 0)")
    }).pipe(withFolder))

  it.live("output of exactly the bound is whole; of more the head and the tail are kept", () =>
    Effect.gen(function*() {
      const bound = 32_768 - 512
      const whole = textOf(yield* run(`head -c ${bound} /dev/zero | tr '\\0' x`))
      assert.strictEqual(whole, `${"x".repeat(bound)}\n(exit code 0)`)
      const more = textOf(yield* run(`head -c ${bound + 1} /dev/zero | tr '\\0' x`))
      assert.strictEqual(more, `${"x".repeat(bound / 2)}\n… 1 byte left out …\n${"x".repeat(bound / 2)}\n(exit code 0)`)
      const long = textOf(yield* run("seq 1 300000"))
      assert.isAtMost(Buffer.byteLength(long), 32_768)
      assert.match(long, /^1\n2\n3\n/)
      assert.match(long, /\n… 1,956,639 bytes left out …\n/)
      assert.match(long, /\n299999\n300000\n\(exit code 0\)$/)
      const accents = textOf(yield* run("i=0; while [ $i -lt 9000 ]; do printf 'a😀'; i=$((i+1)); done"))
      assert.notInclude(accents, "\ufffd")
      assert.isAtMost(Buffer.byteLength(accents), 32_768)
    }).pipe(withFolder))

  it.live("PRO-5 output that protection would lengthen beyond the bound is cut further", () =>
    Effect.gen(function*() {
      const text = textOf(yield* run("head -c 30000 /dev/zero | tr '\\0' '\\007'"))
      assert.isAtMost(Buffer.byteLength(text.replaceAll("\u0007", "\ufffd")), 32_768)
      assert.match(text, /bytes left out/)
      const bytes = textOf(yield* run("head -c 40000 /dev/zero | tr '\\0' '\\377'"))
      assert.isAtMost(Buffer.byteLength(bytes), 32_768)
    }).pipe(withFolder))

  it.live("what is left in the background is ended with the shell and does not hold it up", () =>
    Effect.gen(function*() {
      const outcome = yield* run("sleep 300 & echo $! > pid; echo done")
      assert.deepStrictEqual(outcome, {
        _tag: "Success",
        text: "done\n(exit code 0)\nprocesses left in the background were ended"
      })
      assert.isFalse(alive(yield* line("pid")))
    }).pipe(withFolder))

  it.live("a process that left the group and holds the pipe does not hold up the answer", () =>
    Effect.gen(function*() {
      const outcome = yield* run(
        "setsid sh -c 'echo $$ > pid; exec sleep 300' & while ! [ -s pid ]; do :; done; echo done"
      )
      process.kill(Number(yield* line("pid")), "SIGKILL")
      assert.match(textOf(outcome), /^done\n\(exit code 0\)/)
    }).pipe(withFolder))

  it.effect("the default timeout is 120 s and ends the group; a given one counts instead", () =>
    Effect.gen(function*() {
      for (const [rest, ms] of [[{}, 120_000], [{ timeout_ms: 600_000 }, 600_000]] as const) {
        const name = `pid${ms}`
        const fiber = yield* Effect.forkChild(run(`echo started; sleep 300 & echo $! > ${name}; wait`, rest))
        const pid = yield* line(name)
        yield* TestClock.adjust(ms - 1)
        assert.isTrue(alive(pid))
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(fiber), {
          _tag: "Failure",
          text: `started\n(ended after ${ms / 1000},000 ms, its timeout; what it did until then stays done)`
        })
        assert.isFalse(alive(pid))
      }
    }).pipe(withFolder))

  it.live("CAN-2 interruption ends shell and grandchildren, also those that ignore SIGTERM", () =>
    Effect.gen(function*() {
      const stubborn = `trap '' TERM; sh -c "trap '' TERM; while :; do sleep 1; done" & echo $$ $! > pids; wait`
      for (const command of ["sleep 300 & echo $$ $! > pids; wait", stubborn]) {
        const fiber = yield* Effect.forkChild(run(`rm -f pids; ${command}`))
        const pids = (yield* line("pids")).split(" ")
        assert.deepStrictEqual(pids.map(alive), [true, true])
        const since = performance.now()
        yield* Fiber.interrupt(fiber)
        assert.isBelow(performance.now() - since, 1500)
        assert.deepStrictEqual(pids.map(alive), [false, false])
        yield* run("rm pids")
      }
    }).pipe(withFolder))

  it.live("CAN-2 a command may clean up when it is told to end", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(
        run("trap 'echo cleaned > end; exit' TERM; echo up > up; while :; do sleep 0.01; done")
      )
      yield* line("up")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* line("end"), "cleaned")
    }).pipe(withFolder))

  it.live("CLS-3 when the layer closes everything is killed at once", () =>
    Effect.gen(function*() {
      const { home, workspace } = yield* Folder
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(Layer.fresh(Builtins.layer({ workspace, home })), scope)
      const tool = Context.get(services, Builtins).get("run_command")!
      const command = JSON.stringify({ command: "trap '' TERM; echo $$ > pid; while :; do sleep 300; done" })
      const fiber = yield* Effect.forkChild(tool.execute(command as Parameters<typeof tool.execute>[0]))
      const pid = yield* line("pid")
      const listeners = process.listenerCount("exit")
      yield* Scope.close(scope, Exit.void)
      assert.match(textOf(yield* Fiber.join(fiber)), /^\(ended by signal SIGKILL\)/)
      assert.isFalse(alive(pid))
      assert.strictEqual(process.listenerCount("exit"), listeners - 1)
    }).pipe(withFolder))
})

describe("BLT-6 the environment of children", () => {
  it("holds no provider key and nothing of Errand", () => {
    assert.deepStrictEqual(
      ChildEnvironment.inherited({
        PATH: "/bin",
        OPENAI_API_KEY: "1",
        ERRAND_API_KEY: "2",
        ERRAND_HOME: "3",
        errand_model: "4",
        Some_Api_Key: "5",
        ANTHROPIC_AUTH_TOKEN: "6",
        MY_ERRAND_X: "kept",
        API_KEYS: "kept"
      }),
      { PATH: "/bin", MY_ERRAND_X: "kept", API_KEYS: "kept" }
    )
  })

  it.live("is what a command gets", () =>
    Effect.gen(function*() {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env["ERRAND_TEST"] = "hidden"
          process.env["OTHER_API_KEY"] = "hidden"
          process.env["OTHER_SETTING"] = "shown"
        }),
        () =>
          Effect.sync(() => {
            for (const name of ["ERRAND_TEST", "OTHER_API_KEY", "OTHER_SETTING"]) delete process.env[name]
          })
      )
      const outcome = yield* run("echo \"$ERRAND_TEST|$OTHER_API_KEY|$OTHER_SETTING\"")
      assert.strictEqual(textOf(outcome), "||shown\n(exit code 0)")
    }).pipe(Effect.scoped, withFolder))
})
