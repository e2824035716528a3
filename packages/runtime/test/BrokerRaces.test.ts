/**
 * Races of calls, answers, interruptions, deadlines, full output and the ends of runs, explored over random
 * interleavings of fibers under a virtual clock. Each case is a list of moves; moves of one burst run as fibers of their
 * own, so that they interleave.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Ids } from "@errand/protocol"
import type { Broker, CallAnswer, RunScope, ToolOutcome } from "@errand/runtime"
import { Arbitrary, Cause, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { type Door, identityOf, invocation, runScope, withBroker } from "./BrokerRig.ts"

const SLOTS = 3
const Which = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Yields = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
const Move = Schema.Union([
  Schema.Struct({
    move: Schema.Literal("call"),
    timeoutMs: Schema.Literals([10, 20, 30]),
    run: Schema.Literals([0, 1])
  }),
  Schema.Struct({ move: Schema.Literal("answer"), which: Which }),
  Schema.Struct({
    move: Schema.Literal("foreign"),
    which: Which,
    field: Schema.Literals(["run_id", "task_id", "call_id"])
  }),
  Schema.Struct({ move: Schema.Literal("interrupt"), which: Which }),
  Schema.Struct({ move: Schema.Literal("tick"), ms: Schema.Literals([1, 5, 10, 15]) }),
  Schema.Struct({ move: Schema.Literal("door"), open: Schema.Boolean }),
  Schema.Struct({
    move: Schema.Literal("end"),
    run: Schema.Literals([0, 1]),
    reason: Schema.Literals(["cancelled", "run_finished", "shutdown"])
  })
])
const Burst = Arbitrary.array(Arbitrary.schema(Schema.Struct({ yields: Yields, what: Move })), {
  minLength: 1,
  maxLength: 5
})
const Bursts = Arbitrary.array(Burst, { minLength: 1, maxLength: 8 })

interface Placed {
  readonly run: RunScope
  readonly fiber: Fiber.Fiber<ToolOutcome>
}

type Step = { readonly yields: number; readonly what: typeof Move.Type }

const play = (broker: Broker["Service"], door: Door, bursts: ReadonlyArray<ReadonlyArray<Step>>) =>
  Effect.gen(function*() {
    const runs = [runScope("run-0"), runScope("run-1")] as const
    const ended = new Set<number>()
    const placed: Array<Placed> = []
    const accepted = new Map<string, number>()
    const fresh = { status: "success", text: "fine" } as const

    const answer = (which: number, wrong: Partial<CallAnswer> = {}) => {
      const call = door.calls[which]
      if (call === undefined) return
      const taken = broker.accept({ ...identityOf(call), ...fresh, ...wrong }, () => {
        accepted.set(call.call_id, (accepted.get(call.call_id) ?? 0) + 1)
      })
      if (Object.keys(wrong).length > 0) assert.isFalse(taken, "a foreign answer was accepted")
    }
    const act = Effect.fnUntraced(function*({ what, yields }: Step) {
      for (let i = 0; i < yields; i++) yield* Effect.yieldNow
      switch (what.move) {
        case "call": {
          if (ended.has(what.run)) return
          const run = runs[what.run]!
          placed.push({ run, fiber: yield* Effect.forkDetach(broker.call(invocation(run, what.timeoutMs))) })
          return
        }
        case "answer":
          return answer(what.which)
        case "foreign":
          return answer(what.which, { [what.field]: "another" })
        case "interrupt":
          placed[what.which]?.fiber.interruptUnsafe()
          return
        case "tick":
          return yield* TestClock.adjust(what.ms)
        case "door":
          return what.open ? door.open() : door.close()
        case "end":
          if (ended.has(what.run)) return
          ended.add(what.run)
          runs[what.run]!.ending = what.reason
          for (const { fiber, run } of placed) if (run === runs[what.run]) fiber.interruptUnsafe()
      }
    })
    for (const burst of bursts) {
      yield* Effect.forEach(burst, act, { concurrency: "unbounded", discard: true })
      assert.isAtMost(broker.pending(), SLOTS)
    }
    door.open()
    yield* TestClock.adjust(1000)
    const exits = yield* Effect.forEach(placed, ({ fiber }) => Fiber.await(fiber))
    return { exits, placed, accepted }
  })

const check = (bursts: ReadonlyArray<ReadonlyArray<Step>>) =>
  withBroker((broker, door) =>
    Effect.gen(function*() {
      const { accepted, exits, placed } = yield* play(broker, door, bursts)

      // 1. Nothing stays pending, and every slot can be used again.
      assert.strictEqual(broker.pending(), 0)
      const again = yield* Effect.forEach(
        Array.from({ length: SLOTS }),
        () => Effect.forkChild(broker.call(invocation(runScope("after"))))
      )
      yield* Effect.yieldNow
      assert.strictEqual(broker.pending(), SLOTS, "a slot was lost")
      yield* Fiber.interruptAll(again)

      // 2. Each published call ends by exactly one accepted result or one notice, and the notice comes behind the call.
      const index = (name: string, id: Ids.CallId) =>
        door.sent.findIndex((one) => one.event === name && "call_id" in one.data && one.data.call_id === id)
      for (const { call_id } of door.calls) {
        const notices = door.cancels.filter((one) => one.call_id === call_id)
        assert.strictEqual((accepted.get(call_id) ?? 0) + notices.length, 1, `the end of ${call_id}`)
        if (notices.length > 0) assert.isAbove(index("client.tool.cancel", call_id), index("client.tool.call", call_id))
      }
      // 3. There is no notice for what was not published.
      for (const { call_id } of door.cancels) assert.isTrue(door.calls.some((one) => one.call_id === call_id))

      // 4. Outcomes, notices and answers tell the same story.
      const outcomes = { answered: 0, timeout: 0, interrupted: 0 }
      for (const exit of exits) {
        if (Exit.isFailure(exit)) {
          assert.isTrue(Cause.hasInterruptsOnly(exit.cause), "a call failed")
          outcomes.interrupted++
        } else if (exit.value._tag === "Success") outcomes.answered++
        else if (exit.value._tag === "Uncertain") outcomes.timeout++
        else assert.include(["client_tool_busy", "client_tool_timeout"], (exit.value as { code: string }).code)
      }
      const before = door.cancels.filter((one) => one.run_id !== "after")
      const timeouts = before.filter((one) => one.reason === "timeout").length
      // A fiber may be interrupted after its answer or its deadline has decided: then the decision stands on the wire.
      assert.isAtMost(outcomes.answered, accepted.size)
      assert.isAtMost(outcomes.timeout, timeouts)
      assert.isAtMost(before.length - timeouts, outcomes.interrupted)
      assert.isAtMost(accepted.size + before.length, placed.length)
      for (const one of before) {
        // A fiber that was interrupted by itself ends as cancelled, also in a run that ends for another reason later.
        const { ending } = placed.find(({ run }) => run.runId === one.run_id)!.run
        assert.include(["timeout", "cancelled", ending], one.reason)
      }
    }), SLOTS)

const title = "CAL-5 CAL-7 CAN-1 CAN-2 RES-5 RES-7 RES-9 every call ends exactly once, whatever interleaves"

describe("sections 9, 10 and 12: races", () => {
  it.effect.prop(`${title} (fixed seed)`, { bursts: Bursts }, ({ bursts }) => check(bursts), {
    arbitrary: { runs: 1000, seed: "errand", size: 30 }
  })
  it.effect.prop(`${title} (fresh seed)`, { bursts: Bursts }, ({ bursts }) => check(bursts), {
    arbitrary: { runs: 1000, seed: String(process.hrtime.bigint()), size: 30 }
  })
})
