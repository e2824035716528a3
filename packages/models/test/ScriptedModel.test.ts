import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@errand/protocol"
import type { JsonText } from "@errand/protocol"
import type { Message, ModelEvent, ModelRequest } from "@errand/runtime"
import { ModelFailed, ModelTurn } from "@errand/runtime"
import { Effect, Exit, Fiber, Layer, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Script, ScriptedModel } from "../src/index.ts"

const counting = Layer.sync(Ids.Generator, () => {
  let made = 0
  return () => `fresh-${++made}`
})

const scripted = (body: object) => {
  const text = JSON.stringify({ format: "errand.script", version: 1, root: [], ...body })
  return ScriptedModel.layer(Result.getOrThrow(Script.decode(text))).pipe(Layer.provide(counting))
}

const request: ModelRequest = {
  instructions: null,
  messages: [{ role: "user", text: "hello" }],
  tools: [],
  agent: null
}

const events = (of: Partial<ModelRequest> = {}) =>
  Effect.flatMap(ModelTurn, (model) => Stream.runCollect(model.turn({ ...request, ...of })))

const text = (of: Partial<ModelRequest> = {}) =>
  Effect.map(events(of), (all) => all.map((event) => event._tag === "TextDelta" ? event.text : "").join(""))

const finish: ModelEvent = { _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } }

describe("SCR-1 which step answers", () => {
  it.effect("SCR-1 each request takes the next step of its agent, over all turns", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* text(), "r1")
      assert.strictEqual(yield* text({ agent: "a" }), "a1")
      assert.strictEqual(yield* text({ agent: "b" }), "b1")
      assert.strictEqual(yield* text({ messages: [] }), "r2")
      assert.strictEqual(yield* text({ agent: "a" }), "a2")
    }).pipe(Effect.provide(scripted({
      root: [{ text: "r1" }, { text: "r2" }],
      tasks: { a: [{ text: "a1" }, { text: "a2" }], b: [{ text: "b1" }] }
    }))))

  it.effect("SCR-1 a step is taken when the answer is read, once for each reading", () =>
    Effect.gen(function*() {
      const model = yield* ModelTurn
      assert.deepStrictEqual([model.provider, model.name], ["script", "script"])
      const turn = model.turn(request)
      assert.strictEqual(yield* text(), "one")
      assert.deepStrictEqual(yield* Stream.runCollect(turn), [{ _tag: "TextDelta", text: "two" }, finish])
      assert.deepStrictEqual(yield* Stream.runCollect(turn), [{ _tag: "TextDelta", text: "three" }, finish])
    }).pipe(Effect.provide(scripted({ root: [{ text: "one" }, { text: "two" }, { text: "three" }] }))))

  it.effect("SCR-2 a step with times answers that often", () =>
    Effect.gen(function*() {
      const said = yield* Effect.replicateEffect(text(), 4)
      assert.deepStrictEqual(said, ["a:hello", "a:hello", "a:hello", "b"])
    }).pipe(Effect.provide(scripted({ root: [{ text: "a:{{prompt}}", times: 3 }, { text: "b" }] }))))

  it.effect("SCR-4 an exhausted script fails the request and goes on failing at the same step", () =>
    Effect.gen(function*() {
      yield* Effect.replicateEffect(text(), 3)
      for (
        const [agent, place] of [[null, "step 4 of root"], [null, "step 4 of root"], ["a", "step 1 of a"], [
          "x",
          "step 1 of x"
        ]] as const
      ) {
        const failed = yield* Effect.flip(events({ agent }))
        assert.deepStrictEqual([failed.code, failed.message], ["model_failed", `script exhausted at ${place}`])
      }
    }).pipe(Effect.provide(scripted({ root: [{}, { times: 2 }], tasks: { a: [] } }))))
})

describe("SCR-2 what a step answers", () => {
  it.effect("SCR-2 texts come first, then calls with their raw arguments, then the end", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* events(), [
        { _tag: "TextDelta", text: "a" },
        { _tag: "TextDelta", text: "b" },
        { _tag: "ToolCall", call: { id: "c1", name: "client__a", arguments: `{"n":1}` } },
        { _tag: "ToolCall", call: { id: "fresh-1", name: "no such tool!", arguments: "{broken" } },
        finish
      ])
    }).pipe(Effect.provide(scripted({
      root: [{
        deltas: ["a", "", "b"],
        tool_calls: [{ id: "c1", name: "client__a", arguments: { n: 1 } }, {
          name: "no such tool!",
          arguments_text: "{broken"
        }]
      }]
    }))))

  it.effect("SCR-2 a call without id gets a fresh one in each request, a given id is kept", () =>
    Effect.gen(function*() {
      const ids = (yield* Effect.replicateEffect(events(), 2)).flat().flatMap((event) =>
        event._tag === "ToolCall" ? [event.call.id] : []
      )
      assert.deepStrictEqual(ids, ["fresh-1", "same", "fresh-2", "same"])
    }).pipe(Effect.provide(scripted({
      root: [{ tool_calls: [{ name: "x", arguments: {} }, { id: "same", name: "x", arguments: {} }], times: 2 }]
    }))))

  it.effect("SCR-2 an empty step answers nothing but the end", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* events(), [finish])
    }).pipe(Effect.provide(scripted({ root: [{}] }))))

  it.effect("SCR-2 TRN-7 an error fails the request after the rest of its step, and the next request goes on", () =>
    Effect.gen(function*() {
      const model = yield* ModelTurn
      const read: Array<string> = []
      const failed = yield* model.turn(request).pipe(
        Stream.runForEach((event) => Effect.sync(() => read.push(event._tag))),
        Effect.flip
      )
      assert.deepStrictEqual(read, ["TextDelta"])
      assert.deepStrictEqual(failed, new ModelFailed({ code: "model_failed", message: "out", retryable: false }))
      const again = yield* Effect.flip(events())
      assert.deepStrictEqual(again, new ModelFailed({ code: "model_failed", message: "busy", retryable: true }))
      assert.strictEqual(yield* text(), "fine")
    }).pipe(Effect.provide(scripted({
      root: [{ text: "half", error: { message: "out" } }, { error: { message: "busy", retryable: true } }, {
        text: "fine"
      }]
    }))))

  it.effect("SCR-2 a delay comes before the answer, to the millisecond", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(text(), { startImmediately: true })
      yield* TestClock.adjust(999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(fiber), "late")
    }).pipe(Effect.provide(scripted({ root: [{ text: "late", delay_ms: 1000 }] }))))

  it.effect("SCR-2 a delay ends when it is interrupted, and its step is spent", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(text(), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      assert.strictEqual(yield* text(), "next")
    }).pipe(Effect.provide(scripted({ root: [{ text: "never", delay_ms: 3_600_000 }, { text: "next" }] }))))

  it.effect("SCR-3 replacements see the request as it is", () =>
    Effect.gen(function*() {
      const results: Message = {
        role: "tool",
        results: [{
          id: "c",
          name: "n",
          outcome: "failure",
          content: `{"error":{"code":"x","message":"y"}}` as JsonText
        }]
      }
      assert.strictEqual(
        yield* text({ messages: [results] }),
        `[{"id":"c","name":"n","outcome":"failure","result":{"error":{"code":"x","message":"y"}}}]`
      )
      assert.strictEqual(yield* text({ agent: "t", messages: [{ role: "user", text: "for you" }] }), "t: for you")
    }).pipe(Effect.provide(scripted({ root: [{ text: "{{results}}" }], tasks: { t: [{ text: "t: {{prompt}}" }] } }))))
})
