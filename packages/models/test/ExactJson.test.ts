import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ExactJson } from "../src/index.ts"

/** Without lone surrogates, in keys too: no text of a history holds one. */
const wellFormed = (value: Schema.Json): Schema.Json => {
  if (typeof value === "string") return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (value === null || typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), wellFormed(one)]))
}

describe("MDL-1 JSON texts as values that are written unchanged", () => {
  it("MDL-1 E7 every digit, every key and their order come back", () => {
    for (
      const text of [
        `{"b":9007199254740993,"a":[1.10,-0,1E+2,1e-7,0.1,12345678901234567890.5],"":null}`,
        `{"__proto__":{"toString":1},"constructor":"x","toJSON":"y","rawJSON":"1"}`,
        `[true,false,null,"\\u0000é🌍","1"]`,
        `"text"`,
        `2512292042121000001`
      ]
    ) assert.strictEqual(JSON.stringify(ExactJson.fromText(text)), text)
  })

  it("MDL-1 what is no JSON has no value", () => {
    for (const text of ["", "{", "nonsense", `{"a":1}}`, "NaN"]) assert.isUndefined(ExactJson.fromText(text))
  })

  it.prop("MDL-1 any JSON comes back as it was", { value: Schema.Json }, ({ value }) => {
    const text = JSON.stringify(wellFormed(value))
    assert.strictEqual(JSON.stringify(ExactJson.fromText(text)), text)
  })

  it.prop("MDL-1 any number comes back as it was written", {
    whole: Schema.Int,
    fraction: Schema.String.check(Schema.isPattern(/^[0-9]{1,30}$/))
  }, ({ fraction, whole }) => {
    const text = `{"n":${whole}.${fraction},"m":${fraction.replace(/^0+(?=.)/, "")}}`
    assert.strictEqual(JSON.stringify(ExactJson.fromText(text)), text)
  })
})
