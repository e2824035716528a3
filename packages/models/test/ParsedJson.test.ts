import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import type { JsonText } from "@errand/protocol"
import { Result, Schema } from "effect"
import { ParsedJson } from "../src/index.ts"

const text = (text: string) => Result.succeed(text as JsonText)

describe("MDL-1 JSON through parsed values", () => {
  it("MDL-1 faults E7 a number that a double holds becomes a number, however it is written", () => {
    for (
      const text of [
        "0",
        "-0",
        "0.0",
        "1",
        "-1",
        "1.0",
        "1e2",
        "1E+2",
        "100e-2",
        "0.1",
        "1.50",
        "9007199254740991",
        "9007199254740992",
        "1e21",
        "1e308",
        "5e-324",
        "0.30000000000000004",
        "123456789012345680000",
        "0e999"
      ]
    ) {
      assert.deepStrictEqual(ParsedJson.fromText(text), { value: Number(text), exact: true }, text)
    }
  })

  it("MDL-1 faults E7 a number that a double cannot hold becomes its digits, and is told", () => {
    for (
      const text of [
        "9007199254740993",
        "-9007199254740993",
        "2512292042121000001",
        "0.1000000000000000055511151231257827",
        "1e-400",
        "1.00000000000000000001",
        "12345678901234567890"
      ]
    ) {
      assert.deepStrictEqual(ParsedJson.fromText(text), { value: text, exact: false }, text)
      assert.deepStrictEqual(ParsedJson.fromText(`{"a":[${text}]}`), { value: { a: [text] }, exact: false }, text)
    }
  })

  it("MDL-1 a text that is no JSON becomes a string, and is told", () => {
    assert.deepStrictEqual(ParsedJson.fromText("{broken"), { value: "{broken", exact: false })
    assert.deepStrictEqual(ParsedJson.fromText(""), { value: "", exact: false })
  })

  it("MDL-1 a key named __proto__ is a key like any other", () => {
    const { value } = ParsedJson.fromText(`{"__proto__":{"polluted":true},"a":1}`)
    assert.deepStrictEqual(Object.keys(value as object), ["__proto__", "a"])
    assert.isUndefined((value as { polluted?: unknown }).polluted)
    assert.strictEqual(JSON.stringify(value), `{"__proto__":{"polluted":true},"a":1}`)
  })

  it("MDL-1 faults E7 an integer is written up to 2^53 - 1 and refused beyond, with its path", () => {
    const most = Number.MAX_SAFE_INTEGER
    assert.deepStrictEqual(ParsedJson.toText({ a: [most, -most, -0] }), text(`{"a":[${most},-${most},-0]}`))
    assert.deepStrictEqual(
      ParsedJson.toText({ a: [1, { n: most + 1 }] }),
      Result.fail("a[1].n: the number 9007199254740992 may have been rounded, send it as a string")
    )
    assert.deepStrictEqual(
      ParsedJson.toText(-most - 1),
      Result.fail("the number -9007199254740992 may have been rounded, send it as a string")
    )
    assert.isTrue(Result.isFailure(ParsedJson.toText(1e21)))
  })

  it("MDL-1 a fraction is written up to 15 significant digits and refused beyond", () => {
    assert.deepStrictEqual(ParsedJson.toText(0.123456789012345), text("0.123456789012345"))
    assert.isTrue(Result.isFailure(ParsedJson.toText(0.1234567890123456)))
    assert.deepStrictEqual(ParsedJson.toText([1.5e-300]), text("[1.5e-300]"))
    assert.isTrue(Result.isFailure(ParsedJson.toText(0.30000000000000004)))
  })

  it("MDL-1 what JSON cannot hold is refused", () => {
    for (const value of [undefined, NaN, Infinity, 1n, () => 1, new Date(0), { a: [undefined] }]) {
      assert.isTrue(Result.isFailure(ParsedJson.toText(value)))
    }
  })

  it("MDL-1 a digit count in the ten thousands costs no more than its length", () => {
    const zeros = "0".repeat(200_000)
    assert.isFalse(ParsedJson.fromText(`1${zeros}1e-200001`).exact)
    assert.isTrue(ParsedJson.fromText(`1${zeros}e-200000`).exact)
  })

  it.prop("MDL-1 what is written reads back as the same value, and what is exact writes back as the same number", {
    value: Schema.Json
  }, ({ value }) => {
    const written = ParsedJson.toText(value)
    if (Result.isSuccess(written)) assert.deepStrictEqual(ParsedJson.fromText(written.success), { value, exact: true })
  })

  it.prop("MDL-1 every decimal of up to 15 digits comes through both ways", {
    digits: Schema.Int.check(Schema.isBetween({ minimum: -999_999_999_999_999, maximum: 999_999_999_999_999 })),
    power: Schema.Int.check(Schema.isBetween({ minimum: -250, maximum: -1 }))
  }, ({ digits, power }) => {
    const { exact, value } = ParsedJson.fromText(`${digits}e${power}`)
    assert.isTrue(exact)
    const back = Result.getOrThrow(ParsedJson.toText(value))
    assert.strictEqual(Number(back), Number(`${digits}e${power}`))
    assert.isTrue(Result.isSuccess(Json.read(back)))
  })
})
