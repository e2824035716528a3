import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import * as Ids from "../src/Ids.ts"

const fresh = Context.get(Context.empty(), Ids.Generator)

describe("section 2: ids", () => {
  it("CAL-3 REQ-8 a fresh id is a UUID of version 4, lower case, and never the same twice", () => {
    const ids = Array.from({ length: 20_000 }, fresh)
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("CAL-3 every digit of a fresh id but the fixed ones is random", () => {
    const seen = Array.from({ length: 36 }, () => new Set<string>())
    for (let n = 0; n < 2000; n++) for (const [at, c] of [...fresh()].entries()) seen[at]!.add(c)
    const kinds = seen.map((characters) => characters.size)
    const fixed = new Map([[8, 1], [13, 1], [14, 1], [18, 1], [19, 4], [23, 1]])
    assert.deepStrictEqual(kinds, kinds.map((_, at) => fixed.get(at) ?? 16))
  })

  it.prop(
    "REQ-2 a detached id is the id",
    { id: Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,128}$/)) },
    ({ id }) => {
      assert.strictEqual(Ids.detached(` ${id}`.slice(1)), id)
    }
  )
})
