import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ClientOptions, make, type ToolHandler, type TurnEvent } from "../src/index.ts"
import { type FakeOptions, FakeServer } from "./FakeServer.ts"

const flushed = Effect.promise(() => new Promise<void>((done) => setImmediate(done)))

const session = <A = never>(
  options: FakeOptions = {},
  client: Omit<ClientOptions<ReadonlyArray<ToolHandler>, A>, "server"> = {}
) =>
  Effect.gen(function*() {
    const fake = new FakeServer(options)
    const made = yield* make({ server: fake.source, ...client })
    return { fake, client: made, session: yield* made.createSession }
  })

const message = (fake: FakeServer, id: string, text: string, part = 1, parts = 1) =>
  fake.event("message.reconcile", { message_id: id, role: "assistant", part, parts, text })

const delta = (fake: FakeServer, text: string) => fake.event("message.delta", { message_id: "m-1", text })

const failureOf = <A, E>(effect: Effect.Effect<A, E>) => Effect.flip(effect)

describe("5. turns", () => {
  it.effect("TRN-3 events come typed, and a message is put together from its parts", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session()
      const fiber = yield* Effect.forkChild(Stream.runCollect(s.turn("go")))
      yield* flushed
      delta(fake, "He")
      message(fake, "m-1", "Hello ", 1, 3)
      message(fake, "m-2", "between")
      message(fake, "m-1", "big ", 2, 3)
      message(fake, "m-1", "world", 3, 3)
      const owner = { parent_id: null, task_id: "t", subagent_id: "a" }
      fake.event("tool.activity", { activity_id: "x", ...owner, name: "n", status: "running", from: "a newer server" })
      fake.event("something.new", { unknown: true })
      fake.finish()
      assert.deepStrictEqual([...(yield* Fiber.join(fiber))], [
        { _tag: "Started", runId: "r-1" },
        { _tag: "Delta", messageId: "m-1", text: "He" },
        { _tag: "Message", messageId: "m-2", text: "between" },
        { _tag: "Message", messageId: "m-1", text: "Hello big world" },
        {
          _tag: "ToolActivity",
          activityId: "x",
          parentId: null,
          taskId: "t",
          subagentId: "a",
          name: "n",
          status: "running"
        },
        {
          _tag: "Finished",
          runId: "r-1",
          status: "completed",
          error: null,
          historyRevision: "h-2",
          usage: { inputTokens: 1, outputTokens: 2, modelRequests: 3, toolCalls: 4 }
        }
      ] as unknown as Array<TurnEvent>)
      assert.deepStrictEqual(fake.of("turn.start")[0]!.params, { session_id: "s-1", prompt: "go" })
    }))

  it.effect("TRN-1 events that arrive before the response of turn.start belong to the turn", () =>
    Effect.gen(function*() {
      const { session: s } = yield* session({
        request: ({ id, method }, fake) => {
          if (method !== "turn.start") return false
          fake.event("run.started")
          message(fake, "m-1", "early")
          fake.result(id, { run_id: "r-1" })
          fake.finish()
          return true
        }
      })
      assert.strictEqual(yield* s.ask("go"), "early")
    }))

  it.effect("TRN-7 ask gives the last message, and fails with the code of a failed turn", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session()
      const first = yield* Effect.forkChild(s.ask("go"))
      yield* flushed
      message(fake, "m-1", "Looking.")
      message(fake, "m-2", "Found.")
      fake.finish()
      assert.strictEqual(yield* Fiber.join(first), "Found.")
      const second = yield* Effect.forkChild(failureOf(s.ask("go")))
      yield* flushed
      fake.finish("failed", { code: "model_failed", message: "no model" })
      const error = yield* Fiber.join(second)
      assert.strictEqual(error.message, "The turn failed (model_failed): no model")
    }))

  it.effect("a refused turn fails with the server's code and leaves the place free", () =>
    Effect.gen(function*() {
      let refuse = true
      const { fake, session: s } = yield* session({
        request: ({ id, method }, fake) => {
          if (method !== "turn.start" || !refuse) return false
          fake.error(id, "session_not_attached", "not this one")
          return true
        }
      })
      const error = yield* failureOf(s.ask("go"))
      assert.deepInclude(error, { _tag: "RequestRefused", method: "turn.start", code: "session_not_attached" })
      refuse = false
      const again = yield* Effect.forkChild(s.ask("go"))
      yield* flushed
      fake.finish()
      assert.strictEqual(yield* Fiber.join(again), "")
    }))

  it.effect("TRN-1 a second turn at the same time is refused with run_active and costs no request", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session()
      yield* Effect.forkScoped(s.ask("go"))
      yield* flushed
      assert.deepInclude(yield* failureOf(s.ask("go")), { _tag: "RequestRefused", code: "run_active" })
      assert.lengthOf(fake.of("turn.start"), 1)
    }))

  it.effect("TRN-2 interrupting the stream cancels the turn and waits for its end", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session({
        request: ({ id, method }, fake) => {
          if (method === "turn.cancel") fake.result(id, { accepted: true })
          return method === "turn.cancel"
        }
      })
      const fiber = yield* Effect.forkChild(Stream.runDrain(s.turn("go")))
      yield* flushed
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* flushed
      assert.deepStrictEqual(fake.of("turn.cancel")[0]!.params, { session_id: "s-1", run_id: "r-1" })
      assert.isUndefined(interruption.pollUnsafe())
      fake.finish("cancelled")
      yield* Fiber.join(interruption)
    }))

  it.effect("TRN-2 a server that does not end a cancelled turn is awaited 5 s and no longer", () =>
    Effect.gen(function*() {
      const { session: s } = yield* session({ request: ({ method }) => method === "turn.cancel" })
      const fiber = yield* Effect.forkChild(Stream.runDrain(s.turn("go")))
      yield* flushed
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* flushed
      yield* TestClock.adjust(4999)
      assert.isUndefined(interruption.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(interruption)
    }))

  it.effect("TRN-2 a turn that is admitted after nobody waits for it is cancelled all the same", () =>
    Effect.gen(function*() {
      let late = ""
      const { fake, session: s } = yield* session({
        request: ({ id, method }) => {
          if (method !== "turn.start" || late !== "") return false
          late = id
          return true
        }
      })
      const fiber = yield* Effect.forkChild(Stream.runDrain(s.turn("go")))
      yield* flushed
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* flushed
      assert.lengthOf(fake.of("turn.cancel"), 0)
      fake.result(late, { run_id: "r-1" })
      yield* Fiber.join(interruption)
      assert.deepStrictEqual(fake.of("turn.cancel").map(({ params }) => params), [{ session_id: "s-1", run_id: "r-1" }])
      // The place is free again.
      yield* Effect.forkScoped(s.ask("go"))
      yield* flushed
      assert.lengthOf(fake.of("turn.start"), 2)
    }))

  it.effect("TRN-4 deltas that nobody takes are dropped above 256, messages never", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session()
      const begun = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const seen = new Map<string, number>()
      const fiber = yield* Effect.forkChild(Stream.runForEach(s.turn("go"), (event) =>
        Effect.andThen(
          event._tag === "Started"
            ? Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(gate))
            : Effect.void,
          Effect.sync(() => seen.set(event._tag, (seen.get(event._tag) ?? 0) + 1))
        )))
      yield* Deferred.await(begun)
      for (let i = 0; i < 1000; i++) delta(fake, "x")
      for (let i = 0; i < 300; i++) message(fake, `m-${i}`, "whole")
      fake.finish()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([...seen], [["Started", 1], ["Delta", 256], ["Message", 300], ["Finished", 1]])
    }))

  it.effect("events that nobody takes are bounded: the turn is cancelled and fails", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session()
      const gate = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(failureOf(Stream.runForEach(s.turn("go"), () => Deferred.await(gate))))
      yield* flushed
      for (let i = 0; i <= 16_384; i++) message(fake, `m-${i}`, "x")
      yield* flushed
      assert.lengthOf(fake.of("turn.cancel"), 1)
      yield* Deferred.succeed(gate, undefined)
      assert.deepInclude(yield* Fiber.join(fiber), { _tag: "TurnEventsOverflowed", waiting: 16_384 })
    }))

  it.effect("CLI-2 a turn fails with how the server ended, and with the reason it gave", () =>
    Effect.gen(function*() {
      const { fake, session: s } = yield* session()
      const fiber = yield* Effect.forkChild(failureOf(s.ask("go")))
      yield* flushed
      fake.event("connection.closing", { reason: "internal_error" })
      fake.exit({ code: 70, stderrTail: "boom\n" })
      const error = yield* Fiber.join(fiber)
      assert.deepInclude(error, {
        _tag: "ServerExited",
        code: 70,
        signal: null,
        reason: "internal_error",
        stderrTail: "boom\n"
      })
      assert.strictEqual(error.message, "The server exited with code 70 (internal_error); its stderr ends:\nboom")
      assert.deepInclude(yield* failureOf(s.ask("more")), { _tag: "ServerExited" })
    }))
})

describe("TRN-8 approvals", () => {
  const ask = (fake: FakeServer, id: string) =>
    fake.event("approval.requested", {
      approval_id: id,
      activity_id: "x",
      name: "run_command",
      summary: `do ${id}`,
      expires_in_ms: 60_000
    })
  const answers = (fake: FakeServer) =>
    fake.of("approval.answer").map(({ params }) => [params.approval_id, params.allow])

  it.effect("without a handler the answer is no", () =>
    Effect.gen(function*() {
      const { fake } = yield* session()
      ask(fake, "p-1")
      yield* flushed
      assert.deepStrictEqual(fake.of("approval.answer")[0]!.params, {
        session_id: "s-1",
        run_id: "r-1",
        approval_id: "p-1",
        allow: false
      })
    }))

  it.effect("only an explicit yes allows: a failure, a defect and anything else say no", () =>
    Effect.gen(function*() {
      const { fake } = yield* session({}, {
        approve: ({ summary }) => {
          if (summary === "do throw") throw new Error("at once")
          return summary === "do yes"
            ? Effect.succeed(true)
            : summary === "do fail"
            ? Effect.fail("no")
            : summary === "do die"
            ? Effect.die("no")
            : Effect.succeed(summary === "do odd" ? "true" as never : false)
        }
      })
      for (const id of ["yes", "no", "fail", "die", "odd", "throw"]) ask(fake, id)
      yield* flushed
      assert.deepStrictEqual(answers(fake), [
        ["yes", true],
        ["no", false],
        ["fail", false],
        ["die", false],
        ["odd", false],
        ["throw", false]
      ])
    }))

  it.effect("a question that is closed otherwise interrupts its handler and is not answered", () =>
    Effect.gen(function*() {
      const ended = yield* Queue.unbounded<string>()
      const { fake } = yield* session({}, {
        approve: ({ approvalId }) => Effect.never.pipe(Effect.onInterrupt(() => Queue.offer(ended, approvalId)))
      })
      ask(fake, "p-1")
      fake.event("approval.resolved", { approval_id: "p-1", outcome: "expired" })
      assert.strictEqual(yield* Queue.take(ended), "p-1")
      yield* flushed
      assert.lengthOf(answers(fake), 0)
    }))
})

describe("4. sessions and history", () => {
  it.effect("SES-4 SES-5 lists and histories are read page by page, as far as they are taken", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* session({
        request: ({ id, method, params }, fake) => {
          const at = Number(params.cursor ?? 0)
          const next_cursor = at === 2 ? null : String(at + 1)
          if (method === "session.list") {
            const one = { session_id: `s-${at}`, created_at: "", updated_at: "", entries: 1, title: null }
            fake.result(id, { sessions: [one], next_cursor })
          } else if (method === "history.page") {
            const base = { at: "", run_id: "r", task_id: null, subagent_id: null }
            const entry = { entry_id: `e-${at}`, ...base, kind: "user", text: "hi" }
            fake.result(id, { revision: "h-1", entries: [entry], next_cursor })
          } else return false
          return true
        }
      })
      const sessions = yield* Stream.runCollect(client.listSessions)
      assert.deepStrictEqual(sessions.map(({ session_id }) => session_id as string), ["s-0", "s-1", "s-2"])
      const entries = yield* Stream.runCollect(Stream.take(client.history("s-9"), 2))
      assert.deepStrictEqual(entries.map(({ entry_id }) => entry_id), ["e-0", "e-1"])
      assert.deepStrictEqual(fake.of("history.page").map(({ params }) => params), [
        { session_id: "s-9" },
        { session_id: "s-9", revision: "h-1", cursor: "1" }
      ])
    }))

  it.effect("SES-2 an opened session tells how many entries it has", () =>
    Effect.gen(function*() {
      const { client } = yield* session()
      const opened = yield* client.openSession("s-7")
      assert.deepStrictEqual([opened.id as string, opened.entries], ["s-7", 7])
    }))

  it.effect("LIF-10 shutdown waits for the end of the server", () =>
    Effect.gen(function*() {
      const { client } = yield* session()
      yield* client.shutdown
      assert.deepInclude(yield* client.lost, { _tag: "ServerExited", code: 0, reason: "shutdown" })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(client.status)))
    }))
})
