/** Real provider libraries against emulated providers, as the layers that the tests of the adapter share. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import type { LanguageModelV4 } from "@ai-sdk/provider"
import type { JsonText } from "@errand/protocol"
import type { Message, ModelEvent, ModelFailed, ModelRequest, ModelToolCall, OfferedTool } from "@errand/runtime"
import { Bounds, ModelTurn } from "@errand/runtime"
import { anthropicMessages, chatCompletions, openAiResponses, ProviderEmulator } from "@errand/testing/providers"
import type { Answer } from "@errand/testing/providers"
import type { Result } from "effect"
import { Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { AiSdkModel, ByteWatch, IdleTimeout } from "../src/index.ts"

interface Access {
  readonly address: string
  readonly key: string
  readonly fetch: typeof globalThis.fetch
}

interface Family {
  readonly dialect: typeof openAiResponses
  readonly model: (access: Access) => LanguageModelV4
  readonly options: AiSdkModel.Options
  /** Events before the first that tells something of the answer. */
  readonly preamble: number
  /** Events until the first piece of a text was told. */
  readonly firstText: number
}

/** The three families as the binary uses them. */
export const families: { readonly [name in "openai" | "anthropic" | "openai-compatible"]: Family } = {
  openai: {
    dialect: openAiResponses,
    model: ({ address, fetch, key }) => createOpenAI({ apiKey: key, baseURL: `${address}/v1`, fetch })("gpt-5.1"),
    options: { providerOptions: { openai: { store: false } } },
    preamble: 2,
    firstText: 5
  },
  anthropic: {
    dialect: anthropicMessages,
    model: ({ address, fetch, key }) =>
      createAnthropic({ apiKey: key, baseURL: `${address}/v1`, fetch })("claude-sonnet-4-5"),
    options: {},
    preamble: 1,
    firstText: 3
  },
  "openai-compatible": {
    dialect: chatCompletions,
    model: ({ address, fetch, key }) =>
      createOpenAICompatible({ name: "local", apiKey: key, baseURL: `${address}/v1`, fetch, includeUsage: true })(
        "qwen3"
      ),
    options: {},
    preamble: 1,
    firstText: 2
  }
}

/** Names of the families, for tests that must hold for each. */
export const each = Object.keys(families) as ReadonlyArray<keyof typeof families>

/** The bytes that came for each request of an emulated provider, in the order of the requests. */
const came = new WeakMap<object, Array<number>>()

/** Counts the bytes of each answer when whoever reads it has them. */
const counted = (fetch: typeof globalThis.fetch, counts: Array<number>): typeof globalThis.fetch => (input, init) => {
  const index = counts.push(0) - 1
  return fetch(input, init).then((response) => {
    const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (bytes, controller) => {
        counts[index]! += bytes.length
        controller.enqueue(bytes)
      }
    })
    const { headers, status, statusText } = response
    return new Response(response.body?.pipeThrough(count) ?? null, { headers, status, statusText })
  })
}

const nextTurn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Turns of the event loop after which a library has read what it was given. */
const READING_TURNS = 20

/** Waits until a request has come, and all that its answer sends has been read. */
export const arrived = Effect.fnUntraced(function*(index: number) {
  const emulator = yield* ProviderEmulator
  yield* emulator.received(index + 1)
  while ((came.get(emulator)?.[index] ?? 0) < emulator.requests[index]!.bytes) yield* nextTurn
  for (let turn = 0; turn < READING_TURNS; turn++) yield* nextTurn
})

/** The model of a family and its emulated provider. */
export const layer = (name: keyof typeof families, key?: string) => {
  const family = families[name]
  return Layer.unwrap(Effect.map(ProviderEmulator, (emulator) => {
    const bytes = ByteWatch.make()
    const given = key ?? emulator.key
    const counts: Array<number> = []
    came.set(emulator, counts)
    const fetch = counted(bytes.fetch, counts)
    return AiSdkModel.layer(family.model({ address: emulator.address, key: given, fetch }), {
      ...family.options,
      bytes,
      secrets: [Redacted.make(given)]
    })
  })).pipe(Layer.provideMerge(ProviderEmulator.layer(family.dialect)))
}

/** The same without anybody's patience running out, for tests that let time fly. */
export const patient = (name: keyof typeof families) =>
  layer(name).pipe(Layer.provide(Layer.succeed(IdleTimeout, Infinity)))

export const text = (text: string) => text as JsonText

/** A request with this much in it. */
export const request = (given: Partial<ModelRequest> = {}): ModelRequest => ({
  instructions: null,
  messages: [{ role: "user", text: "go" }],
  tools: [],
  agent: null,
  ...given
})

export const tool = (name: string, inputSchema = `{"type":"object"}`): OfferedTool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: text(inputSchema)
})

/** Asks once, and gives all events or the failure. */
export const ask = (given: Partial<ModelRequest> = {}): Effect.Effect<
  Result.Result<ReadonlyArray<ModelEvent>, ModelFailed>,
  never,
  ModelTurn
> => Effect.flatMap(ModelTurn, (model) => Effect.result(Stream.runCollect(model.turn(request(given)))))

/** Scripts one answer and asks once. */
export const askFor = (answer: Answer, given: Partial<ModelRequest> = {}) =>
  Effect.gen(function*() {
    yield* (yield* ProviderEmulator).script(answer)
    return yield* ask(given)
  })

/** An answer as the assistant message that the runner would store. */
export const stored = (events: ReadonlyArray<ModelEvent>): Message & { readonly role: "assistant" } => {
  const toolCalls: Array<ModelToolCall> = []
  let said = ""
  let provider: JsonText | undefined
  for (const event of events) {
    if (event._tag === "TextDelta") said += event.text
    if (event._tag === "ToolCall") {
      toolCalls.push({ ...event.call, arguments: Bounds.recorded(Bounds.read(event.call.arguments)) })
    }
    if (event._tag === "Provider") provider = event.provider
  }
  return { role: "assistant", text: said, toolCalls, ...(provider === undefined ? {} : { provider }) }
}

/** Results for all calls of a message. */
export const results = (message: Message & { readonly role: "assistant" }, content = `{"text":"done"}`): Message => ({
  role: "tool",
  results: message.toolCalls.map(({ id, name }) => ({ id, name, outcome: "success", content: text(content) }))
})

/** Runs something whose waits are on the test clock and whose other party is real: time flies while it is idle. */
export const flying = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  while (fiber.pollUnsafe() === undefined) {
    yield* nextTurn
    yield* TestClock.adjust(250)
  }
  return yield* Fiber.join(fiber)
})
