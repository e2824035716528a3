import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import * as LargeIntegers from "../../src/codemode/LargeIntegers.ts"

const mark = (json: string) => LargeIntegers.mark(json as JsonText, "int:")

describe("program 3: large integers on their way into code", () => {
  it("FRM-12 only integers that a double cannot hold are marked, wherever they stand", () => {
    const exact = "{\"a\":[9007199254740991,-9007199254740991,0.12345678901234567890,1e400],\"12345678901234567\":null}"
    assert.strictEqual(mark(exact), exact)
    assert.strictEqual(
      mark("{\"a\":[9007199254740992,-9007199254740993],\"__proto__\":{\"n\":100000000000000000000}}"),
      "{\"a\":[\"int:9007199254740992\",\"int:-9007199254740993\"],\"__proto__\":{\"n\":\"int:100000000000000000000\"}}"
    )
    assert.strictEqual(mark("12345678901234567890"), "\"int:12345678901234567890\"")
    assert.strictEqual(mark("\"12345678901234567890\""), "\"12345678901234567890\"")
  })
})
