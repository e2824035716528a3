import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import type { Message, ModelEvent, ModelRequest } from "@errand/runtime"
import { ModelFailed, ModelTurn } from "@errand/runtime"
import { Duration, Effect, Exit, Fiber, Layer, Result, Stream } from "effect"
import type { Response } from "effect/ai"
import { AiError, LanguageModel, Prompt, Tool } from "effect/ai"
import { TestClock } from "effect/testing"
import { EffectLanguageModel, IdleTimeout } from "../src/index.ts"

const json = (text: string) => text as JsonText

const bare: ModelRequest = { instructions: null, messages: [{ role: "user", text: "go" }], tools: [], agent: null }

type Parts = Stream.Stream<Response.StreamPartEncoded, AiError.AiError>

/** A language model that answers the same to every request and notes what it was asked. */
const modelOf = (parts: Parts) => {
  const requests: Array<LanguageModel.ProviderOptions> = []
  const model = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () => Effect.die("one turn is always streamed"),
      streamText: (options) => {
        requests.push(options)
        return parts
      }
    })
  )
  return { requests, layer: EffectLanguageModel.layer({ provider: "acme", name: "acme-1" }).pipe(Layer.provide(model)) }
}

const finish: Response.StreamPartEncoded = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: { total: 12 }, outputTokens: { total: 3 } }
}

const finished: ModelEvent = { _tag: "Finish", usage: { inputTokens: 12, outputTokens: 3 } }

const call = (params: unknown, id = "c1", name = "client__a"): Response.StreamPartEncoded => ({
  type: "tool-call",
  id,
  name,
  params
})

const answer = (parts: Parts, request: ModelRequest = bare) =>
  Effect.flatMap(ModelTurn, (model) => Effect.result(Stream.runCollect(model.turn(request)))).pipe(
    Effect.provide(modelOf(parts).layer)
  )

const answerTo = (...parts: ReadonlyArray<Response.StreamPartEncoded>) =>
  Effect.map(answer(Stream.fromIterable([...parts, finish])), Result.getOrThrow)

/** The prompt that the model gets for some messages. */
const prompted = Effect.fnUntraced(function*(messages: ReadonlyArray<Message>, instructions: string | null = null) {
  const model = modelOf(Stream.fromIterable([finish]))
  yield* Effect.flatMap(ModelTurn, (turn) => Stream.runDrain(turn.turn({ ...bare, messages, instructions }))).pipe(
    Effect.provide(model.layer)
  )
  return model.requests[0]!.prompt
})

const argumentsOf = (...parts: ReadonlyArray<Response.StreamPartEncoded>) =>
  Effect.map(
    answerTo(...parts),
    (events) => events.flatMap((event) => event._tag === "ToolCall" ? [event.call.arguments] : [])
  )

describe("MDL-4 names of tools", () => {
  it.effect("MDL-4 DCL-10 a name that providers forbid has an alias in the prompt, and nowhere else", () =>
    Effect.gen(function*() {
      const name = "client__look.up"
      const offered = { name, description: "x", inputSchema: json(`{"type":"object"}`) }
      let alias = ""
      const requests: Array<LanguageModel.ProviderOptions> = []
      const model = Layer.effect(
        LanguageModel.LanguageModel,
        LanguageModel.make({
          generateText: () => Effect.die("one turn is always streamed"),
          streamText: (options) => {
            requests.push(options)
            alias = options.tools[0]!.name
            return Stream.fromIterable([call({}, "c1", alias), finish])
          }
        })
      )
      yield* Effect.gen(function*() {
        const { turn } = yield* ModelTurn
        const events = yield* Stream.runCollect(turn({ ...bare, tools: [offered] }))
        assert.deepStrictEqual(events[0], { _tag: "ToolCall", call: { id: "c1", name, arguments: "{}" } })
        const messages: ReadonlyArray<Message> = [
          { role: "assistant", text: "", toolCalls: [{ id: "c1", name, arguments: "{}" }] },
          { role: "tool", results: [{ id: "c1", name, outcome: "success", content: json("{}") }] }
        ]
        yield* Stream.runDrain(turn({ ...bare, messages, tools: [offered] }))
      }).pipe(
        Effect.provide(EffectLanguageModel.layer({ provider: "acme", name: "acme-1" }).pipe(Layer.provide(model)))
      )
      assert.match(alias, /^[a-zA-Z0-9_-]{1,64}$/)
      const parts = requests[1]!.prompt.content.flatMap(({ content }) =>
        typeof content === "string" ? [] : [...content]
      )
      assert.deepStrictEqual(parts.map((part) => "name" in part && part.name), [alias, alias])
    }))
})

describe("MDL-1 an answer of effect/ai as model events", () => {
  it.effect("MDL-1 texts, undecided calls and usage, in their order", () =>
    Effect.gen(function*() {
      const events = yield* answerTo(
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Hel" },
        { type: "text-delta", id: "t", delta: "" },
        { type: "text-delta", id: "t", delta: "lo" },
        { type: "text-end", id: "t" },
        call({ b: 1, a: [null, "é"] }),
        call({}, "c2", "no such tool!")
      )
      assert.deepStrictEqual(events, [
        { _tag: "TextDelta", text: "Hel" },
        { _tag: "TextDelta", text: "lo" },
        { _tag: "ToolCall", call: { id: "c1", name: "client__a", arguments: `{"b":1,"a":[null,"é"]}` } },
        { _tag: "ToolCall", call: { id: "c2", name: "no such tool!", arguments: "{}" } },
        finished
      ])
    }))

  it.effect("MDL-1 the layer carries the names it was given", () =>
    Effect.gen(function*() {
      const { name, provider } = yield* ModelTurn
      assert.deepStrictEqual([provider, name], ["acme", "acme-1"])
    }).pipe(Effect.provide(modelOf(Stream.empty).layer)))

  it.effect("MDL-1 faults E7 arguments that may have been rounded become a text that no tool takes", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* argumentsOf(call({ n: Number.MAX_SAFE_INTEGER })), [`{"n":9007199254740991}`])
      assert.deepStrictEqual(yield* argumentsOf(call({ n: Number.MAX_SAFE_INTEGER + 1 })), [
        `"refused: n: the number 9007199254740992 may have been rounded, send it as a string"`
      ])
    }))

  it.effect("MDL-1 arguments that were streamed as text keep every digit", () =>
    Effect.gen(function*() {
      const streamed = (...deltas: ReadonlyArray<string>): ReadonlyArray<Response.StreamPartEncoded> => [
        { type: "tool-params-start", id: "c1", name: "client__a" },
        ...deltas.map((delta) => ({ type: "tool-params-delta", id: "c1", delta }) as const),
        { type: "tool-params-end", id: "c1" }
      ]
      const rounded = call({ n: 9007199254740992 })
      assert.deepStrictEqual(yield* argumentsOf(...streamed(`{"n": 90071992`, `54740993}`), rounded), [
        `{"n": 9007199254740993}`
      ])
      assert.deepStrictEqual(yield* argumentsOf(...streamed(`{"n": 9`), call({ n: 9 })), [`{"n":9}`])
      const two = [...streamed(`{"n":1}`), call({ n: 1 }), call({ n: 2 }, "c2")]
      assert.deepStrictEqual(yield* argumentsOf(...two), [`{"n":1}`, `{"n":2}`])
    }))

  it.effect("MDL-1 a call that the provider executed itself is not handed on", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* answerTo({ type: "tool-call", id: "p1", name: "search", params: {}, providerExecuted: true }),
        [finished]
      )
    }))

  it.effect("MDL-1 usage that the provider does not tell is 0", () =>
    Effect.gen(function*() {
      const silent = { type: "finish", reason: "stop", usage: { inputTokens: {}, outputTokens: {} } } as const
      assert.deepStrictEqual(
        yield* answer(Stream.succeed(silent)),
        Result.succeed([{ _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } }])
      )
    }))

  it.effect("MDL-1 interrupting a turn closes the provider's stream", () =>
    Effect.gen(function*() {
      let closed = false
      const parts: Parts = Stream.never.pipe(Stream.ensuring(Effect.sync(() => {
        closed = true
      })))
      const fiber = yield* Effect.forkChild(answer(parts), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      assert.isTrue(closed)
    }))
})

describe("TRN-7 failures of a model of effect/ai", () => {
  const failing = (reason: AiError.AiErrorReason) =>
    Effect.map(
      answer(Stream.fail(AiError.make({ module: "Acme", method: "streamText", reason }))),
      (result) => Result.isFailure(result) ? result.failure : undefined
    )

  it.effect("TRN-7 SCH-5 the provider's message is told", () =>
    Effect.gen(function*() {
      const failed = yield* failing(
        new AiError.InvalidRequestError({ description: "tools.0.input_schema: unsupported keyword" })
      )
      assert.strictEqual(failed?.code, "model_failed")
      assert.include(failed?.message, "tools.0.input_schema: unsupported keyword")
      assert.strictEqual(failed?.retryable, false)
    }))

  it.effect("MDL-3 rate limits, provider failures and lost connections are transient, nothing else is", () =>
    Effect.gen(function*() {
      const network = (reason: "TransportError" | "EncodeError") =>
        new AiError.NetworkError({ reason, method: "POST", url: "https://acme" })
      const transient = [
        new AiError.RateLimitError({}),
        new AiError.InternalProviderError({ description: "503" }),
        network("TransportError")
      ]
      for (const reason of transient) assert.strictEqual((yield* failing(reason))?.retryable, true, reason._tag)
      const lasting = [
        new AiError.AuthenticationError({ kind: "InvalidKey" }),
        new AiError.QuotaExhaustedError({}),
        new AiError.InvalidOutputError({ description: "no JSON" }),
        new AiError.UnknownError({ description: "?" }),
        network("EncodeError")
      ]
      for (const reason of lasting) assert.strictEqual((yield* failing(reason))?.retryable, false, reason._tag)
    }))

  it.effect("MDL-3 how long the provider asks to wait is told in milliseconds", () =>
    Effect.gen(function*() {
      const failed = yield* failing(new AiError.RateLimitError({ retryAfter: Duration.seconds(7) }))
      assert.strictEqual(failed?.retryAfterMs, 7000)
    }))

  it.effect("MDL-5 a context that is too long is context_overflow, by message or by body", () =>
    Effect.gen(function*() {
      const byMessage = new AiError.InvalidRequestError({ description: "prompt is too long: 9 tokens > 8 maximum" })
      assert.strictEqual((yield* failing(byMessage))?.code, "context_overflow")
      const byBody = new AiError.InvalidRequestError({
        description: "Bad Request",
        http: { body: `{"code":"context_length_exceeded"}` }
      })
      assert.strictEqual((yield* failing(byBody))?.code, "context_overflow")
    }))

  it.effect("TRN-7 an error part fails the turn after what came before it", () =>
    Effect.gen(function*() {
      const read: Array<ModelEvent> = []
      const parts: ReadonlyArray<Response.StreamPartEncoded> = [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "half" },
        { type: "error", error: new Error("overloaded") }
      ]
      const model = yield* ModelTurn.pipe(Effect.provide(modelOf(Stream.fromIterable(parts)).layer))
      const failed = yield* model.turn(bare).pipe(
        Stream.runForEach((event) => Effect.sync(() => read.push(event))),
        Effect.flip
      )
      assert.deepStrictEqual(read, [{ _tag: "TextDelta", text: "half" }])
      assert.deepStrictEqual(failed, new ModelFailed({ code: "model_failed", message: "overloaded" }))
    }))

  it.effect("TRN-7 an answer without its end fails the turn, and so does one that ends in an error", () =>
    Effect.gen(function*() {
      const cut = yield* answer(Stream.fromIterable([call({})]))
      const message = "the connection to the provider ended before the answer did"
      assert.deepStrictEqual(cut, Result.fail(new ModelFailed({ code: "model_failed", message, retryable: true })))
      const error = yield* answer(Stream.succeed({ ...finish, reason: "error" }))
      assert.isTrue(Result.isFailure(error))
    }))
})

describe("MDL-3 how an answer of effect/ai ends decides whether it is one", () => {
  const text: ReadonlyArray<Response.StreamPartEncoded> = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "x" },
    { type: "text-end", id: "t" }
  ]
  const begun = (delta = "", id = "c9"): ReadonlyArray<Response.StreamPartEncoded> => [
    { type: "tool-params-start", id, name: "client__a" },
    ...(delta === "" ? [] : [{ type: "tool-params-delta", id, delta } as const])
  ]
  const ending = (reason: Response.FinishReason, ...parts: ReadonlyArray<Response.StreamPartEncoded>) =>
    answer(Stream.fromIterable([...parts, { ...finish, reason }]))
  const failure = (told: Effect.Success<ReturnType<typeof answer>>) =>
    Result.isFailure(told) ? told.failure : assert.fail("it was taken for an answer")

  it.effect("MDL-3 an answer that is cut off or filtered is none", () =>
    Effect.gen(function*() {
      assert.include(failure(yield* ending("length", ...text)).message, "limit of output tokens")
      assert.include(failure(yield* ending("content-filter", ...text)).message, "content filter")
      assert.include(failure(yield* ending("content-filter", ...text, call({}))).message, "content filter")
      for (const reason of ["stop", "other", "unknown", "pause"] as const) {
        assert.isTrue(Result.isSuccess(yield* ending(reason, ...text)))
      }
    }))

  it.effect("MDL-3 an answer that lost a call on the way is none, whatever it ended with, and is asked for again", () =>
    Effect.gen(function*() {
      for (const reason of ["stop", "tool-calls", "other", "unknown", "pause"] as const) {
        for (const end of [[], [{ type: "tool-params-end", id: "c9" } as const]]) {
          const failed = failure(yield* ending(reason, call({}), ...begun("{}"), ...end))
          assert.deepInclude(failed, { code: "model_failed", retryable: true })
        }
      }
      assert.deepInclude(failure(yield* ending("tool-calls", ...text)), { code: "model_failed", retryable: true })
    }))

  it.effect("MDL-3 E10 calls that the limit of output tokens cut off have arguments that no tool takes", () =>
    Effect.gen(function*() {
      const argumentsOf = (told: Effect.Success<ReturnType<typeof answer>>) =>
        Result.getOrThrow(told).flatMap((event) => event._tag === "ToolCall" ? [event.call.arguments] : [])
      const unknown = JSON.stringify("the answer was cut off before the arguments")
      assert.deepStrictEqual(argumentsOf(yield* ending("length", ...text, ...begun(`{"a":`))), [`{"a":`])
      assert.deepStrictEqual(argumentsOf(yield* ending("length", call({ a: 1 }), ...begun())), [`{"a":1}`, unknown])
      const told = [...begun(" ", "c1"), call({})]
      assert.deepStrictEqual(argumentsOf(yield* ending("length", ...told)), [unknown])
      assert.deepStrictEqual(argumentsOf(yield* ending("tool-calls", ...told)), ["{}"])
    }))

  it.effect("MDL-3 calls are told when the answer is whole, so that one which breaks off is tried again", () =>
    Effect.gen(function*() {
      const read: Array<ModelEvent> = []
      const model = yield* ModelTurn.pipe(Effect.provide(modelOf(Stream.fromIterable([call({})])).layer))
      yield* Effect.flip(Stream.runForEach(model.turn(bare), (event) => Effect.sync(() => read.push(event))))
      assert.deepStrictEqual(read, [])
    }))

  it.effect("MDL-3 what the provider executes itself may begin without end, and stands for the calls of an answer", () =>
    Effect.gen(function*() {
      const told = yield* ending(
        "tool-calls",
        { type: "tool-params-start", id: "p0", name: "search", providerExecuted: true },
        { type: "tool-call", id: "p1", name: "search", params: {}, providerExecuted: true }
      )
      assert.deepStrictEqual(told, Result.succeed([finished]))
    }))
})

describe("MDL-5 silence of a model of effect/ai", () => {
  const told = (parts: Parts) => Effect.forkChild(answer(parts), { startImmediately: true })
  const silence = Result.fail(
    new ModelFailed({ code: "model_failed", message: "the provider sent nothing for 60000 ms", retryable: true })
  )

  it.effect("MDL-5 60 s without a part are a failed connection, before and in the middle of an answer", () =>
    Effect.gen(function*() {
      let closed = 0
      const never = Stream.ensuring(Stream.never, Effect.sync(() => closed++))
      const half: ReadonlyArray<Response.StreamPartEncoded> = [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "half" }
      ]
      for (
        const parts of [
          never,
          Stream.unwrap(Effect.ensuring(Effect.never as Effect.Effect<Parts>, Effect.sync(() => closed++))),
          Stream.concat(Stream.fromIterable(half), never)
        ]
      ) {
        const waiting = yield* told(parts)
        yield* TestClock.adjust(59_999)
        assert.isUndefined(waiting.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(waiting), silence)
      }
      assert.strictEqual(closed, 3)
    }))

  it.effect("MDL-5 parts that say nothing are signs of life", () =>
    Effect.gen(function*() {
      const parts: ReadonlyArray<Response.StreamPartEncoded> = [
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-end", id: "r" },
        finish
      ]
      const waiting = yield* told(
        Stream.mapEffect(Stream.fromIterable(parts), (part) => Effect.delay(Effect.succeed(part), 50_000))
      )
      yield* TestClock.adjust(150_000)
      assert.deepStrictEqual(
        Result.map(yield* Fiber.join(waiting), (events) => events.at(-1)),
        Result.succeed(finished)
      )
    }))

  it.effect("MDL-5 the bound is a setting, and may be none", () =>
    Effect.gen(function*() {
      const set = (ms: number) =>
        Effect.forkChild(Effect.provideService(answer(Stream.never), IdleTimeout, ms), { startImmediately: true })
      const [short, none] = [yield* set(5), yield* set(Infinity)]
      yield* TestClock.adjust(5)
      assert.isTrue(Result.isFailure(yield* Fiber.join(short)))
      yield* TestClock.adjust(600_000)
      assert.isUndefined(none.pollUnsafe())
      yield* Fiber.interrupt(none)
    }))
})

describe("SCH-5 tools offered to a model of effect/ai", () => {
  const offering = Effect.fnUntraced(function*(schema: string) {
    const model = modelOf(Stream.fromIterable([finish]))
    const tools = [{ name: "client__a", description: "Says a.", inputSchema: json(schema) }]
    const result = yield* Effect.flatMap(
      ModelTurn,
      (turn) => Effect.result(Stream.runCollect(turn.turn({ ...bare, tools })))
    ).pipe(
      Effect.provide(model.layer)
    )
    return { result, tools: model.requests.flatMap((request) => request.tools) }
  })

  it.effect("SCH-5 a schema arrives unchanged, keys in their order", () =>
    Effect.gen(function*() {
      const schema =
        `{"type":"object","properties":{"z":{"const":1.5},"__proto__":{"type":"string"},"$ref":{}},"required":["z"],"additionalProperties":false}`
      const { tools } = yield* offering(schema)
      assert.deepStrictEqual(tools.map((tool) => [tool.name, tool.description]), [["client__a", "Says a."]])
      assert.strictEqual(JSON.stringify(Tool.getJsonSchema(tools[0]!)), schema)
    }))

  it.effect("SCH-5 faults E7 a schema whose numbers would change fails the request instead", () =>
    Effect.gen(function*() {
      const { result, tools } = yield* offering(`{"type":"object","properties":{"n":{"const":9007199254740993}}}`)
      assert.deepStrictEqual(tools, [])
      assert.deepStrictEqual(
        result,
        Result.fail(
          new ModelFailed({
            code: "model_failed",
            message: "the input schema of client__a holds a number that cannot be sent to this model unchanged"
          })
        )
      )
    }))
})

describe("MDL-1 a conversation as a prompt of effect/ai", () => {
  const asked = { id: "c1", name: "client__a", arguments: `{"n":9007199254740993,"m":2}` }

  const conversation: ReadonlyArray<Message> = [
    { role: "user", text: "one" },
    { role: "assistant", text: "I look.", toolCalls: [asked, { ...asked, id: "c2", arguments: "{}" }] },
    {
      role: "tool",
      results: [
        {
          id: "c1",
          name: "client__a",
          outcome: "success",
          content: json(`{"text":"t","structured":12345678901234567890}`)
        },
        {
          id: "c2",
          name: "client__a",
          outcome: "unknown",
          content: json(`{"error":{"code":"x","message":"may have run"}}`)
        }
      ]
    },
    { role: "assistant", text: "", toolCalls: [] },
    { role: "user", text: "two" }
  ]

  it.effect("MDL-1 SES-11 each message keeps its role, calls their ids and results their outcome; no digit is rounded", () =>
    Effect.gen(function*() {
      const prompt = yield* prompted(conversation, "Be brief.")
      assert.deepStrictEqual(
        prompt,
        Prompt.fromMessages([
          Prompt.systemMessage({ content: "Be brief." }),
          Prompt.userMessage({ content: [Prompt.textPart({ text: "one" })] }),
          Prompt.assistantMessage({
            content: [
              Prompt.textPart({ text: "I look." }),
              Prompt.toolCallPart({
                id: "c1",
                name: "client__a",
                params: { n: "9007199254740993", m: 2 },
                providerExecuted: false
              }),
              Prompt.toolCallPart({ id: "c2", name: "client__a", params: {}, providerExecuted: false })
            ]
          }),
          Prompt.toolMessage({
            content: [
              Prompt.toolResultPart({
                id: "c1",
                name: "client__a",
                isFailure: false,
                result: { text: "t", structured: "12345678901234567890" },
                providerExecuted: false
              }),
              Prompt.toolResultPart({
                id: "c2",
                name: "client__a",
                isFailure: true,
                result: { error: { code: "x", message: "may have run" } },
                providerExecuted: false
              })
            ]
          }),
          Prompt.userMessage({ content: [Prompt.textPart({ text: "two" })] })
        ])
      )
    }))

  it.effect("MDL-1 SES-11 no message is made that a strict provider refuses: none is blank, and no two of the user follow each other", () =>
    Effect.gen(function*() {
      const { content: [first, ...rest] } = yield* prompted([
        { role: "user", text: "first" },
        { role: "user", text: "  \n" },
        { role: "assistant", text: "\n\n", toolCalls: [{ id: "c1", name: "client__a", arguments: "{}" }] },
        { role: "tool", results: [{ id: "c1", name: "client__a", outcome: "success", content: json(`{"text":""}`) }] },
        { role: "assistant", text: "", toolCalls: [] },
        { role: "user", text: "third" },
        {
          role: "assistant",
          text: " ",
          toolCalls: [],
          provider: json(
            `{"adapter":"effect/ai","version":1,"provider":"acme","reasoning":[{"text":"hm","options":{}}],"text":{},"calls":[]}`
          )
        },
        { role: "user", text: "fourth" }
      ], " ")
      const texts = (...of: ReadonlyArray<string>) =>
        Prompt.userMessage({ content: of.map((text) => Prompt.textPart({ text })) })
      assert.deepStrictEqual(first, texts("first", "(no text)"))
      assert.deepStrictEqual(rest.map(({ role }) => role), ["assistant", "tool", "user"])
      assert.deepStrictEqual(rest[0]?.role === "assistant" ? rest[0].content.map(({ type }) => type) : [], [
        "tool-call"
      ])
      assert.deepStrictEqual(rest[2], texts("third", "fourth"))
    }))

  it.effect("MDL-1 reasoning and signatures go back to the provider that sent them, and to no other", () =>
    Effect.gen(function*() {
      const events = yield* answerTo(
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r", metadata: { acme: { signature: "s1" } } },
        { type: "text-start", id: "t", metadata: { acme: { item: "i1" } } },
        { type: "text-delta", id: "t", delta: "text" },
        { type: "text-end", id: "t" },
        { type: "tool-call", id: "c1", name: "client__a", params: {}, metadata: { acme: { item: "i2" } } }
      )
      const kept = events.flatMap((event) => event._tag === "Provider" ? [event.provider] : [])
      assert.strictEqual(kept.length, 1)
      assert.strictEqual(events.at(-1)?._tag, "Finish")

      const said = (provider: JsonText): Message => ({
        role: "assistant",
        text: "text",
        toolCalls: [{ id: "renamed", name: "client__a", arguments: "{}" }],
        provider
      })
      const back = yield* prompted([said(kept[0]!)])
      assert.deepStrictEqual(
        back.content[0],
        Prompt.assistantMessage({
          content: [
            Prompt.reasoningPart({ text: "hm", options: { acme: { signature: "s1" } } }),
            Prompt.textPart({ text: "text", options: { acme: { item: "i1" } } }),
            Prompt.toolCallPart({
              id: "renamed",
              name: "client__a",
              params: {},
              providerExecuted: false,
              options: { acme: { item: "i2" } }
            })
          ]
        })
      )
      const bareContent = Prompt.assistantMessage({
        content: [
          Prompt.textPart({ text: "text" }),
          Prompt.toolCallPart({ id: "renamed", name: "client__a", params: {}, providerExecuted: false })
        ]
      })
      for (
        const foreign of [
          kept[0]!.replace(`"acme"`, `"other"`),
          kept[0]!.replace(`"version":1`, `"version":2`),
          `{"signature":"theirs"}`,
          "[]"
        ]
      ) {
        assert.deepStrictEqual((yield* prompted([said(json(foreign))])).content[0], bareContent, foreign)
      }
    }))

  it.effect("MDL-1 nothing is kept of an answer that has nothing to keep", () =>
    Effect.gen(function*() {
      const events = yield* answerTo({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "x" }, {
        type: "text-end",
        id: "t"
      }, call({}))
      assert.isFalse(events.some((event) => event._tag === "Provider"))
    }))
})
