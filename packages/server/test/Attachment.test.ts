import { assert, describe, it } from "@effect/vitest"
import { SessionStore } from "@errand/server"
import { TestServer } from "@errand/testing"
import { Deferred, Effect, Layer } from "effect"

const call = { name: "client__a", arguments: {} }
const a = [TestServer.tool("client__a")]

describe("sections 3 and 4: what cannot change, and when", () => {
  it.effect("LIF-6 CLT-5 once admitted, no initialize changes the registration, in whatever state and with whatever params", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: [{ tool_calls: [call] }, { text: "{{tools}}" }] })
      // while the first is being handled, and while a run is active
      const first = peer.post("initialize", { required_capabilities: ["client.tools"], client_tools: a })
      const again = { required_capabilities: ["client.tools"], client_tools: [TestServer.tool("client__b")] }
      assert.strictEqual(yield* peer.code("initialize", again), "already_initialized")
      assert.isDefined((yield* peer.response(first)).result)
      const { session_id } = yield* peer.ok("session.create")
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const published = yield* peer.event("client.tool.call")
      for (const params of [again, { required_capabilities: [] }, { x: 1 }]) {
        assert.strictEqual(yield* peer.code("initialize", params), "already_initialized")
      }
      yield* peer.ok("client.tool.result", peer.answer(published))
      yield* peer.event("run.finished")
      assert.deepStrictEqual(JSON.parse(peer.events("message.reconcile").at(-1)!.text), ["client__a"])
    }))

  it.effect("SES-3 TRN-1 LIF-9 while a run is active no session is made or opened, not even the attached one; then it is", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: [{ tool_calls: [call] }, { text: "end" }] })
      const session_id = yield* TestServer.session(peer, a)
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const published = yield* peer.event("client.tool.call")
      const busy = { state: "ready", session_id, run_id, pending_calls: 1, pending_approvals: 0 }
      assert.deepInclude(yield* peer.ok("status"), busy)
      assert.strictEqual(yield* peer.code("session.create"), "run_active")
      assert.strictEqual(yield* peer.code("session.open", { session_id }), "run_active")
      assert.strictEqual(yield* peer.code("turn.start", { session_id, prompt: "x" }), "run_active")
      // reading is never kept waiting
      assert.lengthOf((yield* peer.ok("session.list"))["sessions"] as [], 1)
      yield* peer.ok("history.page", { session_id })
      assert.deepInclude(yield* peer.ok("status"), busy)
      yield* peer.ok("client.tool.result", peer.answer(published))
      yield* peer.event("run.finished")
      yield* peer.ok("session.open", { session_id })
      const next = yield* peer.ok("session.create")
      assert.deepInclude(yield* peer.ok("status"), { session_id: next["session_id"], run_id: null, pending_calls: 0 })
    }))

  it.effect("TRN-1 of two reasons the session is told first: another one than the attached, and a run that is active", () =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({ script: [{ tool_calls: [call] }] })
      const former = yield* TestServer.session(peer, a)
      const { session_id } = yield* peer.ok("session.create")
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      yield* peer.event("client.tool.call")
      assert.strictEqual(yield* peer.code("turn.start", { session_id: former, prompt: "x" }), "session_not_attached")
      assert.strictEqual(yield* peer.code("turn.start", { session_id, prompt: "x" }), "run_active")
    }))

  it.effect("SES-2 attaching another session releases the former, and one that cannot be opened changes nothing", () =>
    Effect.gen(function*() {
      const store = Layer.succeed(SessionStore, yield* Effect.provide(SessionStore, SessionStore.layerMemory))
      const one = (yield* TestServer.start({ store })).peer
      const two = (yield* TestServer.start({ store })).peer
      const first = yield* TestServer.session(one)
      const second = yield* TestServer.session(two)
      assert.strictEqual(yield* two.code("session.open", { session_id: first }), "session_locked")
      assert.strictEqual(yield* two.code("session.open", { session_id: "none" }), "session_not_found")
      assert.deepInclude(yield* two.ok("status"), { session_id: second })
      yield* two.ok("turn.start", { session_id: second, prompt: "go" })
      yield* two.event("run.finished")
      yield* one.ok("session.create")
      yield* two.ok("session.open", { session_id: first })
      // opened again it stays as it is
      assert.deepInclude(yield* two.ok("session.open", { session_id: first }), { entries: 0 })
      yield* one.ok("session.open", { session_id: second })
    }))

  it.effect("WIR-5 LIF-9 what concerns sessions takes effect in the order of the requests; status waits for none of it", () =>
    Effect.gen(function*() {
      const memory = yield* Effect.provide(SessionStore, SessionStore.layerMemory)
      const go = yield* Deferred.make<void>()
      const store = Layer.succeed(SessionStore, {
        ...memory,
        list: (request) => Effect.andThen(Deferred.await(go), memory.list(request))
      })
      const { peer } = yield* TestServer.start({ store })
      const session_id = yield* TestServer.session(peer)
      const list = peer.post("session.list")
      const turn = peer.post("turn.start", { session_id, prompt: "go" })
      const create = peer.post("session.create")
      assert.deepInclude(yield* peer.ok("status"), { session_id, run_id: null })
      assert.lengthOf(peer.events("run.started"), 0)
      yield* Deferred.succeed(go, undefined)
      assert.lengthOf((yield* peer.response(list)).result?.["sessions"] as [], 1)
      assert.isDefined((yield* peer.response(turn)).result)
      yield* peer.response(create)
      const ids = peer.frames.flatMap((frame) => "id" in frame ? [frame.id] : [])
      assert.deepStrictEqual(ids.filter((id) => id === list || id === turn || id === create), [list, turn, create])
    }))

  it.effect("RES-4 LIF-1 a negotiated result is a method from the start, and has the readiness errors of all", () =>
    Effect.gen(function*() {
      const { duplex, peer } = yield* TestServer.start()
      // nothing is negotiated yet
      assert.strictEqual(yield* peer.code("client.tool.result", {}), "unsupported_method")
      yield* TestServer.session(peer, a)
      assert.strictEqual(yield* peer.code("client.tool.result", {}), "invalid_params")
      duplex.write(
        "{\"id\":\"bye\",\"method\":\"shutdown\"}\n{\"id\":\"late\",\"method\":\"client.tool.result\",\"params\":{}}\n"
      )
      assert.strictEqual((yield* peer.response("late")).error?.code, "shutting_down")
    }))

  it.effect("DEL-4 SES-2 a reopened session has the tools of this start, and its earlier calls stay as they were", () =>
    Effect.gen(function*() {
      const store = Layer.succeed(SessionStore, yield* Effect.provide(SessionStore, SessionStore.layerMemory))
      const script = [{ text: "{{tools}}\n{{roles}}", tool_calls: [call] }, { text: "{{results}}" }]
      const life = (tools: ReadonlyArray<object>, sessionId?: string) =>
        Effect.scoped(Effect.gen(function*() {
          const { closed, duplex, peer } = yield* TestServer.start({ store, script })
          yield* peer.ok("initialize", { required_capabilities: ["client.tools"], client_tools: tools })
          const opened = sessionId === undefined
            ? yield* peer.ok("session.create")
            : yield* peer.ok("session.open", { session_id: sessionId })
          const session_id = opened["session_id"] as string
          yield* peer.ok("turn.start", { session_id, prompt: "go" })
          if (sessionId === undefined) {
            yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call")))
          }
          yield* peer.event("run.finished")
          duplex.end()
          yield* closed
          return { session_id, texts: peer.events("message.reconcile").map(({ text }) => text) }
        }))
      const { session_id, texts } = yield* life(a)
      assert.deepStrictEqual(texts[0], "[\"client__a\"]\n[\"user\"]")
      const next = yield* life([TestServer.tool("client__b")], session_id)
      assert.deepStrictEqual(next.texts[0], "[\"client__b\"]\n[\"user\",\"assistant\",\"tool\",\"assistant\",\"user\"]")
      assert.include(next.texts[1], "client_tool_unavailable")
    }))
})
