import { assert, describe, it } from "@effect/vitest"
import { type Ids, type JsonText } from "@errand/protocol"
import type { CallAnswer, ToolOutcome } from "@errand/runtime"
import { Clock, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { identityOf, invocation, runScope, withBroker } from "./BrokerRig.ts"

const success = (text = "fine"): Pick<CallAnswer, "status" | "text"> => ({ status: "success", text })
const ignore = () => {}

describe("section 9: client.tool.call", () => {
  it.effect("CAL-1 CAL-3 a call is published with its whole identity and a fresh id", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const run = runScope()
        const args = `{"big":9007199254740993}` as JsonText
        const task = { taskId: "task" as Ids.TaskId, subagentId: "agent" as Ids.SubagentId }
        yield* Effect.forkScoped(broker.call(invocation(run, 5000, { arguments: args }, task)))
        yield* Effect.forkScoped(broker.call(invocation(run, 5000, { arguments: args }, task)))
        yield* Effect.yieldNow
        assert.deepStrictEqual(
          door.calls,
          ["call-1", "call-2"].map((call_id) => ({
            session_id: run.sessionId,
            run_id: run.runId,
            call_id: call_id as Ids.CallId,
            task_id: task.taskId,
            subagent_id: task.subagentId,
            name: "client__tool",
            arguments: args,
            timeout_ms: 5000
          }))
        )
      })
    ))

  it.effect("CAL-5 the call over the limit is busy at once, is not published, and a freed slot serves the next", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const run = runScope()
        const first = yield* Effect.forkChild(broker.call(invocation(run)))
        yield* Effect.forkChild(broker.call(invocation(run)))
        yield* Effect.yieldNow
        const busy = yield* broker.call(invocation(run))
        assert.include(busy, { _tag: "Refused", code: "client_tool_busy" })
        assert.strictEqual(door.calls.length, 2)
        assert.isTrue(broker.accept({ ...identityOf(door.calls[0]!), ...success() }, ignore))
        yield* Fiber.join(first)
        yield* Effect.forkChild(broker.call(invocation(run)))
        yield* Effect.yieldNow
        assert.strictEqual(door.calls.length, 3)
        assert.strictEqual(broker.pending(), 2)
      }), 2))

  it.effect("CAL-6 a call nobody answers ends at its deadline and not before, with one notice", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(broker.call(invocation(runScope(), 1000)))
        yield* TestClock.adjust("999 millis")
        assert.strictEqual(broker.pending(), 1)
        yield* TestClock.adjust("1 millis")
        const outcome = yield* Fiber.join(fiber)
        assert.include(outcome, { _tag: "Uncertain", code: "client_tool_timeout" })
        assert.match((outcome as Extract<ToolOutcome, { _tag: "Uncertain" }>).message, /may have executed/)
        assert.deepStrictEqual(door.cancels, [{ ...identityOf(door.calls[0]!), reason: "timeout" }])
        assert.isFalse(broker.accept({ ...identityOf(door.calls[0]!), ...success() }, ignore))
      })
    ))

  it.effect("CAL-6 each of several deadlines is kept, whatever the order in which they were set", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const run = runScope()
        for (const timeoutMs of [3000, 1000, 2000, 1500]) {
          yield* Effect.forkChild(broker.call(invocation(run, timeoutMs)))
        }
        yield* Effect.yieldNow
        const ended: Array<[number, string]> = []
        for (let at = 500; at <= 3000; at += 500) {
          yield* TestClock.adjust("500 millis")
          for (const { call_id } of door.cancels.slice(ended.length)) ended.push([at, call_id])
        }
        assert.deepStrictEqual(ended, [[1000, "call-2"], [1500, "call-4"], [2000, "call-3"], [3000, "call-1"]])
      })
    ))

  it.effect("CAL-6 a result read after the deadline is stale although no timer has fired yet", () => {
    // A clock that went on while nothing ran, as when the whole process was stopped.
    let skipped = 0n
    return withBroker((broker, door) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(broker.call(invocation(runScope(), 1000)))
        yield* Effect.yieldNow
        skipped = 1_000_000_000n
        assert.isFalse(broker.accept({ ...identityOf(door.calls[0]!), ...success() }, ignore))
        assert.include(yield* Fiber.join(fiber), { code: "client_tool_timeout" })
        assert.deepStrictEqual(door.cancels.map(({ reason }) => reason), ["timeout"])
      })
    ).pipe(Effect.updateService(Clock.Clock, (clock) => ({
      ...clock,
      sleep: (duration) => clock.sleep(duration),
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() + skipped
    })))
  })

  it.effect("CAL-6 CAN-1 WIR-12 a call that found no room before its deadline is told as not executed and gets no notice", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        door.close()
        const fiber = yield* Effect.forkChild(broker.call(invocation(runScope(), 1000)))
        yield* TestClock.adjust("1 seconds")
        const outcome = yield* Fiber.join(fiber)
        assert.include(outcome, { _tag: "Refused", code: "client_tool_timeout" })
        door.open()
        assert.deepStrictEqual(door.sent, [])
      })
    ))
})

describe("section 10: client.tool.result", () => {
  it.effect("RES-3 CAL-7 WIR-13 the first valid result wins, is acknowledged before the run goes on, and the second is stale", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const order: Array<string> = []
        const fiber = yield* Effect.forkChild(
          Effect.tap(broker.call(invocation(runScope())), () => Effect.sync(() => order.push("goes on")))
        )
        yield* Effect.yieldNow
        const answer: CallAnswer = { ...identityOf(door.calls[0]!), ...success("one"), structured: "null" as JsonText }
        assert.isTrue(broker.accept(answer, () => order.push("acknowledged")))
        assert.isFalse(broker.accept({ ...answer, text: "two" }, () => order.push("twice")))
        assert.deepStrictEqual(yield* Fiber.join(fiber), {
          _tag: "Success",
          text: "one",
          structured: "null" as JsonText
        })
        assert.deepStrictEqual(order, ["acknowledged", "goes on"])
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(door.cancels, [])
      })
    ))

  it.effect("RES-5 any field of the identity that differs leaves the call pending", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        yield* Effect.forkScoped(broker.call(invocation(runScope())))
        yield* Effect.yieldNow
        const identity = identityOf(door.calls[0]!)
        for (const field of ["session_id", "run_id", "call_id", "task_id", "subagent_id"] as const) {
          assert.isFalse(broker.accept({ ...identity, [field]: "other", ...success() }, ignore), field)
        }
        assert.strictEqual(broker.pending(), 1)
        assert.isTrue(broker.accept({ ...identity, ...success() }, ignore))
      })
    ))

  it.effect("RES-9 faults A1 answers in any order each wake their own call", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const run = runScope()
        const all = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3], () => broker.call(invocation(run)), { concurrency: "unbounded" })
        )
        yield* Effect.yieldNow
        for (const i of [2, 0, 1]) {
          broker.accept({ ...identityOf(door.calls[i]!), ...success(`answer ${i}`) }, ignore)
        }
        assert.deepStrictEqual((yield* Fiber.join(all)).map((one) => "text" in one && one.text), [
          "answer 0",
          "answer 1",
          "answer 2"
        ])
      })
    ))

  it.effect("faults A11 a client that answers while the call is being published is heard", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const push = door.sent.push.bind(door.sent)
        door.sent.push = (...events) => {
          const length = push(...events)
          queueMicrotask(() => broker.accept({ ...identityOf(door.calls[0]!), ...success("at once") }, ignore))
          return length
        }
        assert.include(yield* broker.call(invocation(runScope())), { _tag: "Success", text: "at once" })
      })
    ))
})

describe("section 12: cancellation", () => {
  for (const reason of ["cancelled", "run_finished", "shutdown"] as const) {
    it.effect(`CAN-1 CAN-2 interrupting the waiting fiber cancels the call with ${reason}`, () =>
      withBroker((broker, door) =>
        Effect.gen(function*() {
          const run = runScope()
          const fiber = yield* Effect.forkChild(broker.call(invocation(run)))
          yield* Effect.yieldNow
          run.ending = reason
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(door.cancels, [{ ...identityOf(door.calls[0]!), reason }])
          assert.isFalse(broker.accept({ ...identityOf(door.calls[0]!), ...success() }, ignore))
          assert.strictEqual(broker.pending(), 0)
        })
      ))
  }

  it.effect("CAN-1 a call interrupted before it entered the queue is never published and gets no notice", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        door.close()
        const fiber = yield* Effect.forkChild(broker.call(invocation(runScope())))
        yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        door.open()
        assert.deepStrictEqual(door.sent, [])
      })
    ))

  it.effect("CAN-2 a lost race and a closed scope cancel their calls", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        yield* Effect.raceFirst(broker.call(invocation(runScope())), Effect.yieldNow)
        yield* Effect.scoped(Effect.andThen(Effect.forkScoped(broker.call(invocation(runScope()))), Effect.yieldNow))
        assert.deepStrictEqual(door.cancels.map(({ reason }) => reason), ["cancelled", "cancelled"])
        assert.strictEqual(broker.pending(), 0)
      })
    ))

  it.effect("CAL-7 a call whose result was accepted is not cancelled by an interruption that comes behind", () =>
    withBroker((broker, door) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(
          Effect.uninterruptibleMask((restore) => restore(broker.call(invocation(runScope()))))
        )
        yield* Effect.yieldNow
        broker.accept({ ...identityOf(door.calls[0]!), ...success() }, ignore)
        fiber.interruptUnsafe()
        assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
        assert.deepStrictEqual(door.cancels, [])
      })
    ))
})
