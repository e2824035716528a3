import { assert, describe, it } from "@effect/vitest"
import { JsonSchema, WireError } from "@errand/protocol"

describe("2. Requests, responses, events: errors", () => {
  it("REQ-5 a message has fewer than 1,000 characters, in UTF-16 units, and is cut between characters", () => {
    assert.strictEqual(new WireError("internal_error", "a".repeat(999)).message, "a".repeat(999))
    assert.strictEqual(new WireError("internal_error", "a".repeat(1000)).message, `${"a".repeat(998)}…`)
    const emoji = new WireError("internal_error", "😀".repeat(501)).message
    assert.strictEqual(emoji, `${"😀".repeat(499)}…`)
    assert.isTrue(emoji.isWellFormed())
    assert.strictEqual(new WireError("internal_error", `a${"😀".repeat(501)}`).message, `a${"😀".repeat(498)}…`)
  })

  it("REQ-5 a message names the place, the params themselves when there is none", () => {
    assert.strictEqual(WireError.invalidParams("a.b[2]", "missing").message, "a.b[2]: missing")
    assert.strictEqual(WireError.invalidParams("", "expected an object").message, "params: expected an object")
  })

  it("LIF-4 details name all missing capabilities", () => {
    assert.deepStrictEqual(WireError.unsupportedCapability(["a", "b"]).details, { capabilities: ["a", "b"] })
  })

  it("REQ-5 an error is a plain value without stack or details that nobody gave", () => {
    assert.deepStrictEqual(Object.keys(WireError.invalidFrame("x")), ["code", "message"])
    assert.notInstanceOf(WireError.invalidFrame("x"), Error)
  })

  it("section 2: the list of codes is closed and each stands in the schema", () => {
    const definitions = JsonSchema.document()["$defs"] as {
      readonly error: { readonly properties: { readonly error: { readonly properties: { readonly code: Codes } } } }
    }
    assert.lengthOf(definitions.error.properties.error.properties.code.enum, 21)
  })
})

interface Codes {
  readonly enum: ReadonlyArray<string>
}
