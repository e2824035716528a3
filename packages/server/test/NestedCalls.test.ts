import { assert, describe, it } from "@effect/vitest"
import { type Record, StorageFailed } from "@errand/runtime"
import { SessionStore } from "@errand/server"
import { TestServer } from "@errand/testing"
import { Effect, Layer } from "effect"
import * as Rig from "./AgentRig.ts"

const { call } = Rig

/** A store whose sessions note each batch that was appended, and refuse those that `refuses` names. */
const noting = (refuses: (record: Record) => boolean = () => false) =>
  Effect.gen(function*() {
    const inner = yield* Effect.provide(SessionStore, SessionStore.layerMemory)
    const records: Array<Record> = []
    const create = Effect.map(inner.create, (session) => ({
      ...session,
      history: {
        ...session.history,
        append: (batch: ReadonlyArray<Record>) =>
          batch.some(refuses)
            ? Effect.fail(new StorageFailed({ message: "the disk is full" }))
            : Effect.andThen(session.history.append(batch), Effect.sync(() => records.push(...batch)))
      }
    }))
    return { inner, records, layer: Layer.succeed(SessionStore, { ...inner, create }) }
  })

/** The two tools that call others, each with one call of `client__a`. */
const outer = {
  call_tool: call("call_tool", { name: "client__a", arguments: {} }),
  run_code: call("run_code", { calls: [{ name: "client__a", arguments: {} }] })
}

describe("section 4: calls inside others", () => {
  for (const [name, made] of Object.entries(outer)) {
    it.effect(`SES-9 SES-10 BLT-3 WIR-36 a call that ${name} makes is recorded before it is published, and unknown after a crash`, () =>
      Effect.gen(function*() {
        const { inner, layer, records } = yield* noting()
        const { peer } = yield* Rig.start({ catalog: "compact", store: layer, script: [{ tool_calls: [made] }] })
        const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")])
        yield* peer.ok("turn.start", { session_id, prompt: "go" })
        yield* peer.event("client.tool.call")
        const crashed = yield* inner.create
        yield* crashed.history.append([...records])
        yield* crashed.close
        yield* Effect.flatMap(inner.open(crashed.sessionId), (session) => session.close)
        const { entries } = yield* inner.page({ sessionId: crashed.sessionId })
        assert.deepStrictEqual(
          entries.map((text) => JSON.parse(text)).flatMap((one) => one.kind === "tool" ? [[one.name, one.status]] : []),
          [["client__a", "unknown"], [name, "unknown"]]
        )
      }))

    it.effect(`SES-9 TRN-7 a call that ${name} makes and that cannot be recorded is not made, and the run fails`, () =>
      Effect.gen(function*() {
        const { layer } = yield* noting((record) => record.kind === "begun")
        const { peer } = yield* Rig.start({ catalog: "compact", store: layer, script: [{ tool_calls: [made] }] })
        const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")])
        const finished = yield* Rig.turn(peer, session_id)
        assert.strictEqual(finished.data.error?.code, "storage_failed")
        assert.deepStrictEqual(peer.events("client.tool.call"), [])
        assert.notInclude(peer.events("tool.activity").map((one) => one.name), "client__a")
      }))

    it.effect(`SES-6 BLT-3 a call that ${name} makes has one entry when it ends`, () =>
      Effect.gen(function*() {
        const { layer, records } = yield* noting()
        const { peer } = yield* Rig.start({
          catalog: "compact",
          store: layer,
          script: [{ tool_calls: [made] }, { text: "end" }]
        })
        const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")])
        yield* peer.ok("turn.start", { session_id, prompt: "go" })
        yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call"), { text: "ok" }))
        yield* peer.event("run.finished")
        const entries = (yield* Rig.history(peer, session_id)).filter(({ kind }) => kind === "tool")
        assert.deepStrictEqual(entries.map((one) => [one.name, one.status]), [["client__a", "success"], [
          name,
          "success"
        ]])
        assert.deepStrictEqual(
          records.map(({ kind }) => kind),
          ["user", "assistant", "begun", "activity", "result", "assistant", "run"]
        )
      }))
  }
})
