import { assert, describe, it } from "@effect/vitest"
import { type ModelFailed, ModelTurn } from "@errand/runtime"
import { type Answer, type Fault, ProviderEmulator } from "@errand/testing/providers"
import { Effect, Fiber, Layer, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { AiSdkModel, Retry } from "../src/index.ts"
import * as Emulated from "./Emulated.ts"

const { ask, askFor, each, families } = Emulated

const status = (status: number, more: Partial<Fault & { readonly type: "status" }> = {}): Answer => ({
  fault: { type: "status", status, message: `trouble ${status}`, ...more }
})

const failure = Effect.fnUntraced(function*(answer: Answer) {
  const told = yield* askFor(answer)
  assert.isTrue(Result.isFailure(told), JSON.stringify(told))
  return (told as Result.Failure<unknown, ModelFailed>).failure
})

/** Asks through `Retry` while time flies; gives what came of it and how often the provider was asked. */
const retried = (name: keyof typeof families, ...answers: ReadonlyArray<Answer>) =>
  Effect.gen(function*() {
    const emulator = yield* ProviderEmulator
    yield* emulator.script(...answers)
    const told = yield* Emulated.flying(ask())
    return { told, asked: emulator.requests.length }
  }).pipe(Effect.provide(Retry.layer.pipe(Layer.provideMerge(Emulated.patient(name)))))

for (const name of each) {
  const { firstText, preamble } = families[name]

  describe(`MDL-3 trouble over the wire of ${name}`, () => {
    it.effect("MDL-3 a status tells whether it may be tried again, in the provider's words", () =>
      Effect.gen(function*() {
        for (const transient of [408, 429, 500, 502, 503, 529]) {
          const failed = yield* failure(status(transient))
          assert.strictEqual(failed.code, "model_failed")
          assert.strictEqual(failed.message, `trouble ${transient}`)
          assert.isTrue(failed.retryable)
        }
        for (const final of [400, 401, 403, 404, 409, 413, 422]) {
          const failed = yield* failure(status(final))
          assert.strictEqual(failed.message, `trouble ${final}`)
          assert.isFalse(failed.retryable)
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 how long to wait is read in each of its forms", () =>
      Effect.gen(function*() {
        const after = (headers: { readonly [name: string]: string }) =>
          Effect.map(failure(status(429, { headers })), ({ retryAfterMs }) => retryAfterMs)
        assert.strictEqual(yield* after({ "retry-after": "7" }), 7000)
        assert.strictEqual(yield* after({ "retry-after": "0.5" }), 500)
        assert.strictEqual(yield* after({ "retry-after-ms": "120", "retry-after": "7" }), 120)
        assert.strictEqual(yield* after({ "retry-after-ms": "0", "retry-after": "7" }), 0)
        assert.strictEqual(yield* after({ "retry-after-ms": "", "retry-after": "7" }), 7000)
        assert.strictEqual(yield* after({ "retry-after": "Thu, 01 Jan 1970 00:00:09 GMT" }), 9000)
        assert.isUndefined(yield* after({ "retry-after": "soon" }))
        assert.isUndefined(yield* after({}))
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 a body that is no JSON and one that is empty still make a failure", () =>
      Effect.gen(function*() {
        const page = yield* failure(status(502, { body: "<html>Bad gateway</html>" }))
        assert.strictEqual(page.message, "Bad Gateway")
        assert.isTrue(page.retryable)
        assert.strictEqual((yield* failure(status(503, { body: "" }))).message, "Service Unavailable")
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 a connection that is reset or ends too early is transient, wherever that happens", () =>
      Effect.gen(function*() {
        for (const type of ["reset", "truncate", "error"] as const) {
          for (const after of [0, preamble, firstText]) {
            const failed = yield* failure({ text: ["half of", " it"], fault: { type, after } })
            assert.strictEqual(failed.code, "model_failed")
            assert.isTrue(failed.retryable, `${type} after ${after}: ${failed.message}`)
          }
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 what was told before a connection broke was told", () =>
      Effect.gen(function*() {
        yield* (yield* ProviderEmulator).script({ text: ["half"], fault: { type: "truncate", after: firstText } })
        const told: Array<string> = []
        const model = yield* ModelTurn
        const ended = yield* Effect.result(Stream.runForEach(model.turn(Emulated.request()), (event) =>
          Effect.sync(() =>
            told.push(event._tag === "TextDelta" ? event.text : event._tag)
          )))
        assert.isTrue(Result.isFailure(ended))
        assert.deepStrictEqual(told, ["half"])
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 a transient failure is tried again up to three times, and no library adds to that", () =>
      Effect.gen(function*() {
        const failed = yield* retried(name, status(500), status(429), status(529), status(503), { text: "never" })
        assert.strictEqual(failed.asked, 4)
        assert.isTrue(Result.isFailure(failed.told))
        const healed = yield* retried(name, status(500), { fault: { type: "reset", after: 0 } }, {
          fault: { type: "truncate", after: preamble }
        }, { text: "at last" })
        assert.strictEqual(healed.asked, 4)
        assert.strictEqual(Emulated.stored(Result.getOrThrow(healed.told)).text, "at last")
      }))

    it.effect("MDL-3 nothing is tried again once a text was told, or where it would not help", () =>
      Effect.gen(function*() {
        const told = yield* retried(name, { text: ["half"], fault: { type: "reset", after: firstText } }, {
          text: "no"
        })
        assert.strictEqual(told.asked, 1)
        assert.strictEqual((yield* retried(name, status(401), { text: "no" })).asked, 1)
      }))

    it.effect("MDL-3 an answer that broke off in a call is tried again, for nothing of it was told", () =>
      Effect.gen(function*() {
        const calls = [{ name: "client__a", arguments: `{"a":"0123456789"}` }]
        const broken: Answer = { calls, fault: { type: "reset", after: preamble + 2 } }
        const healed = yield* retried(name, broken, { text: "again" })
        assert.strictEqual(healed.asked, 2)
        assert.strictEqual(Emulated.stored(Result.getOrThrow(healed.told)).text, "again")
      }))

    it.effect("MDL-5 60 s without a byte are a failed connection, before and in the middle of an answer", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        for (const [index, after] of [0, firstText].entries()) {
          yield* emulator.script({ text: ["half"], fault: { type: "silence", after } })
          const waiting = yield* Effect.forkChild(ask(), { startImmediately: true })
          yield* Emulated.arrived(index)
          yield* TestClock.adjust(59_999)
          assert.isUndefined(waiting.pollUnsafe())
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(Result.getFailure(yield* Fiber.join(waiting)).pipe(described), {
            code: "model_failed",
            message: "the provider sent nothing for 60000 ms",
            retryable: true
          })
          yield* emulator.aborted(index)
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-5 bytes that say nothing are a sign of life", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        yield* emulator.script({ keepAlive: 3, text: "x", fault: { type: "silence", after: 0 } })
        const waiting = yield* Effect.forkChild(ask(), { startImmediately: true })
        yield* TestClock.adjust(50_000)
        yield* Emulated.arrived(0)
        yield* TestClock.adjust(59_999)
        assert.isUndefined(waiting.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.isTrue(Result.isFailure(yield* Fiber.join(waiting)))
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-1 CAN-2 interruption closes the connection at once, whatever the answer has come to", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        for (const [index, after] of [0, preamble, firstText].entries()) {
          yield* emulator.script({ text: ["half"], fault: { type: "silence", after } })
          const waiting = yield* Effect.forkChild(ask(), { startImmediately: true })
          yield* Emulated.arrived(index)
          yield* Fiber.interrupt(waiting)
          yield* emulator.aborted(index)
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-5 a context that is too long is told as that, and not tried again", () =>
      Effect.gen(function*() {
        for (
          const message of [
            "prompt is too long: 214000 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens.",
            "the request exceeds the available context size, try increasing it"
          ]
        ) {
          const failed = yield* failure(status(400, { message }))
          assert.deepStrictEqual([failed.code, failed.message], ["context_overflow", message])
          assert.isNotTrue(failed.retryable)
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 a filter and the limit of output tokens end a run that has only text", () =>
      Effect.gen(function*() {
        const filtered = yield* failure({ text: "so f", stop: "content_filter" })
        assert.strictEqual(filtered.message, "the provider's content filter stopped the answer")
        assert.isFalse(filtered.retryable)
        const cut = yield* failure({ text: "so f", stop: "length" })
        assert.include(cut.message, "limit of output tokens")
        assert.isFalse(cut.retryable)
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 E10 a call that the limit of output tokens cut off has arguments that no tool takes", () =>
      Effect.gen(function*() {
        for (const cut of ["", `{"a":"01234`, `{"a":`]) {
          const calls = [{ name: "client__a", arguments: "{}" }, { name: "client__b", arguments: cut }]
          const said = Result.getOrThrow(yield* askFor({ calls, stop: "length" })).flatMap((event) =>
            event._tag === "ToolCall" ? [event.call] : []
          )
          assert.deepStrictEqual(said.map(({ name }) => name), ["client__a", "client__b"])
          assert.strictEqual(said[0]!.arguments, "{}")
          assert.isFalse(isObject(said[1]!.arguments), said[1]!.arguments)
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 SCH-5 a schema that the provider refuses ends the run with its words, unchanged on the way", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const schema = `{"type":"object","anyOf":[{"required":["a"]}]}`
        yield* emulator.script({ text: "never" })
        const told = yield* ask({ tools: [Emulated.tool("client__a", schema)] })
        assert.include(emulator.requests[0]!.text, schema)
        assert.deepStrictEqual(Result.getFailure(told).pipe(described), {
          code: "model_failed",
          message: emulator.requests[0]!.refusal!.message,
          retryable: false
        })
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-2 a wrong key ends the run, and the key is in no message", () =>
      Effect.gen(function*() {
        const told = yield* ask()
        assert.deepStrictEqual(Result.getFailure(told).pipe(described), {
          code: "model_failed",
          message: "Incorrect API key provided: [redacted].",
          retryable: false
        })
      }).pipe(Effect.provide(Emulated.layer(name, "sk-wrong-0123456789"))))
  })
}

describe("MDL-3 trouble without a provider", () => {
  it.effect("MDL-3 nobody listening is a transient failure", () =>
    Effect.gen(function*() {
      const model = families.openai.model({
        address: "http://127.0.0.1:1",
        key: "sk-0123456789",
        fetch: globalThis.fetch
      })
      const told = yield* Effect.provide(ask(), AiSdkModel.layer(model))
      assert.isTrue(Result.isFailure(told) && told.failure.retryable)
    }))
})

const described = (failure: { readonly _tag: string; readonly value?: ModelFailed }) => {
  const { code, message, retryable } = failure.value!
  return { code, message, retryable }
}

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
