import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import { Bounds, HistoryCheck, type Message, type ModelEvent, ModelTurn } from "@errand/runtime"
import { ProviderEmulator } from "@errand/testing/providers"
import { Effect, Result, Schema, Stream } from "effect"
import * as Emulated from "./Emulated.ts"

const { ask, askFor, each, stored, text } = Emulated

const digits = `{"id":9007199254740993,"f":1.10,"e":1E+2,"z":-0,"deep":[2512292042121000001,{"__proto__":1}]}`

/** A turn of a conversation: a prompt, and answers with or without calls. */
const Turn = Schema.Struct({
  prompt: Schema.String,
  answers: Schema.Array(Schema.Struct({
    text: Schema.Union([Schema.String, Schema.Literals(["", " ", "\n"])]),
    calls: Schema.Array(Schema.Struct({
      name: Schema.Literals(["client__a", "client__b-c", "gone"]),
      arguments: Schema.Record(Schema.String, Schema.Json),
      outcome: Schema.Literals(["success", "failure", "cancelled", "denied", "unknown"])
    }))
  }))
})

/** Turns as the messages that a runner holds when it asks again: it always asks with a prompt or with results. */
const conversation = (turns: ReadonlyArray<typeof Turn.Type>): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  let ids = 0
  for (const { answers, prompt } of turns) {
    messages.push({ role: "user", text: prompt.toWellFormed() })
    for (const answer of answers) {
      const calls = answer.calls.map((call) => ({ ...call, id: `c${ids++}` }))
      messages.push({
        role: "assistant",
        text: answer.text.toWellFormed(),
        toolCalls: calls.map(({ arguments: given, id, name }) => ({
          id,
          name,
          arguments: Bounds.recorded(Bounds.read(JSON.stringify(given)))
        }))
      })
      // an answer without calls ends its run
      if (calls.length === 0) break
      const content = text(`{"text":"done"}`)
      messages.push({ role: "tool", results: calls.map(({ id, name, outcome }) => ({ id, name, outcome, content })) })
    }
  }
  if (messages.at(-1)?.role !== "tool") messages.push({ role: "user", text: "go on" })
  return messages
}

/** What a provider was told about tools, calls and results, whatever it calls them. */
const bodyOf = (emulator: ProviderEmulator["Service"], index = -1) => emulator.requests.at(index)!

for (const name of each) {
  describe(`MDL-1 a turn over the wire of ${name}`, () => {
    it.effect("MDL-1 MDL-3 texts, calls and usage come as events in their order", () =>
      Effect.gen(function*() {
        const events = Result.getOrThrow(
          yield* askFor({
            text: ["Grüße, ", "🌍", " and more"],
            calls: [
              { id: "call_a", name: "client__a", arguments: `{"x":"é🌍"}` },
              { id: "call_b", name: "client__b", arguments: "{}" }
            ],
            usage: { input: 12, output: 7 }
          }, { tools: [Emulated.tool("client__a"), Emulated.tool("client__b")] })
        )
        assert.deepStrictEqual(events.filter(({ _tag }) => _tag !== "Provider"), [
          { _tag: "TextDelta", text: "Grüße, " },
          { _tag: "TextDelta", text: "🌍" },
          { _tag: "TextDelta", text: " and more" },
          { _tag: "ToolCall", call: { id: "call_a", name: "client__a", arguments: `{"x":"é🌍"}` } },
          { _tag: "ToolCall", call: { id: "call_b", name: "client__b", arguments: "{}" } },
          { _tag: "Finish", usage: { inputTokens: 12, outputTokens: 7 } }
        ])
        assert.strictEqual((yield* ModelTurn).name, String(bodyOf(yield* ProviderEmulator).body.model))
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-3 a text is told while the answer is still being written", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const { firstText } = Emulated.families[name]
        yield* emulator.script({ text: ["now"], fault: { type: "silence", after: firstText } })
        const model = yield* ModelTurn
        const first = yield* Stream.runHead(model.turn(Emulated.request()))
        assert.deepStrictEqual(first, yield* Effect.succeedSome<ModelEvent>({ _tag: "TextDelta", text: "now" }))
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-1 E7 no digit of arguments and schemas is lost on the way there, back, and there again", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const schema = `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},` +
          `"propertyNames":{"pattern":"^(?!x)"},"examples":[1.10]}`
        const tools = [Emulated.tool("client__a", schema)]
        const calls = [{ id: "c1", name: "client__a", arguments: digits }]
        const said = stored(Result.getOrThrow(yield* askFor({ calls }, { tools })))
        assert.strictEqual(said.toolCalls[0]!.arguments, digits)
        assert.include(emulator.requests[0]!.text, schema)
        const result = `{"text":"ok","structured":9007199254740993}`
        const messages: ReadonlyArray<Message> = [{ role: "user", text: "go" }, said, Emulated.results(said, result)]
        assert.isTrue(Result.isSuccess(yield* askFor({ text: "ok" }, { tools, messages })))
        const sent = emulator.requests[1]!.text
        assert.include(sent, name === "anthropic" ? digits : Json.quote(digits))
        assert.include(sent, Json.quote(result))
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-1 SES-11 whatever a conversation holds, the provider accepts it", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const call = (id: string) => ({ id, name: "client__a", arguments: "{}" })
        const result = (id: string, outcome: "success" | "unknown") =>
          ({ id, name: "client__a", outcome, content: text(`{"error":{"code":"x","message":"y"}}`) }) as const
        const messages: ReadonlyArray<Message> = [
          { role: "user", text: "first" },
          { role: "user", text: "  \n" },
          { role: "assistant", text: "\n\n", toolCalls: [call("a"), call("b")] },
          { role: "tool", results: [result("a", "success"), result("b", "unknown")] },
          { role: "assistant", text: "", toolCalls: [] },
          { role: "user", text: "third" },
          { role: "assistant", text: " ", toolCalls: [], provider: text(`{"adapter":"another"}`) },
          { role: "user", text: "fourth" },
          { role: "assistant", text: "fine", toolCalls: [] },
          { role: "user", text: "fifth" }
        ]
        assert.deepStrictEqual(HistoryCheck.check(messages), [])
        const answer = yield* askFor({ text: "ok" }, {
          messages,
          instructions: "Be brief.",
          tools: [Emulated.tool("client__a")]
        })
        assert.isTrue(Result.isSuccess(answer), JSON.stringify(emulator.requests[0]!.refusal))
        for (const said of ["first", "third", "fourth", "fine", "fifth", "Be brief."]) {
          assert.include(emulator.requests[0]!.text, Json.quote(said))
        }
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-1 thoughts go back to their own model as they were, and to no other", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const thought = "I had better look 🌍 first."
        const calls = [{ name: "client__a", arguments: "{}" }, { name: "client__a", arguments: `{"b":1}` }]
        const tools = [Emulated.tool("client__a")]
        const said = stored(
          Result.getOrThrow(yield* askFor({ reasoning: thought, text: ["So ", "be it."], calls }, { tools }))
        )
        assert.isDefined(said.provider)
        const messages: ReadonlyArray<Message> = [{ role: "user", text: "go" }, said, Emulated.results(said)]
        assert.deepStrictEqual(HistoryCheck.check(messages), [])
        assert.isTrue(Result.isSuccess(yield* askFor({ text: "ok" }, { tools, messages })))
        assert.include(emulator.requests[1]!.text, Json.quote(thought))
        const foreign = text(said.provider!.replace(/"model":"[^"]*"/, `"model":"another"`))
        const moved = messages.map((message) =>
          message.role === "assistant" ? { ...message, provider: foreign } : message
        )
        assert.isTrue(Result.isSuccess(yield* askFor({ text: "ok" }, { tools, messages: moved })))
        assert.notInclude(emulator.requests[2]!.text, thought)
        assert.include(emulator.requests[2]!.text, "So be it.")
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-1 E10 arguments that are no JSON are a call like any other", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const wrong = [`{"a":`, "nonsense", "[1]", `{"a":1}}`]
        const calls = wrong.map((wrong, index) => ({ id: `c${index}`, name: "client__a", arguments: wrong }))
        const tools = [Emulated.tool("client__a")]
        const events = Result.getOrThrow(yield* askFor({ calls }, { tools }))
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "ToolCall" ? [event.call.arguments] : []),
          wrong
        )
        const said = stored(events)
        const messages: ReadonlyArray<Message> = [{ role: "user", text: "go" }, said, Emulated.results(said)]
        assert.isTrue(Result.isSuccess(yield* askFor({ text: "ok" }, { tools, messages })))
        assert.isNull(emulator.requests[1]!.refusal)
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-4 DCL-10 names that the provider forbids have aliases on the wire, and nowhere else", () =>
      Effect.gen(function*() {
        const emulator = yield* ProviderEmulator
        const names = ["client__look.up", "client__café", `client__${"x".repeat(80)}`, "client__plain"]
        const tools = names.map((name) => Emulated.tool(name))
        yield* ask({ tools })
        const told = bodyOf(emulator).body.tools as ReadonlyArray<{ name?: string; function?: { name: string } }>
        const aliases = told.map((tool) => tool.name ?? tool.function!.name)
        assert.strictEqual(new Set(aliases).size, names.length)
        assert.strictEqual(aliases[3], "client__plain")
        const calls = aliases.map((alias, index) => ({ id: `c${index}`, name: alias, arguments: "{}" }))
        const said = stored(Result.getOrThrow(yield* askFor({ calls }, { tools })))
        assert.deepStrictEqual(said.toolCalls.map(({ name }) => name), names)
        const messages: ReadonlyArray<Message> = [{ role: "user", text: "go" }, said, Emulated.results(said)]
        assert.isTrue(Result.isSuccess(yield* askFor({ text: "ok" }, { tools, messages })))
        for (const alias of aliases) assert.include(bodyOf(emulator).text, Json.quote(alias))
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect("MDL-1 an answer without anything in it is an answer", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(Result.getOrThrow(yield* askFor({})), [
          { _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } }
        ])
      }).pipe(Effect.provide(Emulated.layer(name))))

    it.effect.prop(
      "MDL-1 SES-11 whatever conversation HistoryCheck accepts, the provider accepts",
      { turns: Schema.Array(Turn), instructions: Schema.NullOr(Schema.String) },
      ({ instructions, turns }) =>
        Effect.gen(function*() {
          const messages = conversation(turns)
          assert.deepStrictEqual(HistoryCheck.check(messages), [])
          const tools = [Emulated.tool("client__a"), Emulated.tool("client__b.c")]
          const asked = { messages, tools, instructions: instructions?.toWellFormed() ?? null }
          assert.isTrue(Result.isSuccess(yield* askFor({ text: "ok" }, asked)))
          assert.isNull(bodyOf(yield* ProviderEmulator).refusal)
        }).pipe(Effect.provide(Emulated.layer(name))),
      { arbitrary: { runs: 30 } }
    )

    it.effect.prop(
      "MDL-1 however an answer is cut into bytes, its text is the same",
      { said: Schema.String, chunkBytes: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 })) },
      ({ chunkBytes, said }) =>
        Effect.gen(function*() {
          const whole = said.toWellFormed()
          const events = Result.getOrThrow(yield* askFor({ text: whole, chunkBytes }))
          assert.strictEqual(stored(events).text, whole)
        }).pipe(Effect.provide(Emulated.layer(name))),
      { arbitrary: { runs: 20 } }
    )
  })
}
