import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Queue, Schema, Stream } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { make, ServerExited, ServerSpawnFailed, type SpawnOptions, Tool } from "../src/index.ts"

const fixture = fileURLToPath(new URL("fixtures/server.mjs", import.meta.url))

const server = (mode: string, options: SpawnOptions = {}): SpawnOptions => ({
  command: process.execPath,
  args: [fixture, mode],
  ...options
})

const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const lookup = Tool.make("lookup_record", {
  description: "Looks up a record.",
  parameters: Schema.Struct({ record_id: Schema.String }),
  success: Schema.Struct({ title: Schema.String })
}).handle(({ record_id }) => Effect.succeed({ title: `record ${record_id}` }))

const pidOf = (client: { readonly server: { readonly server: { readonly version: string } } }) =>
  Number(client.server.server.version)

describe("a server of one's own", () => {
  it.live("spawns, answers a call, runs a turn, and leaves no process behind", () =>
    Effect.gen(function*() {
      const pid = yield* Effect.scoped(Effect.gen(function*() {
        const client = yield* make({ server: server("plain"), tools: [lookup] })
        const session = yield* client.createSession
        assert.strictEqual(yield* session.ask("7"), "success: record 7")
        assert.isTrue(alive(pidOf(client)))
        return pidOf(client)
      }))
      assert.isFalse(alive(pid))
    }))

  it.live("faults G12 a command that is not there fails with what the system said", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(make({ server: { command: "/no/such/errand" } }))
      assert.instanceOf(error, ServerSpawnFailed)
      assert.deepInclude(error, { command: "/no/such/errand", reason: "spawn /no/such/errand ENOENT", code: null })
      const folder = yield* Effect.flip(make({ server: server("plain", { cwd: "/no/such/folder" }) }))
      assert.instanceOf(folder, ServerSpawnFailed)
      const argument = yield* Effect.flip(make({ server: server("plain", { args: ["\u0000"] }) }))
      assert.instanceOf(argument, ServerSpawnFailed)
    }))

  it.live("faults G12 a command that exits at once fails with its code and the end of its stderr", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(make({ server: server("exit") }))
      assert.instanceOf(error, ServerSpawnFailed)
      assert.deepInclude(error, { command: process.execPath, reason: null, code: 78, signal: null })
      assert.strictEqual(error.stderrTail.length, 8192)
      assert.match(error.stderrTail, /\nno configuration\n$/)
      assert.include(error.message, "it exited with code 78; its stderr ends:")
    }))

  it.live("stderr is drained however much is written", () =>
    Effect.gen(function*() {
      const client = yield* make({ server: server("noisy"), tools: [lookup] })
      const session = yield* client.createSession
      assert.strictEqual(yield* session.ask("7"), "success: record 7")
    }))

  it.live("what the server writes to stderr is handed on as it comes, whole characters only", () =>
    Effect.gen(function*() {
      let log = ""
      const error = yield* Effect.flip(make({ server: { ...server("exit"), log: (text) => void (log += text) } }))
      assert.isTrue(log.endsWith((error as ServerSpawnFailed).stderrTail))
      assert.isAbove(log.length, 8192)
    }))

  it.live("a log that throws takes nothing with it", () =>
    Effect.gen(function*() {
      let called = 0
      const log = () => {
        called++
        throw new Error("the log is full")
      }
      const client = yield* make({ server: server("noisy", { log }), tools: [lookup] })
      const session = yield* client.createSession
      assert.strictEqual(yield* session.ask("7"), "success: record 7")
      assert.isAbove(called, 0)
    }))

  it.live("CLI-2 a server that dies in a turn fails it with code and stderr, and handlers are interrupted", () =>
    Effect.gen(function*() {
      const client = yield* make({ server: server("plain"), tools: [lookup] })
      const session = yield* client.createSession
      const error = yield* Effect.flip(session.ask("crash"))
      assert.instanceOf(error, ServerExited)
      assert.deepInclude(error, { code: 70, signal: null, stderrTail: "fatal: the disk is gone\n" })
    }))

  it.live("CLI-2 a server that is killed interrupts the handlers and says by which signal", () =>
    Effect.gen(function*() {
      const ended = yield* Queue.unbounded<string>()
      const slow = Tool.make("lookup_record", {
        description: "d",
        parameters: Schema.Struct({ record_id: Schema.String })
      })
        .handle(({ record_id }) => Effect.never.pipe(Effect.onInterrupt(() => Queue.offer(ended, record_id))))
      const client = yield* make({ server: server("plain"), tools: [slow] })
      const session = yield* client.createSession
      const turn = yield* Effect.forkChild(
        Effect.flip(
          Stream.runForEach(
            session.turn("7"),
            (event) => Effect.sync(() => event._tag === "ToolCalled" && process.kill(pidOf(client), "SIGKILL"))
          )
        )
      )
      assert.deepInclude(yield* Fiber.join(turn), { _tag: "ServerExited", code: null, signal: "SIGKILL" })
      assert.strictEqual(yield* Queue.take(ended), "7")
    }))

  it.live("TRN-2 interrupting a turn cancels it on the server", () =>
    Effect.gen(function*() {
      const client = yield* make({ server: server("plain") })
      const session = yield* client.createSession
      const turn = yield* Effect.forkChild(
        Stream.runForEach(session.turn("wait"), (event) => event._tag === "Started" ? Effect.interrupt : Effect.void)
      )
      const exit = yield* Fiber.await(turn)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))

  it.live("a server whose output ends without it is ended, and is lost then", () =>
    Effect.gen(function*() {
      const client = yield* make({ server: server("mute", { closeMs: 100 }) })
      const session = yield* client.createSession
      assert.deepInclude(yield* Effect.flip(session.ask("mute")), { _tag: "ServerExited", signal: "SIGTERM" })
      assert.isFalse(alive(pidOf(client)))
    }))

  it.live("CLI-2 a server that reads no more without ending is ended, and is lost then", () =>
    Effect.gen(function*() {
      const client = yield* make({ server: server("mute", { closeMs: 100 }), tools: [lookup] })
      const session = yield* client.createSession
      assert.deepInclude(yield* Effect.flip(session.ask("unread")), { _tag: "ServerExited", signal: "SIGTERM" })
      assert.deepInclude(yield* Effect.flip(client.status), { _tag: "ServerExited", signal: "SIGTERM" })
      assert.isFalse(alive(pidOf(client)))
    }))

  for (const [mode, closeMs] of [["deaf", 100], ["stubborn", 100]] as const) {
    it.live(`a ${mode} server is ended by signals, within the bound`, () =>
      Effect.gen(function*() {
        const begun = performance.now()
        const pid = yield* Effect.scoped(Effect.map(make({ server: server(mode, { closeMs }) }), pidOf))
        assert.isFalse(alive(pid))
        assert.isBelow(performance.now() - begun, 4000)
      }))
  }

  it.live("a process that outlives the server and holds its pipes delays nothing", () =>
    Effect.gen(function*() {
      const client = yield* make({ server: server("grandchild") })
      const session = yield* client.createSession
      const begun = performance.now()
      assert.instanceOf(yield* Effect.flip(session.ask("crash")), ServerExited)
      assert.isBelow(performance.now() - begun, 2000)
    }))

  it.live("making a client that is interrupted leaves no process behind", () =>
    Effect.gen(function*() {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "errand-client-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      const file = join(folder, "pid")
      const script = `require("node:fs").writeFileSync(${
        JSON.stringify(file)
      }, String(process.pid)); setInterval(() => {}, 999)`
      const sleeper: SpawnOptions = { command: process.execPath, args: ["-e", script], closeMs: 50 }
      const fiber = yield* Effect.forkChild(Effect.scoped(make({ server: sleeper })))
      const read = Effect.sync(() => existsSync(file) ? Number(readFileSync(file, "utf8")) : 0)
      const pid = yield* Effect.repeat(Effect.delay(read, 20), { until: (pid) => pid > 0 })
      assert.isTrue(alive(pid))
      yield* Fiber.interrupt(fiber)
      assert.isFalse(alive(pid))
    }))
})
