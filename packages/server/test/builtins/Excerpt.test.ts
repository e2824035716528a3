import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Excerpt from "../../src/builtins/Excerpt.ts"

const Text = Schema.String
const Budget = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
const samples = ["", "a", "é", "€uro", "😀😀", "a😀b€c"]

describe("BLT-1 bounded output", () => {
  it.prop("a head and a tail fit the budget and cut no character", [Text, Budget], ([text, budget]) => {
    for (const one of [text.toWellFormed(), ...samples]) {
      const head = Excerpt.head(one, budget)
      const tail = Excerpt.tail(one, budget)
      assert.isTrue(one.startsWith(head) && one.endsWith(tail))
      assert.isAtMost(Excerpt.size(head), budget)
      assert.isAtMost(Excerpt.size(tail), budget)
      if (Excerpt.size(one) <= budget) assert.strictEqual(head, one)
      else assert.isAbove(Excerpt.size(head), budget - 4)
      if (Excerpt.size(one) <= budget) assert.strictEqual(tail, one)
      else assert.isAbove(Excerpt.size(tail), budget - 4)
    }
  })

  it("counts are grouped and agree with their noun", () => {
    assert.deepStrictEqual([0, 999, 1000, 1234567].map(Excerpt.count), ["0", "999", "1,000", "1,234,567"])
    assert.deepStrictEqual([1, 2].map((n) => Excerpt.counted(n, "line")), ["1 line", "2 lines"])
  })

  it("a clip never ends in half a character", () => {
    assert.strictEqual(Excerpt.clip("a😀", 3), "a😀")
    assert.strictEqual(Excerpt.clip("a😀b", 2), "a… (3 more characters)")
  })

  it("a name with a line break or a quote is one quoted line", () => {
    assert.strictEqual(Excerpt.oneLine("a b.txt"), "a b.txt")
    assert.strictEqual(Excerpt.oneLine("a\n\"b"), "\"a\\n\\\"b\"")
  })

  it("PRO-5 a text that protection makes too long is rendered smaller", () => {
    const render = (budget: number) => "\u0007".repeat(budget)
    assert.strictEqual(Excerpt.fit(300, render).length, 100)
    assert.strictEqual(Excerpt.fit(300, (budget) => "x".repeat(budget)).length, 300)
  })

  it("lines are kept whole up to the last byte of the budget", () => {
    const notices = ({ cut, rest }: Excerpt.Left) => cut + rest === 0 ? [] : [`${cut} ${rest}`]
    assert.strictEqual(Excerpt.listing(["ab\n", "cd\n"], 6, 3, notices), "ab\ncd\n")
    assert.strictEqual(Excerpt.listing(["ab\n", "cd\n"], 5, 2, notices), "ab\n… 0 1")
    assert.strictEqual(Excerpt.listing(["abcdef\n", "g"], 5, 2, notices), "abc\n… 4 1")
  })
})
