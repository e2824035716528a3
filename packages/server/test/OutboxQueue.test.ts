import { assert, describe, it } from "@effect/vitest"
import { type Events, Ids } from "@errand/protocol"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { OutboxQueue } from "../src/OutboxQueue.ts"

/** A queue over a pipe that takes what was written when it is told to. */
const rig = Effect.gen(function*() {
  const written: Array<string> = []
  const untaken: Array<() => void> = []
  const instanceId = (yield* Ids.Generator)() as Ids.InstanceId
  const pipe = {
    write: (text: string, done: () => void) => {
      written.push(text)
      untaken.push(done)
    }
  }
  const queue = Context.get(yield* Layer.build(OutboxQueue.layer(pipe, instanceId)), OutboxQueue)
  const take = () => untaken.splice(0).forEach((done) => done())
  const told = () => written.join("").split("\n").slice(0, -1).map((line) => JSON.parse(line))
  return { queue, take, told, written }
})

const event = (n: number): Events.ServerEvent => ({
  event: "message.delta",
  data: {
    session_id: "s" as Ids.SessionId,
    run_id: "r" as Ids.RunId,
    message_id: "m" as Ids.MessageId,
    text: String(n)
  }
})
const settle = Effect.yieldNow

describe("section 6: the output queue", () => {
  it.effect("OUT-1 32 frames are in the queue or on their way; the next one enters when one has left", () =>
    Effect.gen(function*() {
      const { queue, take, told } = yield* rig
      const entered: Array<number> = []
      for (let n = 1; n <= 31; n++) assert.isUndefined(queue.enqueue(event(n)))
      assert.isTrue(queue.hasRoom())
      assert.isTrue(queue.offer(event(32)))
      // written, but not yet in the pipe: it still counts
      yield* settle
      assert.strictEqual(told().length, 32)
      assert.isFalse(queue.hasRoom())
      assert.isFalse(queue.offer(event(0)))
      for (const n of [33, 34]) assert.isDefined(queue.enqueue(event(n), () => entered.push(n)))
      yield* settle
      assert.deepStrictEqual(entered, [])
      take()
      yield* settle
      assert.deepStrictEqual(entered, [33, 34])
      assert.deepStrictEqual(
        told().map(({ data, seq }) => [seq, data.text]),
        Array.from({ length: 34 }, (_, i) => [
          i + 1,
          String(i + 1)
        ])
      )
    }))

  it.effect("OUT-1 responses and events leave in the order in which they were queued, however the pipe takes them", () =>
    Effect.gen(function*() {
      const { queue, take, written } = yield* rig
      const expected: Array<string> = []
      for (let n = 0; n < 200; n++) {
        const text = `{"n":${n},"x":"${"x".repeat((n * 37) % 3000)}"}`
        queue.corked(() => queue.respond(text))
        expected.push(text)
        if (n % 7 === 0) yield* settle
        if (n % 3 === 0) take()
      }
      for (let i = 0; i < 20; i++) {
        take()
        yield* settle
      }
      assert.deepStrictEqual(written.join("").split("\n").slice(0, -1), expected)
    }))

  it.effect("OUT-2 a frame that waits for room has its deadline from the moment it was offered", () =>
    Effect.gen(function*() {
      const { queue, take } = yield* rig
      for (let n = 0; n < 32; n++) queue.enqueue(event(n))
      yield* settle
      yield* TestClock.adjust("1500 millis")
      queue.enqueue(event(32))
      take()
      yield* settle
      // it entered just now, but was offered at 1500
      yield* TestClock.adjust("1999 millis")
      assert.isTrue(queue.hasRoom())
      const lost = yield* Effect.forkChild(queue.lost)
      yield* TestClock.adjust("1 millis")
      yield* settle
      assert.deepStrictEqual(lost.pollUnsafe()?._tag, "Success")
    }))

  it.effect("CAN-1 a frame that is withdrawn while it waits is never sent and takes no seq", () =>
    Effect.gen(function*() {
      const { queue, take, told } = yield* rig
      for (let n = 1; n <= 32; n++) queue.enqueue(event(n))
      const waiting = queue.enqueue(event(33))!
      queue.enqueue(event(34))
      assert.isTrue(waiting.withdraw())
      assert.isFalse(waiting.withdraw())
      yield* settle
      take()
      yield* settle
      assert.deepStrictEqual([told().at(-1).seq, told().at(-1).data.text], [33, "34"])
    }))
})
