import { assert, describe, it } from "@effect/vitest"
import { ProviderRules } from "../src/index.ts"
import { tool } from "./Emulated.ts"

const problems = (provider: string, schema: string, description = "x") =>
  ProviderRules.check(provider, [{ ...tool("client__a", schema), description }]).map(({ certain, problem }) =>
    `${certain ? "" : "perhaps: "}${problem}`
  )

describe("MDL-4 what providers refuse", () => {
  it("MDL-4 the family of a provider is known by its name in settings and in the library", () => {
    for (
      const [provider, family] of [
        ["openai", "openai"],
        ["openai.responses", "openai"],
        ["anthropic:claude", "anthropic"],
        ["anthropic.messages", "anthropic"],
        ["google.generative-ai", "openai-compatible"],
        ["openaix", "openai-compatible"],
        ["", "openai-compatible"]
      ] as const
    ) assert.strictEqual(ProviderRules.familyOf(provider), family)
  })

  it("SCH-5 a plain schema is refused by none, and what is data is not looked into", () => {
    const schema = `{"type":"object","properties":{"a":{"type":"array","items":{"enum":[{"type":"array"}]}},` +
      `"b":{"const":{"propertyNames":{}}}},"required":["a"]}`
    for (const provider of ["openai", "anthropic", "openai-compatible"]) {
      assert.deepStrictEqual(problems(provider, schema), [])
    }
  })

  it("MDL-4 a root that is no object is refused by all", () => {
    for (const provider of ["openai", "anthropic", "openai-compatible"]) {
      assert.deepStrictEqual(problems(provider, `{}`), [`input_schema.type: must be "object"`])
      assert.deepStrictEqual(problems(provider, `{"type":["object","null"]}`), [`input_schema.type: must be "object"`])
      assert.deepStrictEqual(problems(provider, `true`), ["input_schema: must be an object"])
      assert.deepStrictEqual(problems(provider, `{`), ["input_schema: must be an object"])
    }
  })

  it("MDL-4 composition at the top is refused by those who do, and allowed further down", () => {
    const at = (keyword: string) => `input_schema.${keyword}: is not allowed at the top level`
    const root = (keyword: string) => `{"type":"object","${keyword}":[]}`
    for (const keyword of ["oneOf", "anyOf", "allOf", "enum", "not"]) {
      assert.deepStrictEqual(problems("openai", root(keyword)), [at(keyword)])
      assert.deepStrictEqual(problems("openai-compatible", root(keyword)), [])
      const anthropic = keyword === "enum" || keyword === "not" ? [] : [at(keyword)]
      assert.deepStrictEqual(problems("anthropic", root(keyword)), anthropic)
    }
    assert.deepStrictEqual(problems("openai", `{"type":"object","properties":{"a":{"anyOf":[true]}}}`), [])
  })

  it("MDL-4 names of properties at both sides of the limit", () => {
    const named = (name: string) => problems("anthropic", `{"type":"object","properties":{${JSON.stringify(name)}:{}}}`)
    assert.deepStrictEqual(named("a.b-c_D9"), [])
    assert.deepStrictEqual(named("x".repeat(64)), [])
    assert.strictEqual(named("x".repeat(65)).length, 1)
    assert.deepStrictEqual(named("$ref é"), [
      `input_schema.properties: the name "$ref é" does not match ^[a-zA-Z0-9_.-]{1,64}$`
    ])
  })

  it("MDL-4 arrays without items, property names and lookarounds are found at any depth, with their path", () => {
    const schema = `{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"array"}]}},` +
      `"$defs":{"b":{"propertyNames":{"pattern":"(?<!x)"}}}}`
    assert.deepStrictEqual(problems("openai", schema), [
      "input_schema.properties.a.anyOf[1]: an array must tell its items",
      "perhaps: input_schema.$defs.b: some models do not take propertyNames",
      "perhaps: input_schema.$defs.b.propertyNames: some models do not take patterns that look ahead or behind"
    ])
  })

  it("MDL-4 how many tools and how long a description, at both sides of the limit", () => {
    const tools = Array.from({ length: 129 }, (_, index) => tool(`client__${index}`))
    assert.deepStrictEqual(ProviderRules.check("openai", tools.slice(0, 128)), [])
    assert.deepStrictEqual(ProviderRules.check("openai", tools), [
      { tool: "client__128", problem: "a request may offer 128 tools; this is number 129", certain: true }
    ])
    assert.deepStrictEqual(ProviderRules.check("anthropic", tools), [])
    assert.deepStrictEqual(problems("openai", `{"type":"object"}`, "x".repeat(1024)), [])
    assert.deepStrictEqual(problems("openai", `{"type":"object"}`, "x".repeat(1025)), [
      "perhaps: some models take descriptions of at most 1024 characters"
    ])
  })
})
