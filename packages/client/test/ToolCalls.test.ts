import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import { Arbitrary, Context, Deferred, Effect, Fiber, Queue, Schema, Stream } from "effect"
import { make, Tool, ToolAnswer, type ToolHandler, type TurnEvent } from "../src/index.ts"
import { type FakeOptions, FakeServer } from "./FakeServer.ts"

const NotFound = Schema.TaggedStruct("NotFound", { record_id: Schema.String, message: Schema.String })

const lookup = Tool.make("lookup_record", {
  description: "Looks up a record.",
  parameters: Schema.Struct({ record_id: Schema.String, limit: Schema.optionalKey(Schema.Int) }),
  success: Schema.Struct({ title: Schema.String, at: Schema.Date }),
  failure: NotFound
}).handle(({ record_id }) =>
  record_id === "0"
    ? Effect.fail({ _tag: "NotFound" as const, record_id, message: "no such record" })
    : Effect.succeed({ title: `record ${record_id}`, at: new Date(0) })
)

/** A tool without parameters that ends as `run` says. */
const quick = <R>(name: string, run: () => Effect.Effect<Tool.ToolValue, Tool.PlainFailure, R>) =>
  Tool.make(name, { description: "Quick." }).handle(run)

const flushed = Effect.promise(() => new Promise<void>((done) => setImmediate(done)))

/** A client with these tools on a fake server. */
const started = <R>(tools: ReadonlyArray<ToolHandler<R>>, options: FakeOptions = {}) =>
  Effect.gen(function*() {
    const fake = new FakeServer(options)
    const client = yield* make({ server: fake.source, tools })
    // Leaves the stack on which the fake answered `initialize`.
    yield* flushed
    return { fake, client }
  })

/** The one answer to one call of a tool. */
const answerTo = <R>(tool: ToolHandler<R>, args = "{}", options: FakeOptions = {}) =>
  Effect.gen(function*() {
    const { fake } = yield* started([tool], options)
    fake.call("c-1", tool.declaration.name, args)
    yield* flushed
    assert.lengthOf(fake.answers, 1)
    const { call_id: _call, instance_id: _i, run_id: _r, session_id: _s, subagent_id: _a, task_id: _t, ...said } =
      fake.answers[0]
    return { ...said, line: fake.of("client.tool.result")[0]!.line }
  })

const said = <R>(tool: ToolHandler<R>, args = "{}", options: FakeOptions = {}) =>
  Effect.map(answerTo(tool, args, options), ({ line: _line, ...rest }) => rest)

describe("14. the client's duties: one answer to each call", () => {
  it.effect("CLI-1 an answer repeats the complete identity of a delegated call", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([lookup])
      fake.call("c-1", "client__lookup_record", `{"record_id":"7"}`, { task_id: "t-1", subagent_id: "a-1" })
      yield* flushed
      assert.deepStrictEqual(fake.answers, [{
        instance_id: "i-1",
        session_id: "s-1",
        run_id: "r-1",
        call_id: "c-1",
        task_id: "t-1",
        subagent_id: "a-1",
        status: "success",
        text: "",
        structured: { title: "record 7", at: "1970-01-01T00:00:00.000Z" }
      }])
    }))

  it.effect("CLI-1 a handler without need of time is answered within the read of its call, calls coalesced into one write", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([lookup])
      fake.writes.length = 0
      fake.together(() => {
        for (let i = 0; i < 3; i++) fake.call(`c-${i}`, "client__lookup_record", `{"record_id":"${i + 1}"}`)
      })
      assert.lengthOf(fake.writes, 1)
      assert.deepStrictEqual(fake.answers.map(({ call_id }) => call_id), ["c-0", "c-1", "c-2"])
    }))

  it.effect("CLI-1 arguments that do not fit answer error with the path, and the handler does not run", () =>
    Effect.gen(function*() {
      let ran = 0
      const tool = Tool.make("t", {
        description: "d",
        parameters: Schema.Struct({ list: Schema.Array(Schema.Struct({ n: Schema.Int })) })
      }).handle(() => Effect.sync(() => void ran++))
      const { fake } = yield* started([tool])
      fake.call("c-1", "client__t", `{"list":[{"n":1},{"n":1.5}]}`)
      fake.call("c-2", "client__t", `{"list":[],"more":1}`)
      fake.call("c-3", "client__t", `{}`)
      yield* flushed
      assert.deepStrictEqual(fake.answers.map(({ status, text }) => [status, text]), [
        ["error", "The arguments do not fit: list[1].n: Expected an integer"],
        ["error", "The arguments do not fit: more: Expected no excess property"],
        ["error", "The arguments do not fit: list: Missing key"]
      ])
      assert.strictEqual(ran, 0)
    }))

  it.effect("CLI-2 a typed failure answers error with its fields and its message", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* said(lookup, `{"record_id":"0"}`), {
        status: "error",
        text: "no such record",
        structured: { _tag: "NotFound", record_id: "0", message: "no such record" }
      })
    }))

  it.effect("CLI-2 whatever a handler throws answers error with the message and no stack", () =>
    Effect.gen(function*() {
      const thrown = (make: () => unknown) =>
        quick("t", () =>
          Effect.sync(() => {
            throw make()
          }))
      const texts: Array<unknown> = []
      for (
        const what of [
          () => new Error("disk is full"),
          () => "just text",
          () => undefined,
          () => ({ code: 3 }),
          () => new Error("outer\n    at secretFunction (/home/me/file.ts:1:1)"),
          () => ({
            get message() {
              throw new Error("never")
            }
          })
        ]
      ) {
        const { line, ...rest } = yield* answerTo(thrown(what))
        assert.notInclude(line, ".ts:")
        assert.strictEqual(rest.status, "error")
        texts.push(rest.text)
      }
      assert.deepStrictEqual(texts, [
        "disk is full",
        "just text",
        "The tool failed.",
        "The tool failed.",
        "outer",
        "never"
      ])
    }))

  it.effect("CLI-2 a handler that throws before it gives an effect, dies, fails or interrupts itself answers error", () =>
    Effect.gen(function*() {
      const sync = quick("t", (): Effect.Effect<string> => {
        throw new Error("at once")
      })
      assert.deepStrictEqual(yield* said(sync), { status: "error", text: "at once" })
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.die("a defect"))), {
        status: "error",
        text: "a defect"
      })
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.fail("said so"))), {
        status: "error",
        text: "said so"
      })
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.interrupt)), {
        status: "error",
        text: "The tool was interrupted."
      })
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.fail(ToolAnswer.error("no", { why: 1 })))), {
        status: "error",
        text: "no",
        structured: { why: 1 }
      })
    }))

  it.effect("CLI-2 a handler that gives no effect, and one of another making that fails, say so and not that they were stopped", () =>
    Effect.gen(function*() {
      for (const given of [undefined, null, 7, "text", Promise.resolve("text")]) {
        assert.deepStrictEqual(yield* said(quick("t", () => given as unknown as Effect.Effect<string>)), {
          status: "error",
          text: "The tool's handler returned no Effect."
        })
      }
      const { declaration } = quick("t", () => Effect.void)
      const broken: ReadonlyArray<ToolHandler["answer"]> = [
        () => undefined as never,
        () => Effect.die("a bug"),
        () => {
          throw new Error("a bug")
        }
      ]
      for (const answer of broken) {
        assert.deepStrictEqual(yield* said({ declaration, answer }), { status: "error", text: "The tool failed." })
      }
    }))

  it.effect("CLI-2 unknown names answer error, those of Object.prototype too (faults F7)", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([lookup])
      const names = ["toString", "constructor", "__proto__", "open", "client__open", "client__lookup_recor"]
      for (const name of names) fake.call(`c-${name}`, name)
      yield* flushed
      assert.deepStrictEqual(
        fake.answers.map(({ status, text }) => [status, text]),
        names.map((name) => ["error", `This client has no tool named ${name}.`])
      )
    }))

  it.effect("CLI-1 a tool without parameters takes none", () =>
    Effect.gen(function*() {
      const tool = quick("t", () => Effect.succeed("fine"))
      assert.deepStrictEqual(yield* said(tool, "{}"), { status: "success", text: "fine" })
      assert.deepStrictEqual(yield* said(tool, `{"x":1}`), {
        status: "error",
        text: "The arguments do not fit: x: must not be there"
      })
    }))

  it.effect("a handler has the services of the client and a scope of its own", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      class Store extends Context.Service<Store, { readonly name: string }>()("test/Store") {}
      const tool = quick("t", () =>
        Effect.gen(function*() {
          yield* Effect.acquireRelease(Effect.sync(() => log.push("open")), () => Effect.sync(() => log.push("close")))
          return (yield* Store).name
        }))
      const { fake } = yield* Effect.provideService(started([tool]), Store, { name: "of the client" })
      fake.call("c-1", "client__t")
      yield* flushed
      assert.deepStrictEqual([fake.answers[0].text, ...log], ["of the client", "open", "close"])
    }))

  it.effect("CLT-3 tools that do not go together fail before anything is started", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(make({ server: { command: "/no/such/errand" }, tools: [lookup, lookup] }))
      assert.deepInclude(error, { _tag: "ToolDeclarationInvalid", tool: "client__lookup_record" })
    }))

  it.effect("CLI-1 a call that is sent twice is executed and answered once", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      let ran = 0
      const { fake } = yield* started([
        quick("t", () => Effect.as(Effect.andThen(Effect.sync(() => ran++), Deferred.await(gate)), "x"))
      ])
      fake.call("c-1", "client__t")
      fake.call("c-1", "client__t")
      yield* Deferred.succeed(gate, undefined)
      yield* flushed
      assert.strictEqual(ran, 1)
      assert.lengthOf(fake.answers, 1)
    }))
})

describe("10. client.tool.result: text, structured and what is neither", () => {
  it.effect("RES-2 absence, null and undefined are three things (faults E12)", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.succeed(null))), {
        status: "success",
        text: "",
        structured: null
      })
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.void)), { status: "success", text: "" })
      const inside = yield* said(quick("t", () => Effect.succeed({ a: [1, undefined] } as never)))
      assert.deepStrictEqual(inside, {
        status: "error",
        text: "The tool answered with something that JSON cannot hold: a[1]: no JSON value: undefined"
      })
    }))

  it.effect("RES-2 a schema that encodes to nothing, to null and to a string gives absence, null and text", () =>
    Effect.gen(function*() {
      const tool = Tool.make("t", {
        description: "d",
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Union([Schema.Undefined, Schema.Null, Schema.String, Schema.BigInt])
      }).handle(({ n }) => Effect.succeed([undefined, null, "text", 12345678901234567890n][n]))
      const all = []
      for (let n = 0; n < 4; n++) all.push(yield* said(tool, `{"n":${n}}`))
      assert.deepStrictEqual(all, [
        { status: "success", text: "" },
        { status: "success", text: "", structured: null },
        { status: "success", text: "text" },
        { status: "success", text: "12345678901234567890" }
      ])
    }))

  it.effect("RES-2 an answer that its own schema refuses answers error", () =>
    Effect.gen(function*() {
      const tool = Tool.make("t", { description: "d", success: Schema.Struct({ n: Schema.Int }) })
        .handle(() => Effect.succeed({ n: 1.5 }))
      assert.deepStrictEqual(yield* said(tool), {
        status: "error",
        text: "The tool's own answer does not fit its schema: n: Expected an integer"
      })
    }))

  it.effect("FRM-12 digits, -0, key order and __proto__ reach the server unchanged (faults E7)", () =>
    Effect.gen(function*() {
      const json = `{"b": 9007199254740993, "a":-0,"__proto__":{"x":0.10000000000000000001}}`
      const { line } = yield* answerTo(quick("t", () => Effect.succeed(ToolAnswer.structuredText(json))))
      assert.include(line, `"structured":{"b":9007199254740993,"a":-0,"__proto__":{"x":0.10000000000000000001}}`)
      const plain = yield* answerTo(
        quick("t", () => Effect.succeed({ z: -0, big: new Json.JsonNumber("12345678901234567890") }))
      )
      assert.include(plain.line, `"structured":{"z":-0,"big":12345678901234567890}`)
    }))

  it.effect("FRM-12 arguments come as text without loss, and are refused where they would be rounded (faults E7)", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const schema = { type: "object", properties: { n: { type: "number" } } }
      const raw = Tool.raw("t", { description: "d", parameters: schema }).handle((args) =>
        Effect.sync(() => void seen.push(args))
      )
      yield* said(raw, `{"n":9007199254740993}`)
      assert.deepStrictEqual(seen, [`{"n":9007199254740993}`])
      const typed = Tool.make("t", { description: "d", parameters: Schema.Struct({ n: Schema.Array(Schema.Finite) }) })
        .handle(({ n }, { argumentsText }) => Effect.succeed({ n: [...n], argumentsText }))
      assert.deepStrictEqual(yield* said(typed, `{"n":[1,9007199254740993]}`), {
        status: "error",
        text: "The arguments do not fit: n[1]: the number has more digits than can be kept"
      })
      const exact = `{"n":[9007199254740992,0.1,1.50,1e21,123456789012345680000,1234567890.1234567]}`
      assert.deepStrictEqual((yield* said(typed, exact)).structured.n, JSON.parse(exact).n)
    }))

  it.effect("RES-6 result_bytes is met exactly; one byte more answers an error that says so", () =>
    Effect.gen(function*() {
      // "ü" has two bytes; the structured value has 5.
      const sized = (n: number) => quick("t", () => Effect.succeed(ToolAnswer.structured("abc", "ü".repeat(n))))
      const options = { clientTools: { result_bytes: 105 } }
      assert.strictEqual((yield* said(sized(50), "{}", options)).status, "success")
      assert.deepStrictEqual(yield* said(sized(51), "{}", options), {
        status: "error",
        text: "The tool's answer has 107 bytes, at most 105 are allowed."
      })
    }))

  it.effect("FRM-2 an answer whose frame would be too long by its escapes answers an error", () =>
    Effect.gen(function*() {
      const answer = yield* said(quick("t", () => Effect.succeed("\u0001".repeat(20_000))))
      assert.strictEqual(answer.status, "error")
      assert.match(answer.text, /the frame has \d+ bytes, at most 65536 are allowed/)
    }))

  it.effect("FRM-5 30 containers in a result go through, 31 answer an error", () =>
    Effect.gen(function*() {
      const nest = (n: number): unknown => n === 0 ? 1 : [nest(n - 1)]
      const both = (n: number) =>
        Effect.gen(function*() {
          const plain = yield* said(quick("t", () => Effect.succeed(nest(n) as never)))
          const text = yield* said(quick("t", () => Effect.succeed(ToolAnswer.structuredText(JSON.stringify(nest(n))))))
          return [plain.status, text.status]
        })
      assert.deepStrictEqual(yield* both(30), ["success", "success"])
      assert.deepStrictEqual(yield* both(31), ["error", "error"])
    }))

  it.effect("FRM-7 a lone surrogate is replaced in text and refused in a value (faults E1)", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* said(quick("t", () => Effect.succeed("a\ud83db"))), {
        status: "success",
        text: "a\ufffdb"
      })
      assert.strictEqual((yield* said(quick("t", () => Effect.succeed({ a: "\udc00" })))).status, "error")
    }))

  it.effect("RES-6 an answer that the server finds invalid is replaced once by an error", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([quick("t", () => Effect.succeed("fine"))], {
        request: ({ id, method }, fake) => {
          if (method === "client.tool.result") fake.error(id, "invalid_params", "text: too long")
          return method === "client.tool.result"
        }
      })
      fake.call("c-1", "client__t")
      yield* flushed
      yield* flushed
      assert.deepStrictEqual(fake.answers.map(({ status, text }) => [status, text]), [
        ["success", "fine"],
        ["error", "The tool's answer cannot be sent: text: too long"]
      ])
    }))

  it.effect("RES-5 a stale answer is not repeated", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([quick("t", () => Effect.succeed("fine"))], {
        request: ({ id, method }, fake) => {
          if (method === "client.tool.result") fake.error(id, "stale_client_tool_call")
          return method === "client.tool.result"
        }
      })
      fake.call("c-1", "client__t")
      yield* flushed
      assert.lengthOf(fake.answers, 1)
    }))

  it.effect("RES-9 answers go out in the order in which handlers end, each with its own value (faults A3)", () =>
    Effect.gen(function*() {
      const gates = new Map<number, Deferred.Deferred<void>>()
      for (let n = 1; n <= 3; n++) gates.set(n, yield* Deferred.make<void>())
      const tool = Tool.make("t", { description: "d", parameters: Schema.Struct({ n: Schema.Int }) }).handle(({ n }) =>
        Effect.as(Deferred.await(gates.get(n)!), `value ${n}`)
      )
      const { fake } = yield* started([tool])
      fake.together(() => {
        for (let n = 1; n <= 3; n++) fake.call(`c-${n}`, "client__t", `{"n":${n}}`)
      })
      for (const n of [3, 1, 2]) {
        yield* Deferred.succeed(gates.get(n)!, undefined)
        yield* flushed
      }
      assert.deepStrictEqual(fake.answers.map(({ call_id, text }) => [call_id, text]), [
        ["c-3", "value 3"],
        ["c-1", "value 1"],
        ["c-2", "value 2"]
      ])
    }))
})

const Step = Schema.Union([
  Schema.Struct({ do: Schema.Literals(["call", "cancel", "finish"]), id: Schema.Literals(["a", "b", "c", "d"]) }),
  Schema.Struct({ do: Schema.Literals(["yield", "exit"]), id: Schema.Literal("a") })
])

describe("CLI-1 CLI-2 calls in every order of events", () => {
  it.effect.prop(
    "a call is answered at most once, never after its cancel notice, and always when its handler ended before",
    { steps: Arbitrary.array(Arbitrary.schema(Step), { maxLength: 16 }) },
    ({ steps }) =>
      Effect.scoped(Effect.gen(function*() {
        const gates = new Map<string, Deferred.Deferred<void>>()
        for (const id of ["a", "b", "c", "d"]) gates.set(id, yield* Deferred.make<void>())
        const tool = Tool.make("t", { description: "d" })
          .handle((_, { callId }) => Effect.as(Deferred.await(gates.get(callId)!), callId))
        const { fake } = yield* started([tool])
        const called = new Set<string>()
        const cancelled = new Set<string>()
        const finished = new Set<string>()
        const expected = new Set<string>()
        let gone = false
        for (const step of steps) {
          if (step.do === "yield") yield* flushed
          else if (step.do === "exit") {
            // What ended before may not be written yet; the loss decides only after that.
            yield* flushed
            gone = true
            fake.exit()
          } else if (step.do === "call" && !called.has(step.id) && !gone) {
            called.add(step.id)
            if (finished.has(step.id)) expected.add(step.id)
            fake.call(step.id, "client__t")
          } else if (step.do === "cancel" && called.has(step.id) && !gone) {
            // The handler's end and the notice may cross: what is settled first wins.
            yield* flushed
            cancelled.add(step.id)
            fake.cancel(step.id)
          } else if (step.do === "finish") {
            finished.add(step.id)
            if (called.has(step.id) && !cancelled.has(step.id) && !gone) expected.add(step.id)
            yield* Deferred.succeed(gates.get(step.id)!, undefined)
          }
        }
        yield* flushed
        const answered = fake.answers.map(({ call_id }) => call_id as string)
        assert.deepStrictEqual(answered.sort(), [...expected].sort())
      })),
    { arbitrary: { runs: 150 } }
  )
})

describe("12. cancellation on the client's side", () => {
  const watched = (ended: Queue.Queue<string>) =>
    Tool.make("t", { description: "d" }).handle((_, { callId }) =>
      Effect.never.pipe(Effect.onInterrupt(() => Queue.offer(ended, callId)))
    )

  it.effect("CLI-2 a cancel notice interrupts its own handler and no other; nothing is answered", () =>
    Effect.gen(function*() {
      const ended = yield* Queue.unbounded<string>()
      const { fake } = yield* started([watched(ended)])
      fake.call("c-1", "client__t")
      fake.call("c-2", "client__t")
      fake.cancel("c-1", "timeout")
      assert.strictEqual(yield* Queue.take(ended), "c-1")
      yield* flushed
      assert.strictEqual(yield* Queue.size(ended), 0)
      assert.lengthOf(fake.answers, 0)
    }))

  it.effect("CLI-2 a handler that ignores its cancel notice answers into nothing (faults C7)", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { fake } = yield* started([
        quick("t", () => Effect.uninterruptible(Effect.as(Deferred.await(gate), "late")))
      ])
      fake.call("c-1", "client__t")
      fake.cancel("c-1")
      yield* Deferred.succeed(gate, undefined)
      yield* flushed
      assert.lengthOf(fake.answers, 0)
    }))

  it.effect("CAN-1 a cancel notice for an unknown call concerns no later call (faults C10)", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([quick("t", () => Effect.succeed("done"))])
      fake.cancel("c-1")
      fake.call("c-1", "client__t")
      yield* flushed
      assert.deepStrictEqual(fake.answers.map(({ text }) => text), ["done"])
    }))

  it.effect("CLI-2 when the server is lost every handler is interrupted", () =>
    Effect.gen(function*() {
      const ended = yield* Queue.unbounded<string>()
      const { client, fake } = yield* started([watched(ended)])
      fake.call("c-1", "client__t")
      fake.call("c-2", "client__t")
      fake.exit({ code: 70 })
      assert.deepStrictEqual([yield* Queue.take(ended), yield* Queue.take(ended)].sort(), ["c-1", "c-2"])
      const lost = yield* client.lost
      assert.strictEqual(lost._tag === "ServerExited" ? lost.code : lost._tag, 70)
    }))

  it.effect("CLI-2 closing the client waits for the handlers' own clean-up", () =>
    Effect.gen(function*() {
      let cleaned = false
      const fake = new FakeServer()
      const slow = quick("t", () =>
        Effect.never.pipe(Effect.onInterrupt(() =>
          Effect.andThen(
            flushed,
            Effect.sync(() => {
              cleaned = true
            })
          )
        )))
      yield* Effect.scoped(
        Effect.gen(function*() {
          yield* make({ server: fake.source, tools: [slow] })
          yield* flushed
          fake.call("c-1", "client__t")
        })
      )
      assert.isTrue(cleaned)
    }))

  it.effect("the stream of a turn shows calls, answers and cancel notices", () =>
    Effect.gen(function*() {
      const { client, fake } = yield* started([
        lookup,
        quick("never", () => Effect.never),
        quick("escapes", () => Effect.succeed("\u0001".repeat(20_000)))
      ])
      const session = yield* client.createSession
      const fiber = yield* Effect.forkChild(Stream.runCollect(session.turn("go")))
      yield* flushed
      fake.call("c-1", "client__lookup_record", `{"record_id":"0"}`)
      fake.call("c-2", "client__never")
      fake.cancel("c-2", "timeout")
      fake.call("c-3", "client__escapes")
      fake.finish()
      const events = yield* Fiber.join(fiber)
      const shown = (event: TurnEvent) =>
        event._tag === "ToolCalled"
          ? [event._tag, event.call.callId]
          : event._tag === "ToolAnswered"
          ? [event._tag, event.call.callId, event.status]
          : event._tag === "ToolCancelled"
          ? [event._tag, event.callId, event.reason]
          : [event._tag]
      assert.deepStrictEqual([...events].map(shown), [
        ["Started"],
        ["ToolCalled", "c-1"],
        ["ToolAnswered", "c-1", "error"],
        ["ToolCalled", "c-2"],
        ["ToolCancelled", "c-2", "timeout"],
        ["ToolCalled", "c-3"],
        ["ToolAnswered", "c-3", "error"],
        ["Finished"]
      ])
    }))
})
