import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { make, Tool, type ToolHandler } from "../src/index.ts"
import { type FakeOptions, FakeServer } from "./FakeServer.ts"

const flushed = Effect.promise(() => new Promise<void>((done) => setImmediate(done)))

const started = (options: FakeOptions = {}, tools: ReadonlyArray<ToolHandler> = []) =>
  Effect.gen(function*() {
    const fake = new FakeServer(options)
    return { fake, client: yield* make({ server: fake.source, tools }) }
  })

const echo = Tool.raw("echo", { description: "d", parameters: { type: "object" } }).handle((args) =>
  Effect.succeed(args)
)
const stuck = Tool.make("stuck", { description: "d" }).handle(() => Effect.never)

/** Answers nothing to `status`, so that it waits. */
const silent: FakeOptions = { request: ({ method }) => method === "status" }

describe("1. frames from the server", () => {
  it.effect("FRM-10 frames cut at any byte, several to a chunk, read the same (faults E6)", () =>
    Effect.gen(function*() {
      const { fake } = yield* started({}, [echo])
      const args = `{"text":"ü 😀 \\u0000 \\n"}`
      for (const cut of [1, 2, 3, 7, undefined]) {
        fake.cut = cut
        fake.together(() => {
          fake.call(`c-${cut}-1`, "client__echo", args)
          fake.call(`c-${cut}-2`, "client__echo", args)
        })
        yield* flushed
      }
      assert.deepStrictEqual(fake.answers.map(({ text }) => text), Array.from({ length: 10 }, () => args))
    }))

  it.effect("FRM-3 a frame at its limit is read, and one beyond it ends the connection (faults E6)", () =>
    Effect.gen(function*() {
      const padded = (id: string, bytes: number) => {
        const frame = (pad: string) => `{"id":"${id}","instance_id":"i-1","result":{"pad":"${pad}"}}`
        return frame("x".repeat(bytes - frame("").length))
      }
      const { client, fake } = yield* started()
      fake.line(padded("nobody", 65_536))
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(client.createSession)))
      fake.line(padded("nobody", 65_537))
      assert.deepInclude(yield* client.lost, { _tag: "ServerProtocolViolated", detail: "a frame is too long" })
    }))

  for (
    const [name, line] of [
      ["no JSON", "{"],
      ["no object", "[]"],
      ["a key twice", `{"id":"x","id":"y","instance_id":"i-1","result":{}}`],
      ["no instance", `{"id":"x","result":{}}`],
      ["another instance", `{"id":"x","instance_id":"i-2","result":{}}`],
      ["a gap in seq", `{"event":"run.started","instance_id":"i-1","seq":2,"data":{"session_id":"s","run_id":"r"}}`],
      ["event data that is wrong", `{"event":"run.started","instance_id":"i-1","seq":1,"data":{"session_id":"s"}}`],
      ["an error without an id", `{"id":null,"instance_id":"i-1","error":{"code":"invalid_frame","message":"m"}}`]
    ] as const
  ) {
    it.effect(`a broken frame (${name}) fails all that waits and interrupts all handlers`, () =>
      Effect.gen(function*() {
        const { client, fake } = yield* started(silent, [stuck])
        const waiting = yield* Effect.forkChild(Effect.flip(client.status))
        yield* flushed
        fake.line(line)
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "ServerProtocolViolated")
        assert.strictEqual((yield* Effect.flip(client.createSession))._tag, "ServerProtocolViolated")
      }))
  }

  it.effect("a line that is not UTF-8 ends the connection", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started()
      fake.bytes(new Uint8Array([0x7b, 0xff, 0x7d, 0x0a]))
      assert.strictEqual((yield* client.lost)._tag, "ServerProtocolViolated")
    }))

  it.effect("events and fields of a newer server are ignored", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started({}, [echo])
      fake.event("something.new", { a: 1 })
      fake.call("c-1", "client__echo", `{}`, { deadline: "new" })
      fake.line(`{"id":"unknown","instance_id":"i-1","result":{},"trace":"new"}`)
      yield* flushed
      assert.lengthOf(fake.answers, 1)
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(client.createSession)))
    }))
})

describe("2. requests", () => {
  it.effect("REQ-2 REQ-3 ids are strings and never used twice, also after an interruption (faults C9, C10)", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started(silent)
      const fiber = yield* Effect.forkChild(client.status)
      yield* flushed
      yield* Fiber.interrupt(fiber)
      fake.result(fake.of("status")[0]!.id, { late: true })
      for (let i = 0; i < 3; i++) yield* client.createSession
      const used = fake.seen.map(({ id }) => id)
      assert.isTrue(used.every((id) => typeof id === "string" && id.length > 0))
      assert.strictEqual(new Set(used).size, used.length)
    }))

  it.effect("REQ-6 responses are matched by id, in whatever order they come", () =>
    Effect.gen(function*() {
      const waiting: Array<string> = []
      const { client, fake } = yield* started({
        request: ({ id, method }) => {
          if (method === "session.open") waiting.push(id)
          return method === "session.open"
        }
      })
      const opened = yield* Effect.forkChild(
        Effect.all([client.openSession("a"), client.openSession("b")], { concurrency: "unbounded" })
      )
      yield* flushed
      fake.result(waiting[1]!, { session_id: "b", history_revision: "h", entries: 2 })
      fake.result(waiting[0]!, { session_id: "a", history_revision: "h", entries: 1 })
      assert.deepStrictEqual((yield* Fiber.join(opened)).map(({ entries, id }) => [id as string, entries]), [
        ["a", 1],
        ["b", 2]
      ])
    }))

  it.effect("REQ-10 a result without its fields is a fault of the server", () =>
    Effect.gen(function*() {
      const { client } = yield* started({
        request: ({ id, method }, fake) => {
          if (method === "session.create") fake.result(id, { session_id: 7 })
          return method === "session.create"
        }
      })
      assert.deepInclude(yield* Effect.flip(client.createSession), { _tag: "ServerProtocolViolated" })
    }))

  it.effect("FRM-2 FRM-7 a request that cannot be a frame fails by itself and is not sent", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started()
      const session = yield* client.createSession
      const long = yield* Effect.flip(session.ask("\u0001".repeat(20_000)))
      assert.deepInclude(long, { _tag: "RequestInvalid", method: "turn.start" })
      const broken = yield* Effect.flip(session.ask("a\ud83d"))
      assert.strictEqual(broken.message, "turn.start cannot be sent: prompt: a lone surrogate")
      assert.lengthOf(fake.of("turn.start"), 0)
      yield* Effect.forkScoped(session.ask("well"))
      yield* flushed
      assert.lengthOf(fake.of("turn.start"), 1)
    }))
})

describe("CLI-3 the reserve of request ids", () => {
  it.effect("with 64 left a turn starts, with 63 it is refused before it is sent", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started({ limits: { request_ids: 67 } })
      // Used: initialize and session.create, so that 65 are left.
      const session = yield* client.createSession
      yield* client.createSession
      assert.strictEqual(yield* client.requestIdsLeft, 64)
      const first = yield* Effect.forkChild(session.ask("go"))
      yield* flushed
      fake.finish()
      yield* Fiber.join(first)
      assert.deepInclude(yield* Effect.flip(session.ask("go")), { _tag: "RequestIdsExhausted", left: 63, needed: 64 })
      assert.lengthOf(fake.of("turn.start"), 1)
      assert.strictEqual((yield* Effect.flip(client.status))._tag, "RequestIdsExhausted")
    }))

  it.effect("answers use the reserve but for two ids; then the turn is cancelled, and shutdown still goes out", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started({ limits: { request_ids: 66 } }, [echo])
      const session = yield* client.createSession
      const turn = yield* Effect.forkChild(Effect.flip(session.ask("go")))
      yield* flushed
      assert.strictEqual(yield* client.requestIdsLeft, 63)
      for (let i = 0; i < 61; i++) fake.call(`c-${i}`, "client__echo")
      yield* flushed
      assert.lengthOf(fake.answers, 61)
      fake.call("c-61", "client__echo")
      assert.deepInclude(yield* Fiber.join(turn), { _tag: "RequestIdsExhausted", left: 2 })
      assert.lengthOf(fake.answers, 61)
      assert.lengthOf(fake.of("turn.cancel"), 1)
      yield* client.shutdown
      assert.strictEqual(yield* client.requestIdsLeft, 0)
    }))

  it.effect("answers to questions leave what all pending calls, cancellation and shutdown need; then the turn is cancelled", () =>
    Effect.gen(function*() {
      const open = yield* Deferred.make<string>()
      const held = Tool.make("held", { description: "d" }).handle(() => Deferred.await(open))
      const fake = new FakeServer({ limits: { request_ids: 66 } })
      const client = yield* make({ server: fake.source, tools: [held], approve: () => Effect.succeed(true) })
      const session = yield* client.createSession
      const turn = yield* Effect.forkChild(Effect.flip(session.ask("go")))
      yield* flushed
      const question = { activity_id: "x", name: "n", summary: "s", expires_in_ms: 60_000 }
      for (let i = 0; i < 16; i++) fake.call(`c-${i}`, "client__held")
      for (let i = 0; i < 45; i++) fake.event("approval.requested", { ...question, approval_id: `p-${i}` })
      yield* flushed
      assert.lengthOf(fake.of("approval.answer"), 45)
      yield* Deferred.succeed(open, "fine")
      yield* flushed
      assert.lengthOf(fake.answers, 16)
      fake.event("approval.requested", { ...question, approval_id: "p-45" })
      assert.deepInclude(yield* Fiber.join(turn), { _tag: "RequestIdsExhausted", left: 2 })
      assert.lengthOf(fake.of("approval.answer"), 45)
      assert.lengthOf(fake.of("turn.cancel"), 1)
      yield* client.shutdown
    }))
})

describe("8. negotiation from the client's side", () => {
  it.effect("CLT-1 without tools client.tools is neither required nor supplied", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started()
      assert.deepStrictEqual(fake.of("initialize")[0]!.params, { required_capabilities: [] })
      assert.notInclude(client.server.capabilities, "client.tools")
    }))

  it.effect("CLT-1 LIF-2 tools and further capabilities are required together, each once", () =>
    Effect.gen(function*() {
      const fake = new FakeServer()
      yield* make({ server: fake.source, tools: [echo], capabilities: ["tool.cards", "client.tools"] })
      const { client_tools, required_capabilities } = fake.of("initialize")[0]!.params
      assert.deepStrictEqual(required_capabilities, ["tool.cards", "client.tools"])
      assert.deepStrictEqual(client_tools.map(({ name }: { name: string }) => name), ["client__echo"])
    }))

  it.effect("LIF-7 a server of another protocol or version is refused", () =>
    Effect.gen(function*() {
      const fake = new FakeServer({
        request: ({ id }, fake) => {
          const server = { name: "x", version: "0" }
          const limits = fake.limits
          fake.result(id, {
            protocol: "errand.local-agent",
            version: 2,
            server,
            capabilities: [],
            limits,
            extensions: {}
          })
          return true
        }
      })
      const error = yield* Effect.flip(make({ server: fake.source }))
      assert.include(error.message, "version 2")
    }))

  it.effect("a refused initialize fails with the server's code", () =>
    Effect.gen(function*() {
      const fake = new FakeServer({
        request: ({ id }, fake) => {
          fake.error(id, "unsupported_capability", "required_capabilities: not supported: x")
          return true
        }
      })
      const error = yield* Effect.flip(make({ server: fake.source, capabilities: ["x"] }))
      assert.deepInclude(error, { _tag: "RequestRefused", method: "initialize", code: "unsupported_capability" })
    }))
})
