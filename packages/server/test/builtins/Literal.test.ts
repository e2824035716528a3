import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Literal from "../../src/builtins/Literal.ts"

const Letters = Schema.Array(Schema.Literals(["a", "b"]))

describe("BLT-1 literal search", () => {
  it.prop("long patterns are found where short ones would be", [Letters, Letters, Letters], ([head, middle, tail]) => {
    // Over two letters, and made longer than a short pattern, so that both algorithms are compared.
    const pattern = Buffer.from(`${middle.join("")}${"ab".repeat(17)}${head.join("")}`)
    const content = Buffer.from(
      `${head.join("")}${"ab".repeat(16)}${pattern}${"ab".repeat(20)}${tail.join("")}${pattern}`
    )
    const find = Literal.find(pattern)
    for (let from = 0; from <= content.length + 1; from++) {
      assert.strictEqual(find(content, from), content.indexOf(pattern, from))
    }
  })

  it("patterns at the length where the algorithm changes find their only match", () => {
    for (const length of [1, 31, 32, 33, 1024]) {
      const pattern = Buffer.from(`${"a".repeat(length - 1)}b`)
      assert.strictEqual(Literal.find(pattern)(Buffer.from(`${"a".repeat(5000)}b`), 0), 5001 - length)
      assert.strictEqual(Literal.find(pattern)(Buffer.from("a".repeat(5000)), 0), -1)
    }
  })

  it("a pattern that is nearly everywhere takes time in proportion to the content alone", () => {
    const content = Buffer.alloc(4 * 1024 * 1024, "a")
    const timed = (length: number) => {
      const half = "a".repeat((length - 1) / 2)
      const find = Literal.find(Buffer.from(`${half}b${half}`))
      const since = performance.now()
      assert.strictEqual(find(content, 0), -1)
      return performance.now() - since
    }
    timed(33)
    const short = Math.max(timed(33), 20)
    assert.isBelow(timed(1023), short * 10)
  })
})
