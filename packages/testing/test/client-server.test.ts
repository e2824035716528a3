/** The real client against the real server: in this process over pipes in memory, and once as processes. */
import { assert, describe, it } from "@effect/vitest"
import { make, type Session, Tool, ToolAnswer, type TurnEvent } from "@errand/client"
import { Limits } from "@errand/protocol"
import { TestServer } from "@errand/testing"
import { Deferred, Effect, Exit, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const call = (name: string, args: object | string = {}, id?: string) => ({
  name: `client__${name}`,
  ...(typeof args === "string" ? { arguments_text: args } : { arguments: args }),
  ...(id === undefined ? {} : { id })
})

const lookup = Tool.make("lookup", {
  description: "Looks up a record.",
  parameters: Schema.Struct({ record_id: Schema.String }),
  success: Schema.Struct({ title: Schema.String, at: Schema.Date })
}).handle(({ record_id }) => Effect.succeed({ title: `record ${record_id}`, at: new Date(0) }))

const echo = Tool.raw("echo", { description: "Echoes.", parameters: { type: "object" } }).handle((args) =>
  Effect.succeed(ToolAnswer.structuredText(args))
)

/** A tool whose handler never ends by itself, and what became of it. */
const holding = Effect.map(
  Effect.all([Deferred.make<void>(), Deferred.make<void>()]),
  ([began, stopped]) => ({
    began: Deferred.await(began),
    stopped: Deferred.await(stopped),
    tool: Tool.make("hold", { description: "Holds.", timeoutMs: 1000 }).handle(() =>
      Effect.andThen(Deferred.succeed(began, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
      )
    )
  })
)

interface Told {
  readonly id: string
  readonly outcome: string
  readonly result: { readonly text?: string; readonly structured?: unknown; readonly error?: { readonly code: string } }
}

const asked = (session: Session, prompt = "go") =>
  Effect.map(session.ask(prompt), (text) => JSON.parse(text) as ReadonlyArray<Told>)

const results = { text: "{{results}}" }

describe("client and server in one process", () => {
  it.effect("CLI-1 FRM-12 typed tools, raw ones with all their digits, and arguments that do not fit", () =>
    Effect.gen(function*() {
      const digits = `{"n":9007199254740993000000001,"z":-0.0,"b":{"a":1}}`
      const calls = [call("lookup", { record_id: "7" }), call("lookup", { record_id: 7 }), call("echo", digits)]
      const client = yield* make({
        server: TestServer.transport({ script: [{ tool_calls: calls }, results] }),
        tools: [lookup, echo]
      })
      const session = yield* client.createSession
      const text = yield* session.ask("go")
      const [fits, wrong, echoed] = JSON.parse(text) as ReadonlyArray<Told>
      assert.deepStrictEqual(fits?.result.structured, { title: "record 7", at: "1970-01-01T00:00:00.000Z" })
      assert.strictEqual(wrong?.outcome, "failure")
      assert.include(wrong?.result.text, "record_id")
      assert.strictEqual(echoed?.outcome, "success")
      assert.include(text, digits)
    }))

  it.effect("CLI-2 a client that closes hears of the end of its server, also in the middle of a turn", () =>
    Effect.gen(function*() {
      for (const script of [[results], [{ tool_calls: [call("hold")] }, results]]) {
        const held = yield* holding
        const lost = yield* Effect.scoped(Effect.gen(function*() {
          const client = yield* make({ server: TestServer.transport({ script }), tools: [held.tool] })
          const session = yield* client.createSession
          yield* Effect.forkScoped(session.ask("go"))
          if (script.length === 2) yield* held.began
          return client.lost
        }))
        assert.deepInclude(yield* lost, { _tag: "ServerExited", code: 0 })
      }
    }))

  it.effect("TRN-8 what needs permission is asked for, and only an explicit yes executes it", () =>
    Effect.gen(function*() {
      for (const allow of [true, false]) {
        const seen: Array<string> = []
        const client = yield* make({
          server: TestServer.transport({
            script: [{ tool_calls: [call("lookup", { record_id: "7" })] }, results],
            permissions: [{ tool: "client__*", allow: "ask" }]
          }),
          tools: [lookup],
          approve: ({ summary }) =>
            Effect.sync(() => {
              seen.push(summary)
              return allow
            })
        })
        const session = yield* client.createSession
        const [told] = yield* asked(session)
        assert.strictEqual(told?.outcome, allow ? "success" : "denied")
        assert.deepStrictEqual(seen, [`client__lookup {"record_id":"7"}`])
      }
    }))

  it.effect("CAN-2 CLI-2 leaving a turn cancels it: its handler is stopped, and the session goes on", () =>
    Effect.gen(function*() {
      const hold = yield* holding
      const client = yield* make({
        server: TestServer.transport({ script: [{ tool_calls: [call("hold")] }, results] }),
        tools: [hold.tool]
      })
      const session = yield* client.createSession
      const turn = yield* Effect.forkChild(session.ask("go"))
      yield* hold.began
      yield* Fiber.interrupt(turn)
      yield* hold.stopped
      const [told] = yield* asked(session)
      assert.strictEqual(told?.outcome, "cancelled")
      assert.strictEqual((yield* client.status).pending_calls, 0)
    }))

  it.effect("CAL-6 CAN-1 a handler that takes too long is stopped by its notice, and the run goes on", () =>
    Effect.gen(function*() {
      const hold = yield* holding
      const client = yield* make({
        server: TestServer.transport({ script: [{ tool_calls: [call("hold")] }, results] }),
        tools: [hold.tool]
      })
      const session = yield* client.createSession
      const events: Array<TurnEvent> = []
      const turn = yield* Effect.forkChild(
        Stream.runForEach(session.turn("go"), (event) => Effect.sync(() => events.push(event)))
      )
      yield* hold.began
      yield* TestClock.adjust(1000)
      yield* hold.stopped
      yield* Fiber.join(turn)
      const cancelled = events.flatMap((event) => event._tag === "ToolCancelled" ? [event.reason] : [])
      assert.deepStrictEqual(cancelled, ["timeout"])
      const last = events.at(-1)
      assert.isTrue(last?._tag === "Finished" && last.status === "completed")
    }))

  it.effect("CLI-2 a server that goes away stops every handler and fails what waits, once", () =>
    Effect.gen(function*() {
      const hold = yield* holding
      const client = yield* make({
        server: TestServer.transport({ script: [{ tool_calls: [call("hold")] }, results] }),
        tools: [hold.tool]
      })
      const session = yield* client.createSession
      const turn = yield* Effect.forkChild(Effect.exit(session.ask("go")))
      yield* hold.began
      yield* client.shutdown
      yield* hold.stopped
      assert.isTrue(Exit.isFailure(yield* Fiber.join(turn)))
      assert.strictEqual((yield* client.lost)._tag, "ServerExited")
    }))
})

describe("client and server over a long time", () => {
  it.live("REQ-4 200 turns of 16 calls each leave nothing behind", () =>
    Effect.gen(function*() {
      setFlagsFromString("--expose-gc")
      const collect = runInNewContext("gc") as () => void
      const heap = () => {
        collect()
        return process.memoryUsage().heapUsed / 2 ** 20
      }
      const turns = 200
      const calls = Array.from({ length: 16 }, (_, i) => call("lookup", { record_id: String(i) }))
      const steps = Array.from({ length: turns }, () => [{ tool_calls: calls }, { text: "done" }]).flat()
      const client = yield* make({ server: TestServer.transport({ script: steps }), tools: [lookup] }).pipe(
        Effect.provideService(Limits.Limits, Limits.withBounds({ base: { request_ids: 1_000_000 } }))
      )
      let warm = 0
      for (let turn = 0; turn < turns; turn++) {
        // A session keeps its history; a new one lets go of the old one's.
        const session = yield* client.createSession
        assert.strictEqual(yield* session.ask("go"), "done")
        if (turn === 40) warm = heap()
      }
      const grown = heap() - warm
      assert.isBelow(grown, 20, `${grown.toFixed(1)} MB more than after 40 turns`)
      const { pending_calls, request_ids_left } = yield* client.status
      assert.strictEqual(pending_calls, 0)
      assert.isBelow(request_ids_left, 1_000_000 - turns * 16)
    }), 120_000)
})

describe("client and server as processes", () => {
  const bin = fileURLToPath(new URL("../../../node_modules/.bin/", import.meta.url))
  const folder = () => mkdtempSync(join(tmpdir(), "errand-client-server-"))
  const temporary = Effect.acquireRelease(
    Effect.sync(folder),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )

  it.live(
    "CLI-2 calls are answered over real pipes, and killing the server stops a handler",
    () =>
      Effect.gen(function*() {
        const home = yield* temporary
        const hold = yield* holding
        writeFileSync(
          join(home, "script.json"),
          JSON.stringify({
            format: "errand.script",
            version: 1,
            root: [
              { tool_calls: [call("lookup", { record_id: "7" }), call("echo", `{"n":9007199254740993}`)] },
              results,
              {
                tool_calls: [call("hold")]
              }
            ]
          })
        )
        const client = yield* make({
          server: {
            command: "sh",
            args: [
              "-c",
              `echo $$ > pid; exec "${bin}errand" serve --stdio --model script:script.json --home "${home}"`
            ],
            cwd: home,
            env: { PATH: `${bin}:${process.env["PATH"]}` }
          },
          tools: [lookup, echo, hold.tool]
        })
        const session = yield* client.createSession
        const text = yield* session.ask("go")
        assert.include(text, `"title":"record 7"`)
        assert.include(text, `{"n":9007199254740993}`)
        const turn = yield* Effect.forkChild(Effect.flip(session.ask("hold")))
        yield* hold.began
        process.kill(Number(readFileSync(join(home, "pid"), "utf8")), "SIGKILL")
        yield* hold.stopped
        const error = yield* Fiber.join(turn)
        assert.deepInclude(error, { _tag: "ServerExited", signal: "SIGKILL" })
      }),
    60_000
  )
})
