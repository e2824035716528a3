import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { UsedIds } from "../src/UsedIds.ts"

const prefix = Schema.Literals(["", "r", "r-", "0", "a1b", "1.", "é"])
const number = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))
const Id = Schema.Union([
  Schema.Struct({ prefix, number, width: Schema.Literals([0, 0, 0, 2, 16]) }),
  Schema.Struct({ prefix, number, width: Schema.Literals([0]) })
])
const textOf = ({ number, prefix, width }: typeof Id.Type) => prefix + String(number).padStart(width, "0")

describe("section 2: used ids", () => {
  it.prop("REQ-3 an id is taken once, in whatever order ids come and however they are spelled", {
    ids: Schema.Array(Id),
    from: number
  }, ({ from, ids }) => {
    const used = new UsedIds()
    const model = new Set<string>()
    const counted = Array.from(
      { length: 12 },
      (_, i) => ({ prefix: "r" as const, number: from + i, width: 0 as const })
    )
    for (const id of [...ids, ...counted, ...ids].map(textOf)) {
      assert.strictEqual(used.take(id), !model.has(id), id)
      model.add(id)
      assert.isFalse(used.take(id), id)
    }
  }, { arbitrary: { runs: 500 } })

  it("REQ-3 numbers that no double holds, and equal numbers in other spellings, are other ids", () => {
    const used = new UsedIds()
    for (
      const id of [
        "9007199254740992",
        "9007199254740993",
        "1",
        "01",
        "001",
        "1e1",
        "10",
        "+1",
        "1.0",
        "999999999999999"
      ]
    ) {
      assert.isTrue(used.take(id), id)
      assert.isFalse(used.take(id), id)
    }
    assert.isTrue(used.take("1000000000000000"))
    assert.isFalse(used.take("1000000000000000"))
  })

  it("REQ-3 ids that overtook others join the run when the gap closes", () => {
    const used = new UsedIds()
    for (const n of [0, 3, 2, 5, 1, 4, 6]) assert.isTrue(used.take(`r${n}`))
    for (let n = 0; n <= 6; n++) assert.isFalse(used.take(`r${n}`))
    assert.isTrue(used.take("r7"))
  })

  it("REQ-3 more prefixes than have a run are remembered all the same", () => {
    const used = new UsedIds()
    const ids = Array.from({ length: 100 }, (_, i) => [`p${i}-1`, `p${i}-2`]).flat()
    for (const id of ids) assert.isTrue(used.take(id))
    for (const id of ids) assert.isFalse(used.take(id))
  })
})
