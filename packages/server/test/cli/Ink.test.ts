import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { fit, ink, type Line, paint, type Style, visible, width, wrap } from "../../src/cli/Ink.ts"

const styles: ReadonlyArray<Style> = ["plain", "dim", "bold", "good", "bad", "warn", "accent"]
const lines = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Struct({ text: Schema.String, style: Schema.Literals(styles) })), {
    maxLength: 8
  }),
  (spans): Line => spans.map(({ style, text }) => ink(style, text))
)
const columns = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 })))

const textOf = (line: Line) => paint(line, false)
const letters = (text: string) => text.replaceAll(" ", "")

describe("PGM-2 lines on a terminal", () => {
  it("PGM-3 text from elsewhere cannot steer a terminal or reverse what is read", () => {
    assert.strictEqual(visible("a\x1b[2Jb\r\u202ec\x9bd\x7fe\ud800"), "a\ufffd[2Jb\ufffd\ufffdc\ufffdd\ufffde\ufffd")
    assert.strictEqual(visible("a\n\tb äé日"), "a\n\tb äé日")
    assert.strictEqual(paint([ink("bold", "a\nb\tc")], false), "a b c")
  })

  it("PGM-2 colours are only there when asked for", () => {
    const line = [ink("bad", "no"), ink("plain", " more")]
    assert.strictEqual(paint(line, true), "\x1b[31mno\x1b[0m more")
    assert.strictEqual(paint(line, false), "no more")
  })

  it("PGM-2 a line breaks at a space, and goes on below its first letter", () => {
    const rows = wrap([ink("plain", "  "), ink("accent", "→ "), ink("plain", "one two three")], 11)
    assert.deepStrictEqual(rows.map(textOf), ["  → one two", "    three"])
    assert.deepStrictEqual(rows[0]!.map(({ style }) => style), ["plain", "accent", "plain"])
  })

  it("PGM-2 a line breaks behind a comma, and within a word that is too long", () => {
    assert.deepStrictEqual(wrap([ink("plain", "[1,2,345678]")], 6).map(textOf), ["[1,2,", " 34567", " 8]"])
  })

  it("PGM-2 a line that fits exactly stays one row", () => {
    assert.deepStrictEqual(wrap([ink("plain", "one two")], 7).map(textOf), ["one two"])
    assert.deepStrictEqual(wrap([ink("plain", "one two")], 6).map(textOf), ["one", "two"])
    assert.deepStrictEqual(wrap([], 5), [[]])
  })

  it.prop(
    "PGM-2 no row is wider than asked, and no letter is lost or changes its style",
    [lines, columns],
    ([line, most]) => {
      const rows = wrap(line, most)
      for (const row of rows) assert.isAtMost(width(row), most)
      assert.strictEqual(letters(rows.map(textOf).join("")), letters(textOf(line)))
      const styled = (of: ReadonlyArray<Line>) =>
        of.flat().flatMap(({ style, text }) => [...letters(text)].map((letter) => letter + style)).join("")
      assert.strictEqual(styled(rows), styled([line]))
    }
  )

  it.prop(
    "PGM-2 a fitted line is at most as wide as asked, and whole when it is not wider",
    [lines, columns],
    ([line, most]) => {
      const fitted = fit(line, most)
      assert.isAtMost(width(fitted), most)
      if (width(line) <= most) assert.strictEqual(fitted, line)
      else assert.isTrue(textOf(fitted).endsWith("…"))
    }
  )
})
