import { assert, describe, it } from "@effect/vitest"
import { type Events, Ids } from "@errand/protocol"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { OutboxQueue, type OutputPipe } from "../src/OutboxQueue.ts"

const queueOver = Effect.fnUntraced(function*(pipe: OutputPipe) {
  const instanceId = (yield* Ids.Generator)() as Ids.InstanceId
  return Context.get(yield* Layer.build(OutboxQueue.layer(pipe, instanceId)), OutboxQueue)
})

/** A queue over a pipe that takes what was written when it is told to. */
const rig = Effect.gen(function*() {
  const written: Array<string> = []
  const untaken: Array<() => void> = []
  const queue = yield* queueOver({
    write: (text, done) => {
      written.push(text)
      untaken.push(done)
    }
  })
  const take = () => {
    const dones = untaken.splice(0)
    for (const done of dones) done()
    return dones.length
  }
  const takeAll = Effect.gen(function*() {
    while (take() > 0) yield* settle
  })
  const told = () => written.join("").split("\n").slice(0, -1).map((line) => JSON.parse(line))
  return { queue, take, takeAll, told, written }
})

/** A queue over a full pipe of the system: it takes bytes as they are read, and collects what is written meanwhile. */
const slowRig = Effect.gen(function*() {
  let text = ""
  let writing: Array<() => void> = []
  const collected: Array<readonly [string, () => void]> = []
  const queue = yield* queueOver({
    write: (more, done) => {
      collected.push([more, done])
      if (text === "") next()
    }
  })
  const next = () => {
    const all = collected.splice(0)
    text = all.map(([one]) => one).join("")
    writing = all.map(([, done]) => done)
  }
  const read = (bytes: number): void => {
    while (text !== "" && bytes > 0) {
      const taken = Math.min(bytes, text.length)
      text = text.slice(taken)
      bytes -= taken
      if (text !== "") return
      const dones = writing
      next()
      for (const done of dones) done()
    }
  }
  const lost = yield* Effect.forkChild(queue.lost)
  return { queue, read, isLost: () => lost.pollUnsafe() !== undefined }
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
      const { queue, takeAll, told } = yield* rig
      const entered: Array<number> = []
      for (let n = 1; n <= 31; n++) assert.isUndefined(queue.enqueue(event(n)))
      assert.isTrue(queue.hasRoom())
      assert.isTrue(queue.offer(event(32)))
      // written, but not yet in the pipe: it still counts
      yield* settle
      assert.isAbove(told().length, 0)
      assert.isFalse(queue.hasRoom())
      assert.isFalse(queue.offer(event(0)))
      for (const n of [33, 34]) assert.isDefined(queue.enqueue(event(n), () => entered.push(n)))
      yield* settle
      assert.deepStrictEqual(entered, [])
      yield* takeAll
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
      const { queue, take, takeAll, written } = yield* rig
      const expected: Array<string> = []
      for (let n = 0; n < 200; n++) {
        const text = `{"n":${n},"x":"${"x".repeat((n * 37) % 3000)}"}`
        queue.corked(() => queue.respond(text))
        expected.push(text)
        if (n % 7 === 0) yield* settle
        if (n % 3 === 0) take()
      }
      yield* takeAll
      assert.deepStrictEqual(written.join("").split("\n").slice(0, -1), expected)
    }))

  it.effect("OUT-2 a frame that waits for room has its deadline from the moment it was offered", () =>
    Effect.gen(function*() {
      const { queue, take } = yield* rig
      for (let n = 0; n < 32; n++) queue.enqueue(event(n))
      yield* settle
      yield* TestClock.adjust("1500 millis")
      queue.enqueue(event(32))
      // all but the last one: it has a pipe of its own age
      while (take() > 0 && !queue.hasRoom()) yield* settle
      // it entered just now, but was offered at 1500
      yield* TestClock.adjust("1999 millis")
      assert.isTrue(queue.hasRoom())
      const lost = yield* Effect.forkChild(queue.lost)
      yield* TestClock.adjust("1 millis")
      yield* settle
      assert.deepStrictEqual(lost.pollUnsafe()?._tag, "Success")
    }))

  it.effect("OUT-1 what a pipe takes at once leaves in pieces of about 4 KB, also after it was slow once", () =>
    Effect.gen(function*() {
      const sizes: Array<number> = []
      let untaken: (() => void) | undefined
      let slow = false
      const queue = yield* queueOver({
        write: (text, done) => {
          sizes.push(text.length)
          if (slow) untaken = done
          else done()
        }
      })
      const wrote = (frames: number) => {
        queue.corked(() => {
          for (let n = 0; n < frames; n++) queue.respond("x".repeat(999))
        })
        return sizes.splice(0)
      }
      assert.deepStrictEqual(wrote(7), [5000, 2000])
      queue.respond("x".repeat(999))
      yield* settle
      assert.deepStrictEqual(sizes.splice(0), [1000])
      slow = true
      assert.deepStrictEqual(wrote(7), [5000])
      slow = false
      untaken?.()
      assert.deepStrictEqual(sizes.splice(0), [1000, 1000])
      assert.deepStrictEqual(wrote(7), [5000, 2000])
    }))

  it.effect("OUT-2 a frame's deadline follows its own bytes, whatever was offered behind it", () =>
    Effect.gen(function*() {
      const { isLost, queue, read } = yield* slowRig
      const offer = (frames: number, characters: number) => {
        for (let n = 0; n < frames; n++) queue.respond("x".repeat(characters - 1))
      }
      offer(5, 8000)
      yield* settle
      yield* TestClock.adjust("1500 millis")
      // a small frame and large ones: those that wait together are not of one age
      offer(1, 100)
      offer(18, 16_000)
      yield* settle
      // the first 40,000 bytes are read by 1800, all by 3250
      for (let at = 1520; at <= 3250; at += 10) {
        yield* TestClock.adjust("10 millis")
        read(2000)
        yield* settle
        assert.isFalse(isLost(), `lost at ${at}`)
      }
      assert.isTrue(queue.hasRoom())
      let drained = false
      yield* Effect.forkChild(Effect.tap(queue.drained, () => Effect.sync(() => drained = true)))
      yield* settle
      assert.isTrue(drained)
    }))

  it.effect("OUT-2 a reader that takes a little now and then does not move a deadline", () =>
    Effect.gen(function*() {
      const { isLost, queue, read } = yield* slowRig
      for (let n = 0; n < 20; n++) queue.respond("x".repeat(1000))
      yield* settle
      for (let at = 100; at < 2000; at += 100) {
        yield* TestClock.adjust("100 millis")
        read(1000)
        yield* settle
      }
      assert.isFalse(isLost())
      yield* TestClock.adjust("100 millis")
      yield* settle
      assert.isTrue(isLost())
    }))

  it.effect("OUT-1 the slot of a frame is free when its own bytes are taken, though more was written behind it", () =>
    Effect.gen(function*() {
      const { queue, read } = yield* slowRig
      for (let n = 0; n < 32; n++) {
        queue.respond("x".repeat(4999))
        yield* settle
      }
      for (let n = 0; n < 3; n++) {
        assert.isFalse(queue.hasRoom())
        read(5000)
        assert.isTrue(queue.hasRoom())
        queue.respond("x".repeat(4999))
        yield* settle
      }
    }))

  it.effect("CAN-1 a frame that is withdrawn while it waits is never sent and takes no seq", () =>
    Effect.gen(function*() {
      const { queue, takeAll, told } = yield* rig
      for (let n = 1; n <= 32; n++) queue.enqueue(event(n))
      const waiting = queue.enqueue(event(33))!
      queue.enqueue(event(34))
      assert.isTrue(waiting.withdraw())
      assert.isFalse(waiting.withdraw())
      yield* settle
      yield* takeAll
      assert.deepStrictEqual([told().at(-1).seq, told().at(-1).data.text], [33, "34"])
    }))
})
