import { assert, describe, it } from "@effect/vitest"
import { Decimal, type JsonText } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"
import * as ToolCodec from "../src/ToolCodec.ts"

const digits = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Literal = Schema.Struct({
  minus: Schema.Boolean,
  whole: digits(0, 22),
  fraction: digits(0, 22),
  exponent: Schema.NullOr(Schema.Struct({
    letter: Schema.Literals(["e", "E"]),
    sign: Schema.Literals(["", "+", "-"]),
    value: Schema.Literals([0, 5, 22, 99, 100, 308, 309, 400])
  })),
  seed: digits(1, 9)
})
const run = (length: number, seed: number) => Array.from({ length }, (_, i) => ((i * 7 + seed) % 9) + 1).join("")
const textOf = ({ exponent, fraction, minus, seed, whole }: typeof Literal.Type) =>
  `${minus ? "-" : ""}${whole === 0 ? "0" : run(whole, seed)}${fraction === 0 ? "" : `.${run(fraction, seed + 3)}`}${
    exponent === null ? "" : `${exponent.letter}${exponent.sign}${exponent.value}`
  }`
const places = [
  (n: string) => `{"a":${n}}`,
  (n: string) => `{"a":[${n}]}`,
  (n: string) => `{"a":[0,${n},1]}`,
  (n: string) => `{"a":{"b":[[${n}]],"c":"x"}}`,
  (n: string) => n
]

describe("faults E7: numbers in arguments", () => {
  const read = ToolCodec.argumentsReader(Schema.Unknown)

  it.prop("CLI-1 a number that a double does not keep is refused wherever it stands, and every other one is read", {
    literal: Literal
  }, ({ literal }) => {
    const number = textOf(literal)
    for (const place of places) {
      const text = place(number) as JsonText
      assert.strictEqual(read(text)._tag, Decimal.isExact(number) ? "Arguments" : "Mismatch", text)
    }
  }, { arbitrary: { runs: 2000 } })

  it("CLI-1 digits inside of strings and keys are no numbers", () => {
    for (const text of [`{"12345678901234567890":"12345678901234567890"}`, `{"a":"x:12345678901234567890,1e400"}`]) {
      assert.deepStrictEqual(read(text as JsonText), { _tag: "Arguments", value: JSON.parse(text) })
    }
  })
})

describe("faults E7: numbers that JSON does not have", () => {
  const schema = Schema.Struct({ n: Schema.Number })

  it.each([NaN, Infinity, -Infinity])("CLI-1 DCL-8 %s is refused in arguments, answers and failures", (n) => {
    const read = ToolCodec.argumentsReader(schema)
    assert.strictEqual(read("{\"n\":1}" as JsonText)._tag, "Arguments")
    assert.strictEqual(read(JSON.stringify({ n: String(n) }) as JsonText)._tag, "Mismatch")
    const write = ToolCodec.successWriter(schema)
    assert.deepInclude(write({ n: 1 }), { status: "success", structured: "{\"n\":1}" as JsonText })
    const answer = write({ n })
    assert.strictEqual(answer.status, "error")
    assert.include(answer.text, "does not fit its schema")
    const failed = ToolCodec.failureWriter(schema)(Cause.fail({ n, message: "no" }))
    assert.deepInclude(failed, { status: "error", text: "no", structured: undefined })
  })
})

describe("faults E1 messages that are cut", () => {
  it("faults E1 a message of a failure or of a misfit is cut between characters, and the cut is marked", () => {
    for (const before of [0, 1]) {
      const long = "x".repeat(before) + "😀".repeat(2000)
      const told = [
        ToolCodec.failure(new Error(long)).text,
        ToolCodec.failureWriter(Schema.Struct({ message: Schema.String }))(Cause.fail({ message: long })).text
      ]
      const read = ToolCodec.argumentsReader(Schema.Struct({ a: Schema.Literals(["😀".repeat(1500), long]) }))
      const misfit = read(JSON.stringify({ a: 1 }) as JsonText)
      told.push(misfit._tag === "Mismatch" ? misfit.detail : "")
      for (const text of told) {
        assert.isAtMost(text.length, 2000)
        assert.isAtLeast(text.length, 1998)
        assert.match(text, /\p{Emoji_Presentation}…$/u)
        assert.notInclude(text, "\ufffd")
      }
    }
  })
})
