import { assert, describe, it } from "@effect/vitest"
import type { ModelEvent, ModelRequest } from "@errand/runtime"
import { ModelFailed, ModelTurn } from "@errand/runtime"
import { Clock, Effect, Exit, Fiber, Layer, Result, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Retry, Script, ScriptedModel } from "../src/index.ts"

const request: ModelRequest = { instructions: null, messages: [], tools: [], agent: null }

const finish: ModelEvent = { _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } }

const busy = (retryAfterMs?: number) =>
  new ModelFailed({
    code: "model_failed",
    message: "busy",
    retryable: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs })
  })

type Answer = Stream.Stream<ModelEvent, ModelFailed>

/** Answers in turn with each of `answers`, the last one for ever, and notes when it was asked. */
const asked = (...answers: ReadonlyArray<Answer>) => {
  const at: Array<number> = []
  const turn = Retry.retrying(() =>
    Stream.unwrap(Effect.map(Clock.currentTimeMillis, (now) => {
      at.push(now)
      return answers[Math.min(at.length, answers.length) - 1]!
    }))
  )
  return { at, run: Effect.result(Stream.runCollect(turn(request))) }
}

const settle = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  yield* TestClock.adjust(600_000)
  return yield* Fiber.join(fiber)
})

describe("MDL-3 retries", () => {
  it.effect("MDL-3 a transient failure is retried three times, then told; the waits grow", () =>
    Effect.gen(function*() {
      const model = asked(Stream.fail(busy()))
      assert.deepStrictEqual(yield* settle(model.run), Result.fail(busy()))
      assert.strictEqual(model.at.length, 4)
      for (const [index, whole] of [500, 1000, 2000].entries()) {
        const wait = model.at[index + 1]! - model.at[index]!
        assert.isTrue(wait >= whole / 2 && wait <= whole, `wait ${index}: ${wait}`)
      }
    }))

  it.effect("MDL-3 the third repetition may still answer", () =>
    Effect.gen(function*() {
      const fail = Stream.fail(busy())
      const model = asked(fail, fail, fail, Stream.succeed(finish))
      assert.deepStrictEqual(yield* settle(model.run), Result.succeed([finish]))
      assert.strictEqual(model.at.length, 4)
    }))

  it.effect("MDL-3 nothing is asked again once anything was delivered", () =>
    Effect.gen(function*() {
      for (
        const first of [{ _tag: "TextDelta", text: "half" }, { _tag: "Provider", provider: "{}" }] as ReadonlyArray<
          ModelEvent
        >
      ) {
        const model = asked(Stream.concat(Stream.succeed(first), Stream.fail(busy())))
        assert.deepStrictEqual(yield* settle(model.run), Result.fail(busy()))
        assert.strictEqual(model.at.length, 1)
      }
    }))

  it.effect("MDL-3 MDL-5 other failures are told at once", () =>
    Effect.gen(function*() {
      for (
        const failed of [
          new ModelFailed({ code: "model_failed", message: "no key" }),
          new ModelFailed({ code: "model_failed", message: "no key", retryable: false }),
          new ModelFailed({ code: "context_overflow", message: "too long" })
        ]
      ) {
        const model = asked(Stream.fail(failed))
        assert.deepStrictEqual(yield* settle(model.run), Result.fail(failed))
        assert.strictEqual(model.at.length, 1)
      }
    }))

  it.effect("MDL-3 the provider's wait is kept up to a minute, and longer waits fail at once", () =>
    Effect.gen(function*() {
      const patient = asked(Stream.fail(busy(60_000)), Stream.succeed(finish))
      assert.isTrue(Result.isSuccess(yield* settle(patient.run)))
      assert.isTrue(patient.at[1]! - patient.at[0]! >= 60_000)
      const hasty = asked(Stream.fail(busy(60_001)), Stream.succeed(finish))
      assert.deepStrictEqual(yield* settle(hasty.run), Result.fail(busy(60_001)))
    }))

  it.effect("MDL-3 a wait can be interrupted, and nothing is asked after it", () =>
    Effect.gen(function*() {
      const model = asked(Stream.fail(busy()))
      const fiber = yield* Effect.forkChild(model.run, { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      yield* TestClock.adjust(600_000)
      assert.strictEqual(model.at.length, 1)
    }))

  it.effect("MDL-3 SCR-1 a retried request takes the next step of a script", () =>
    Effect.gen(function*() {
      const model = yield* ModelTurn
      assert.deepStrictEqual(yield* settle(Stream.runCollect(model.turn(request))), [{
        _tag: "TextDelta",
        text: "at last"
      }, finish])
    }).pipe(Effect.provide(Retry.layer.pipe(Layer.provide(ScriptedModel.layer(Result.getOrThrow(Script.decode(`{
      "format": "errand.script", "version": 1,
      "root": [{"error": {"message": "busy", "retryable": true}, "times": 2}, {"text": "at last"}]
    }`))))))))

  it.effect.prop(
    "MDL-3 however a model fails and answers, it is asked once more per retryable failure, four times at most",
    { failures: Schema.Array(Schema.Boolean) },
    ({ failures }) =>
      Effect.gen(function*() {
        const fatal = new ModelFailed({ code: "model_failed", message: "fatal" })
        const model = asked(
          ...failures.map((retryable) => Stream.fail(retryable ? busy() : fatal)),
          Stream.succeed(finish)
        )
        const ended = yield* settle(model.run)
        const stop = failures.findIndex((retryable) => !retryable)
        const transient = stop === -1 ? failures.length : stop
        assert.strictEqual(model.at.length, Math.min(transient, 3) + 1)
        assert.strictEqual(Result.isSuccess(ended), stop === -1 && transient <= 3)
      })
  )
})
