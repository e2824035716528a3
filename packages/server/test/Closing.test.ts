import { assert, describe, it } from "@effect/vitest"
import { serve, Startup } from "@errand/server"
import { Duplex, Peer } from "@errand/testing"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

/** A server whose `initialize` takes as long as `starting` does. */
const start = Effect.fnUntraced(function*(starting: Parameters<typeof Startup.layerOf>[0]) {
  const duplex = yield* Duplex.make
  const peer = new Peer(duplex)
  const fiber = yield* Effect.forkScoped(Effect.provide(serve(duplex.pipes), Startup.layerOf(starting)))
  return { duplex, peer, closed: Fiber.join(fiber) }
})

const endings: Record<string, (duplex: Duplex.Duplex, peer: Peer) => void> = {
  input_closed: (duplex) => duplex.end(),
  terminated: (duplex) => duplex.terminate(),
  internal_error: (duplex) => duplex.fail(),
  input_overflow: (duplex) => duplex.write(" ".repeat(65_537)),
  shutdown: (_, peer) => void peer.post("shutdown", {}, "bye")
}

/** What an `initialize` waits for, and after how many milliseconds of closing it must be answered. */
const slow: Record<string, readonly [starting: Effect.Effect<never>, ms: number]> = {
  "takes long": [Effect.never, 500],
  "cannot be interrupted": [Effect.uninterruptible(Effect.never), 1600]
}

describe("section 6: requests in flight when the server closes", () => {
  for (const [reason, end] of Object.entries(endings)) {
    for (const [how, [starting, ms]] of Object.entries(slow)) {
      it.effect(`REQ-6 WIR-6 CLS-3 ${reason}: an initialize that ${how} is refused before connection.closing`, () =>
        Effect.gen(function*() {
          const { closed, duplex, peer } = yield* start(starting)
          const id = peer.post("initialize", { required_capabilities: [] })
          assert.strictEqual((yield* peer.ok("status"))["state"], "initializing")
          end(duplex, peer)
          yield* Effect.yieldNow
          const answered = yield* Effect.forkChild(peer.response(id))
          yield* TestClock.adjust(ms)
          assert.strictEqual((yield* Fiber.join(answered)).error?.code, "shutting_down")
          assert.strictEqual(yield* closed, reason)
          assert.strictEqual(peer.frames.filter((frame) => "id" in frame && frame.id === id).length, 1)
          assert.include(peer.frames.at(-1), { event: "connection.closing", seq: 1 })
        }))
    }
  }
})
