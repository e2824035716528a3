import { assert, describe, it } from "@effect/vitest"
import * as TextParts from "../src/TextParts.ts"

const compactBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text))

describe("section 4: texts in parts", () => {
  it("SES-6 FRM-13 WIR-45 a part is at most 16,384 bytes and 30,000 compact bytes, its quotes among them", () => {
    const texts = {
      "two bytes for each": "\"".repeat(40_000),
      "six bytes for each": "\u0001".repeat(20_000),
      "the same as compact": "x".repeat(40_000),
      "four bytes that must stay together": "😀".repeat(9000),
      "a mixture": "é\n\u0001\\😀\u2028".repeat(5000)
    }
    for (const [what, text] of Object.entries(texts)) {
      const parts = TextParts.split(text)
      assert.strictEqual(parts.join(""), text, what)
      for (const part of parts) {
        assert.isAtMost(Buffer.byteLength(part), TextParts.PART_BYTES, what)
        assert.isAtMost(compactBytes(part), TextParts.PART_COMPACT_BYTES, what)
        assert.isTrue(part.isWellFormed(), what)
      }
    }
  })

  it("SES-6 FRM-13 what fits exactly is one part, and one byte more is two", () => {
    // 29,998 bytes between the quotes: 13,614 characters of two bytes, 2,770 of one
    const fits = "\"".repeat(13_614) + "x".repeat(2770)
    assert.strictEqual(compactBytes(fits), TextParts.PART_COMPACT_BYTES)
    assert.lengthOf(TextParts.split(fits), 1)
    assert.lengthOf(TextParts.split(`"${fits.slice(0, -1)}`), 2)
    assert.lengthOf(TextParts.split("x".repeat(TextParts.PART_BYTES)), 1)
    assert.lengthOf(TextParts.split("x".repeat(TextParts.PART_BYTES + 1)), 2)
    assert.lengthOf(TextParts.split(""), 0)
  })
})
