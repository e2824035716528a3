import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { type ModelFailed, ModelTurn } from "@errand/runtime"
import { Effect, Fiber, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { AiSdkFailure, AiSdkModel } from "../src/index.ts"
import { ask, stored } from "./Emulated.ts"

type Asked = Parameters<LanguageModelV4["doStream"]>[0]

/** A model of nobody's making that answers with these parts, and notes what it was asked. */
const modelOf = (
  answer: (asked: Asked) => ReadonlyArray<LanguageModelV4StreamPart> | Promise<never>
): LanguageModelV4 => ({
  specificationVersion: "v4",
  provider: "acme.chat",
  modelId: "acme-1",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("one turn is always streamed")),
  doStream: (asked) =>
    Promise.resolve(answer(asked)).then((parts) => ({
      stream: new ReadableStream({
        start: (controller) => {
          for (const part of parts) controller.enqueue(part)
          controller.close()
        }
      })
    }))
})

const finish = (
  unified: Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"] = "stop",
  raw: string | undefined = unified
): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 5, text: undefined, reasoning: undefined }
  }
})

const answers = (...parts: ReadonlyArray<LanguageModelV4StreamPart>) =>
  Effect.provide(ask(), AiSdkModel.layer(modelOf(() => parts)))

const eventsOf = (...parts: ReadonlyArray<LanguageModelV4StreamPart>) =>
  Effect.map(answers(...parts), Result.getOrThrow)

const failureOf = (...parts: ReadonlyArray<LanguageModelV4StreamPart>) =>
  Effect.map(answers(...parts), (told) => (told as Result.Failure<never, ModelFailed>).failure)

describe("MDL-1 answers of any model", () => {
  it.effect("MDL-1 the model is named as it names itself, unless it is told otherwise", () =>
    Effect.gen(function*() {
      const named = (options?: AiSdkModel.Options) =>
        Effect.map(ModelTurn, ({ name, provider }) => `${provider} ${name}`).pipe(
          Effect.provide(AiSdkModel.layer(modelOf(() => []), options))
        )
      assert.strictEqual(yield* named(), "acme.chat acme-1")
      assert.strictEqual(yield* named({ provider: "acme" }), "acme acme-1")
    }))

  it.effect("MDL-1 files are left out and said so, what the provider did itself is not ours to settle", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(
        { type: "text-delta", id: "t", delta: "See: " },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
        { type: "tool-input-start", id: "p", toolName: "search", providerExecuted: true },
        { type: "tool-call", toolCallId: "p", toolName: "search", input: "{}", providerExecuted: true },
        { type: "source", sourceType: "url", id: "s", url: "http://localhost" },
        finish()
      )
      assert.deepStrictEqual(events, [
        { _tag: "TextDelta", text: "See: " },
        { _tag: "TextDelta", text: "[A file of type image/png was left out here.]" },
        { _tag: "Finish", usage: { inputTokens: 0, outputTokens: 5 } }
      ])
    }))

  it.effect("MDL-1 what belongs to thoughts, texts and calls is kept by part, the last word winning", () =>
    Effect.gen(function*() {
      const { provider } = stored(
        yield* eventsOf(
          { type: "reasoning-start", id: "0", providerMetadata: { acme: { id: "r", sig: null } } },
          { type: "reasoning-delta", id: "0", delta: "hm" },
          { type: "reasoning-end", id: "0", providerMetadata: { acme: { sig: "s" } } },
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: "🌍!" },
          { type: "text-end", id: "0", providerMetadata: { acme: { id: "t" } } },
          { type: "tool-call", toolCallId: "c", toolName: "a", input: "{}", providerMetadata: { other: { x: 1 } } },
          finish("tool-calls")
        )
      )
      assert.deepStrictEqual(JSON.parse(provider!), {
        adapter: "ai-sdk",
        version: 1,
        provider: "acme.chat",
        model: "acme-1",
        parts: [
          { type: "reasoning", text: "hm", options: { acme: { id: "r", sig: "s" } } },
          { type: "text", length: 3, options: { acme: { id: "t" } } },
          { type: "call", options: { other: { x: 1 } } }
        ]
      })
    }))

  it.effect("MDL-1 nothing is kept of an answer that has nothing to keep", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(
        { type: "text-delta", id: "0", delta: "plain" },
        { type: "tool-call", toolCallId: "c", toolName: "a", input: "{}" },
        finish()
      )
      assert.isUndefined(stored(events).provider)
    }))

  it.effect("MDL-3 how an answer ends decides whether it is one", () =>
    Effect.gen(function*() {
      const text = { type: "text-delta", id: "0", delta: "x" } as const
      for (
        const [unified, raw] of [["stop", "stop"], ["other", "pause"], ["content-filter", "stop"]] as const
      ) {
        assert.strictEqual((yield* eventsOf(text, finish(unified, raw))).length, 2)
      }
      for (
        const parts of [[text], [text, finish("interrupted")], [
          text,
          { ...finish("other"), finishReason: { unified: "other", raw: undefined } } as const
        ]]
      ) {
        assert.isTrue((yield* failureOf(...parts)).retryable)
      }
      for (const [unified, raw] of [["error", "x"], ["length", "max"], ["content-filter", "refusal"]] as const) {
        const failed = yield* failureOf(text, finish(unified, raw))
        assert.strictEqual(failed.code, "model_failed")
        assert.isFalse(failed.retryable)
      }
      const full = yield* failureOf(text, finish("length", "model_context_window_exceeded"))
      assert.strictEqual(full.code, "context_overflow")
    }))

  it.effect("MDL-3 an answer that lost a call on the way is none, whatever it ended with, and is asked for again", () =>
    Effect.gen(function*() {
      const begun: ReadonlyArray<LanguageModelV4StreamPart> = [
        { type: "tool-input-start", id: "c", toolName: "a" },
        { type: "tool-input-delta", id: "c", delta: "{}" },
        { type: "tool-input-end", id: "c" }
      ]
      const whole = { type: "tool-call", toolCallId: "d", toolName: "a", input: "{}" } as const
      for (
        const [unified, raw] of [
          ["stop", "stop"],
          ["tool-calls", "tool_use"],
          ["other", "pause"],
          ["content-filter", "stop"]
        ] as const
      ) {
        for (const parts of [begun, [...begun, whole], [whole, ...begun]]) {
          const failed = yield* failureOf(...parts, finish(unified, raw))
          assert.deepInclude(failed, { code: "model_failed", retryable: true })
        }
      }
      const announced = yield* failureOf({ type: "text-delta", id: "0", delta: "x" }, finish("tool-calls"))
      assert.deepInclude(announced, { code: "model_failed", retryable: true })
    }))

  it.effect("MDL-3 what the provider executes itself may begin without end, and stands for the calls of an answer", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(
        { type: "tool-input-start", id: "s", toolName: "search", providerExecuted: true },
        { type: "tool-call", toolCallId: "t", toolName: "search", input: "{}", providerExecuted: true },
        finish("tool-calls")
      )
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Finish"])
    }))

  it.effect("MDL-3 E10 a call that began and was never told is one, once the limit of tokens cut it off", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(
        { type: "tool-input-start", id: "c", toolName: "a" },
        { type: "tool-input-delta", id: "c", delta: `{"a":` },
        finish("length")
      )
      assert.deepStrictEqual(events[0], { _tag: "ToolCall", call: { id: "c", name: "a", arguments: `{"a":` } })
    }))

  it.effect("MDL-1 what is kept of an answer has a part for each call, those that were cut off too", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "so" },
        { type: "tool-call", toolCallId: "c", toolName: "a", input: "{}" },
        { type: "tool-input-start", id: "d", toolName: "a" },
        finish("length")
      )
      const [kept] = events.flatMap((event) => event._tag === "Provider" ? [JSON.parse(event.provider)] : [])
      assert.deepStrictEqual(kept.parts.map(({ type }: { readonly type: string }) => type), [
        "reasoning",
        "text",
        "call",
        "call"
      ])
    }))

  it.effect("MDL-3 a model that throws, or rejects with anything, fails the request", () =>
    Effect.gen(function*() {
      const told = (answer: () => never) =>
        Effect.map(
          Effect.provide(ask(), AiSdkModel.layer({ ...modelOf(() => []), doStream: answer })),
          (told) => (told as Result.Failure<never, ModelFailed>).failure.message
        )
      assert.strictEqual(
        yield* told(() => {
          throw new Error("broken")
        }),
        "broken"
      )
      assert.strictEqual(
        yield* told(() => {
          throw "bare"
        }),
        "bare"
      )
      assert.strictEqual(
        yield* told(() => {
          throw undefined
        }),
        "the provider failed without saying why"
      )
      assert.strictEqual(
        yield* told(() => {
          throw { error: { message: "nested" } }
        }),
        "nested"
      )
    }))

  it.effect("MDL-5 a model that does not heed its signal is left behind all the same", () =>
    Effect.gen(function*() {
      let signal: AbortSignal | undefined
      const model = modelOf((asked) => {
        signal = asked.abortSignal
        return new Promise(() => {})
      })
      const waiting = yield* Effect.forkChild(Effect.provide(ask(), AiSdkModel.layer(model)), {
        startImmediately: true
      })
      yield* TestClock.adjust(60_000)
      assert.isTrue(Result.isFailure(yield* Fiber.join(waiting)))
      assert.isTrue(signal!.aborted)
    }))

  it.effect("MDL-5 parts are signs of life where bytes cannot be seen", () =>
    Effect.gen(function*() {
      let raw: boolean | undefined
      yield* Effect.provide(
        ask(),
        AiSdkModel.layer(modelOf((asked) => {
          raw = asked.includeRawChunks
          return [{ type: "raw", rawValue: 1 }, finish()]
        }))
      )
      assert.isTrue(raw)
    }))
})

describe("MDL-3 what errors mean", () => {
  const told = (error: unknown, ...secrets: ReadonlyArray<string>) =>
    AiSdkFailure.of(error, { now: 0, secrets: secrets.map((secret) => Redacted.make(secret)) })

  it("MDL-2 every key is taken out of messages, wherever it stands; a stand-in for a key is no secret", () => {
    assert.strictEqual(told("a sk-12345678 b sk-12345678", "sk-12345678").message, "a [redacted] b [redacted]")
    assert.strictEqual(told("no such model", "no").message, "no such model")
  })

  it("MDL-3 errors inside a stream are transient by status, by verdict, or by kind", () => {
    for (
      const [error, retryable] of [
        [{ message: "m", code: 503 }, true],
        [{ message: "m", code: "429" }, true],
        [{ message: "m", code: 400 }, false],
        [{ message: "m", type: "overloaded_error" }, true],
        [{ message: "m", type: "invalid_request_error" }, false],
        [{ message: "m", type: "overloaded_error", isRetryable: false }, false],
        [{ message: "m", isRetryable: true }, true],
        [{ message: "m", isRetryable: true, statusCode: 409 }, false],
        ["m", false]
      ] as const
    ) {
      const failed = told(error)
      assert.deepStrictEqual([failed.message, failed.retryable], ["m", retryable])
    }
  })

  it("MDL-5 a limit of tokens per minute is no context that is too long", () => {
    const limited = told({ message: "over the rate limit of your context window", statusCode: 429 })
    assert.deepStrictEqual([limited.code, limited.retryable], ["model_failed", true])
    assert.strictEqual(told({ message: "m", code: "context_length_exceeded" }).code, "context_overflow")
    assert.strictEqual(
      told({ message: "Bad Request", statusCode: 400, responseBody: "prompt is too long" }).code,
      "context_overflow"
    )
  })
})
