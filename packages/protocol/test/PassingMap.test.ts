import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { PassingMap } from "../src/PassingMap.ts"

const key = Schema.Literals([..."abcdefgh"])
const Step = Schema.Union([
  Schema.Struct({ _tag: Schema.Literal("set"), key, value: Schema.Int }),
  Schema.Struct({ _tag: Schema.Literal("delete"), key }),
  Schema.Struct({ _tag: Schema.Literal("delete"), key }),
  Schema.Struct({ _tag: Schema.Literal("drain") })
])

describe("entries that come and go", () => {
  it.prop(
    "CAL-7 it is a map, whatever comes and goes, and however often",
    { steps: Schema.Array(Step) },
    ({ steps }) => {
      const map = new PassingMap<number>()
      const model = new Map<string, number>()
      for (let round = 0; round < 40; round++) {
        for (const step of steps) {
          if (step._tag === "set") {
            map.set(step.key, step.value)
            model.set(step.key, step.value)
          } else if (step._tag === "delete") {
            assert.strictEqual(map.delete(step.key), model.delete(step.key))
          } else {
            assert.deepStrictEqual(map.drain(), [...model.values()])
            model.clear()
          }
          assert.strictEqual(map.size, model.size)
          assert.deepStrictEqual(map.values(), [...model.values()])
          for (const one of "abcdefgh") {
            assert.strictEqual(map.get(one), model.get(one))
            assert.strictEqual(map.has(one), model.has(one))
          }
        }
      }
    }
  )
})
