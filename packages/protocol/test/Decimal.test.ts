import { assert, describe, it } from "@effect/vitest"
import { Decimal } from "@errand/protocol"

describe("FRM-12 numbers as they are written", () => {
  it("all spellings of a number have one significant form, and no other number has it", () => {
    const forms = new Set(["100", "1e2", "1.00E+2", "0.1e3", "1000e-1"].map(Decimal.significant))
    assert.strictEqual(forms.size, 1)
    for (const text of ["0", "-0", "0.000", "0e99"]) assert.strictEqual(Decimal.significant(text), "0")
    assert.notStrictEqual(Decimal.significant("-1"), Decimal.significant("1"))
    assert.notStrictEqual(Decimal.significant("9007199254740993"), Decimal.significant("9007199254740992"))
  })

  it("faults E7 what a double holds is exact, and nothing else", () => {
    for (const text of ["9007199254740992", "0.1", "1e300", "-1.5", "0"]) assert.isTrue(Decimal.isExact(text), text)
    for (const text of ["9007199254740993", "0.1000000000000000055", "1e-400"]) {
      assert.isFalse(Decimal.isExact(text), text)
    }
  })
})
