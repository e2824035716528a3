import { assert, describe, it } from "@effect/vitest"
import * as CleanText from "../src/CleanText.ts"
import * as ControlText from "../src/ControlText.ts"
import * as SecretPatterns from "../src/SecretPatterns.ts"
import { Noise } from "./Noise.ts"

const exact = (text: string): string => SecretPatterns.redact(ControlText.plain(text))
const options = { arbitrary: { runs: 3000 } }

describe("section 11: texts that need no protection", () => {
  it.prop("PRO-3 PRO-4 PRO-6 what is called clean is what the exact rules leave alone", [Noise], ([text]) => {
    if (CleanText.isClean(text)) assert.strictEqual(exact(text), text)
    const value = text.toWellFormed()
    if (CleanText.isCleanJson(JSON.stringify(value))) assert.strictEqual(exact(value), value)
    if (CleanText.isCleanJson(JSON.stringify({ [value]: 0 }))) assert.strictEqual(exact(value), value)
  }, options)

  it("PRO-3 PRO-4 PRO-6 ordinary texts are called clean, and so is their JSON", () => {
    const texts = [
      "",
      "a",
      "The quick brown fox; task-1, a risk-free desk-top, Basis and bears, e.g. K, I and J.",
      "export const frame = (line: string) => {\n  return line.length > 10 ? fail(\"too_long\") : { line }\r\n}\n",
      "F\u00fcchse lesen \u4e2d\u6587 \ud83d\ude00",
      "mail me@example.org",
      "see https://example.org/a?b=c#d and http://h:80/",
      "key: value, keys = 7, tokens: 12, nextPageToken: \"abc\"",
      "-----BEGIN-----",
      "x".repeat(100_000)
    ]
    for (const text of texts) {
      assert.isTrue(CleanText.isClean(text), text.slice(0, 80))
      assert.isTrue(CleanText.isCleanJson(JSON.stringify({ text })), text.slice(0, 80))
      assert.strictEqual(exact(text), text)
    }
  })

  it("PRO-3 PRO-4 what is at the end of a text, or behind one of the longest that are looked at in place, is seen", () => {
    for (
      const tail of [
        "\u0000",
        "\ud83d",
        "\udc00",
        "\u009b",
        "password=x",
        `sk-${"a1".repeat(10)}`,
        "eyJ",
        "Bearer a1b2c3"
      ]
    ) {
      for (const length of [0, 1, 7, 32_766, 32_767, 32_768, 32_769, 100_000]) {
        assert.isFalse(CleanText.isClean(`${" ".repeat(length)}${tail}`), `${tail} after ${length}`)
      }
    }
  })

  it("PRO-3 what an earlier text left behind is not looked at", () => {
    CleanText.isClean(`${"a".repeat(100)}password=x`)
    assert.isTrue(CleanText.isClean("a".repeat(100)))
    assert.isTrue(CleanText.isClean("s"))
  })
})
