import { assert, describe, it } from "@effect/vitest"
import type { ServerEvent } from "@errand/protocol"
import { Ids } from "@errand/protocol"
import { Outbox } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { call, completed, Counted, definition, FakeModel, harnessOf, type Says, stored, suspended } from "./Rig.ts"

const says: ReadonlyArray<Says> = [
  {
    text: "looking",
    calls: [
      call("c1", "lookup_record", { record_id: "7" }),
      call("a1", "delete_file", { path: "x" }),
      call("l1", "read_file", { path: "y" })
    ]
  },
  { text: "done" }
]

/** Both runs of a thread that is watched in some way; ids count, so that equal runs are equal values. */
const lifeOf = (watch: Layer.Layer<Outbox>) => {
  let ids = 0
  return Effect.gen(function*() {
    const tools = new Counted()
    const model = new FakeModel(says)
    const harness = yield* harnessOf(definition([tools.tool("read_file"), tools.tool("delete_file", "ask")]), model)
    const first = suspended(yield* harness.run({ prompt: "go", threadId: "t" }))
    const second = completed(
      yield* harness.resume(stored(first), {
        calls: { c1: { status: "success", value: { title: "seven" } } },
        approvals: { a1: { allow: true } }
      })
    )
    return { first, second, ran: tools.ran }
  }).pipe(Effect.provide(watch), Effect.provideService(Ids.Generator, () => `id-${++ids}`))
}

const silent: Outbox["Service"] = { enqueue: () => undefined, offer: () => false }

describe("harness 3: events", () => {
  it.effect("RUN-5 what a watcher sees, misses or refuses changes nothing in what the runs return", () =>
    Effect.gen(function*() {
      const events: Array<ServerEvent> = []
      const unwatched = yield* lifeOf(Outbox.layerDiscard)
      assert.deepStrictEqual(yield* lifeOf(Outbox.layerSink((event) => events.push(event))), unwatched)
      assert.deepStrictEqual(yield* lifeOf(Layer.succeed(Outbox, silent)), unwatched)
      assert.isAbove(events.length, 0)
    }))

  it.effect("RUN-5 events show a deferred call as running and end it in the run that has its answer", () =>
    Effect.gen(function*() {
      const events: Array<ServerEvent> = []
      const { first, second } = yield* lifeOf(Outbox.layerSink((event) => events.push(event)))
      const shown = (runId: string) =>
        events.flatMap((event) =>
          event.event === "tool.activity" && event.data.run_id === runId
            ? [`${event.data.name} ${event.data.status}`]
            : []
        ).sort()
      assert.deepStrictEqual(shown(first.runId), [
        "delete_file running",
        "lookup_record running",
        "read_file running",
        "read_file success"
      ])
      assert.deepStrictEqual(shown(second.runId), [
        "delete_file running",
        "delete_file success",
        "lookup_record running",
        "lookup_record success"
      ])
      // What is needed to go on is in the result alone.
      assert.notInclude(JSON.stringify(events), first.suspension.digest)
    }))
})
