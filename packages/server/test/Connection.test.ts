import { assert, describe, it } from "@effect/vitest"
import { Codec, type Frame, Limits } from "@errand/protocol"
import { Connection } from "@errand/server"
import { Effect } from "effect"

const codec = Effect.runSync(Effect.provide(Codec, Codec.layer))
const decoded = (item: Exclude<Frame.FrameItem, { readonly _tag: "Overflow" }>) => codec.decode(item)
const frame = (text: string) => decoded({ _tag: "Frame", text, bytes: text.length })
const status = (id: string) => frame(`{"id":"${id}","method":"status"}`)

/** What a line came to, in one word. */
const admit = (connection: Connection, item: ReturnType<typeof frame>): string => {
  const admission = connection.admit(item)
  return admission._tag === "Admitted" ? "admitted" : `${admission.id}: ${admission.error.code}`
}

describe("section 2: admission", () => {
  it("REQ-3 an id is used by the first frame that carries it, whatever becomes of that frame", () => {
    const connection = new Connection(Limits.defaults.base)
    assert.strictEqual(admit(connection, frame("{\"id\":\"a\",\"method\":\"nope\"}")), "a: unsupported_method")
    assert.strictEqual(admit(connection, status("a")), "a: duplicate_id")
    assert.strictEqual(admit(connection, frame("{\"id\":\"b\",\"method\":\"status\",\"x\":1}")), "b: invalid_request")
    assert.strictEqual(admit(connection, status("b")), "b: duplicate_id")
    assert.strictEqual(admit(connection, frame("{\"id\":\"b\",\"method\":\"status\",\"x\":1}")), "b: invalid_request")
  })

  it("REQ-4 FRM-9 WIR-4 fresh ids and frames without one cost one each, duplicates and nothing else cost none", () => {
    const connection = new Connection({ ...Limits.defaults.base, request_ids: 5 })
    const left = (item: ReturnType<typeof frame>) => {
      connection.admit(item)
      return connection.idsLeft
    }
    assert.strictEqual(left(status("a")), 4)
    assert.strictEqual(left(status("a")), 4)
    assert.strictEqual(left(frame("nonsense")), 3)
    assert.strictEqual(left(decoded({ _tag: "Invalid", reason: "not UTF-8" })), 2)
    assert.strictEqual(left(frame("{\"id\":7,\"method\":\"status\"}")), 1)
    assert.strictEqual(admit(connection, status("b")), "admitted")
    assert.strictEqual(connection.idsLeft, 0)
    assert.strictEqual(admit(connection, status("c")), "c: request_quota_exceeded")
    assert.strictEqual(admit(connection, frame("nonsense")), "null: invalid_frame")
    assert.strictEqual(connection.idsLeft, 0)
  })

  it("PGM-6 REQ-4 ids granted by the config file count what was used before", () => {
    const connection = new Connection(Limits.defaults.base)
    connection.admit(status("a"))
    connection.grant(64)
    assert.strictEqual(connection.idsLeft, 63)
  })

  it("LIF-1 each state admits its methods and no others", () => {
    const connection = new Connection(Limits.defaults.base)
    let id = 0
    const methods = ["initialize", "status", "shutdown", "session.list", "client.tool.result"]
    const row = () =>
      methods.map((method) => {
        const admission = connection.admit(frame(`{"id":"${++id}","method":"${method}"}`))
        return admission._tag === "Admitted" ? "admitted" : admission.error.code
      })
    assert.deepStrictEqual(row(), ["admitted", "admitted", "admitted", "not_initialized", "unsupported_method"])
    connection.state = "initializing"
    connection.clientTools = true
    assert.deepStrictEqual(row(), ["already_initialized", "admitted", "admitted", "not_initialized", "not_initialized"])
    connection.state = "ready"
    assert.deepStrictEqual(row(), ["already_initialized", "admitted", "admitted", "admitted", "admitted"])
    connection.state = "closing"
    assert.deepStrictEqual(row(), ["shutting_down", "admitted", "shutting_down", "shutting_down", "shutting_down"])
  })
})
