import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@errand/models"
import { type Parts, serve, SessionStore, Settings, Startup } from "@errand/server"
import { Duplex, Peer, TestServer } from "@errand/testing"
import { Effect } from "effect"

/** A server whose configuration is faulty until it is mended. */
const faulty = Effect.gen(function*() {
  let mended = false
  const parts: Parts = {
    settings: { instructions: null, permissions: [], runTimeoutMs: null, turnLimit: null, requestIds: 64 },
    model: ScriptedModel.layer({ root: [], tasks: new Map() }),
    store: SessionStore.layerMemory,
    locals: []
  }
  const start = Effect.suspend(() =>
    mended ? Effect.succeed(parts) : Effect.fail(new Settings.ConfigurationInvalid({ message: "model: is away" }))
  )
  const duplex = yield* Duplex.make
  yield* Effect.forkScoped(Effect.provide(serve(duplex.pipes), Startup.layerOf(start)))
  return { peer: new Peer(duplex), mend: () => mended = true }
})

const asking = (client_tools: ReadonlyArray<object>, ...more: ReadonlyArray<string>) => ({
  required_capabilities: ["client.tools", ...more],
  client_tools
})
const tools = [TestServer.tool("client__a")]

describe("section 3: an initialize that fails on configuration", () => {
  it.effect("LIF-5 RES-4 WIR-11 it leaves the state new and nothing negotiated, and may be tried again", () =>
    Effect.gen(function*() {
      const { mend, peer } = yield* faulty
      for (let attempt = 0; attempt < 2; attempt++) {
        const { error } = yield* peer.request("initialize", asking(tools))
        assert.deepInclude(error, { code: "configuration_invalid", message: "model: is away" })
        assert.deepInclude(yield* peer.ok("status"), { state: "new", model: null })
        assert.strictEqual(yield* peer.code("client.tool.result", {}), "unsupported_method")
        assert.strictEqual(yield* peer.code("session.create"), "not_initialized")
      }
      mend()
      const { limits } = yield* peer.ok("initialize", asking(tools, "tool.cards"))
      assert.deepInclude(limits, { request_ids: 64 })
      assert.deepInclude(yield* peer.ok("status"), { state: "ready", request_ids_left: 64 - 10 })
      assert.strictEqual(yield* peer.code("initialize", asking(tools)), "already_initialized")
    }))

  it.effect("LIF-5 a later attempt must carry the same client_tools; other faults of it are told first", () =>
    Effect.gen(function*() {
      const { mend, peer } = yield* faulty
      // what was never admitted binds nobody
      assert.strictEqual(yield* peer.code("initialize", asking([{}])), "invalid_params")
      assert.strictEqual(yield* peer.code("initialize", asking(tools)), "configuration_invalid")
      mend()
      for (
        const other of [asking([]), asking([...tools, TestServer.tool("client__b")]), { required_capabilities: [] }]
      ) {
        assert.strictEqual(yield* peer.code("initialize", other), "already_initialized")
      }
      assert.strictEqual(yield* peer.code("initialize", asking([{}])), "invalid_params")
      assert.strictEqual(yield* peer.code("initialize", asking(tools, "nope")), "unsupported_capability")
      yield* peer.ok("initialize", asking(tools))
    }))
})
