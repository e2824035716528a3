import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@errand/client"
import { AgentRunner, Conversation } from "@errand/runtime"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { calls, flushed, scripted } from "./RunnerRig.ts"

/** A runner that outlives its runs, with a tool that never answers and tells when it is interrupted. */
const holding = Effect.gen(function*() {
  const began = yield* Deferred.make<void>()
  const trail: Array<string> = []
  const hold = Tool.make("hold", { description: "Holds.", timeoutMs: 1000 }).handle(() =>
    Effect.andThen(Deferred.succeed(began, undefined), Effect.never).pipe(
      Effect.onInterrupt(() => Effect.sync(() => trail.push("interrupted")))
    )
  )
  const model = scripted(calls(["client__hold"]), { text: "on" })
  const context = yield* Layer.build(AgentRunner.layerOf([hold]).pipe(Layer.provide(model)))
  const history = yield* Conversation.memory()
  const run = yield* Effect.forkChild(Effect.provide(AgentRunner.turn(history, "go"), context))
  yield* Deferred.await(began)
  return { run, trail }
})

describe("section 12: handlers of a runner that outlives its runs", () => {
  it.effect("CAN-2 CLI-2 a cancelled run interrupts its handler, and waits for that", () =>
    Effect.gen(function*() {
      const { run, trail } = yield* holding
      yield* Fiber.interrupt(run)
      assert.deepStrictEqual(trail, ["interrupted"])
    }))

  it.effect("CAL-6 CLI-2 a handler is interrupted at its deadline, and the run goes on", () =>
    Effect.gen(function*() {
      const { run, trail } = yield* holding
      yield* TestClock.adjust(999)
      yield* flushed
      assert.deepStrictEqual(trail, [])
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(run)).text, "on")
      assert.deepStrictEqual(trail, ["interrupted"])
    }))
})
