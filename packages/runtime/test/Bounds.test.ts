import { assert, describe, it } from "@effect/vitest"
import { Limits } from "@errand/protocol"
import { Bounds, clientTool } from "@errand/runtime"
import { Result } from "effect"

const client = clientTool({ name: "client__a", description: "", inputSchema: "{}" as never, timeoutMs: 1000 })
const own = { ...client, name: "own", kind: "builtin" as const }

/** `ok`, or the code of the refusal. */
const judged = (tool: typeof client, raw: string): string => {
  const checked = Bounds.check(tool, Bounds.read(raw), Limits.defaults)
  return Result.isSuccess(checked) ? "ok" : "code" in checked.failure ? checked.failure.code : checked.failure._tag
}
/** `{"a":"…"}` of so many bytes, made of a unit as far as it goes. */
const sized = (bytes: number, unit: string) => {
  const room = bytes - 8
  const units = Math.floor(room / Buffer.byteLength(unit))
  return `{"a":"${unit.repeat(units)}${"x".repeat(room - units * Buffer.byteLength(unit))}"}`
}
const nested = (depth: number) => "{\"a\":".repeat(depth - 1) + "{}" + "}".repeat(depth - 1)

describe("section 9: bounds of arguments", () => {
  it("CAL-4 compact bytes at the limit go, one more does not; a tool of our own has no such bound", () => {
    const { arguments_bytes } = Limits.defaults.clientTools
    for (const unit of ["x", "é", "😀"]) {
      assert.strictEqual(judged(client, sized(arguments_bytes, unit)), "ok")
      assert.strictEqual(judged(client, sized(arguments_bytes + 1, unit)), "client_tool_payload_limit")
      assert.strictEqual(judged(own, sized(arguments_bytes + 1, unit)), "ok")
    }
  })

  it("CAL-4 FRM-5 depth counts with the frame around it: 30 containers go, 31 do not", () => {
    assert.strictEqual(judged(client, nested(30)), "ok")
    assert.strictEqual(judged(client, nested(31)), "client_tool_payload_limit")
    assert.strictEqual(judged(own, nested(31)), "ok")
    assert.strictEqual(judged(own, nested(256)), "ok")
    assert.strictEqual(judged(own, nested(257)), "payload_limit")
    assert.strictEqual(judged(client, nested(257)), "client_tool_payload_limit")
  })

  it("CAL-4 WIR-2 what is no object is invalid, and blank counts as an empty one", () => {
    for (const raw of ["[]", "null", "1", "\"{}\"", "{", "{}{}", "{\"a\":1,\"a\":2}"]) {
      assert.strictEqual(judged(client, raw), "client_tool_invalid_arguments", raw)
      assert.strictEqual(judged(own, raw), "invalid_arguments", raw)
    }
    for (const raw of ["", " \t\r\n", "\ufeff", "\u2028"]) assert.strictEqual(judged(client, raw), "ok")
  })
})
