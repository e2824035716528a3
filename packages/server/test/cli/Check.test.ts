import { assert, describe, it } from "@effect/vitest"
import { Limits } from "@errand/protocol"
import { report } from "../../src/cli/Check.ts"

const tool = (name: string, more: object = {}) => ({
  name,
  description: "d",
  input_schema: { type: "object" },
  ...more
})
const check = (tools: ReadonlyArray<unknown>, provider?: string) => report(JSON.stringify(tools), provider)
const bounds = Limits.defaults.clientTools

/** A schema of this many containers in depth. */
const deep = (depth: number): object =>
  depth === 1 ? { type: "object" } : { type: "object", default: nested(depth - 1) }
const nested = (depth: number): unknown => depth === 0 ? 1 : [nested(depth - 1)]

describe("PGM-4 errand check", () => {
  it("PGM-4 a valid file tells how much of each limit is used", () => {
    const schema = { type: "object", properties: { "a[{\"": { type: "string" } } }
    assert.deepStrictEqual(check([tool("client__a", { input_schema: schema, timeout_ms: 1000 })]), {
      valid: true,
      lines: [
        "registry: 1 of 32 tools, 132 of 32768 bytes",
        "client__a: schema 58 of 8192 bytes, depth 3 of 16, description 1 of 2048 bytes, name 9 of 64 bytes, " +
        "time-out 1000 of 300000 ms"
      ]
    })
    assert.deepStrictEqual(check([]), { valid: true, lines: ["registry: 0 of 32 tools, 2 of 32768 bytes"] })
  })

  it("PGM-4 CLT-3 every fault of every descriptor is told with its path", () => {
    const properties = { a: { type: "text" }, b: { minimum: "1", pattern: 1 } }
    const { lines, valid } = check([
      tool("lookup", { description: " ", input_schema: { type: "array", properties }, timeout_ms: null, more: 1 }),
      5,
      { description: "d" },
      tool("client__a")
    ])
    assert.isFalse(valid)
    assert.deepStrictEqual(lines.map((line) => line.slice(0, line.indexOf(": "))), [
      "client_tools[0].name",
      "client_tools[0].description",
      "client_tools[0].input_schema.type",
      "client_tools[0].input_schema.properties.a.type",
      "client_tools[0].input_schema.properties.b.minimum",
      "client_tools[0].input_schema.properties.b.pattern",
      "client_tools[0].timeout_ms",
      "client_tools[0].more",
      "client_tools[1]",
      "client_tools[2].name",
      "client_tools[2].input_schema"
    ])
  })

  it("PGM-4 faults of the whole are told: not JSON, no array, one name twice, too many tools, too many bytes", () => {
    const of = (text: string) => report(text).lines
    assert.match(of("[").join("\n"), /^client_tools.*: /)
    assert.deepStrictEqual(of("{}"), ["client_tools: expected an array"])
    assert.deepStrictEqual(check([tool("client__a"), tool("client__a")]).lines, [
      "client_tools[1].name: another tool has this name"
    ])
    const many = (count: number, more?: object) => Array.from({ length: count }, (_, i) => tool(`client__${i}`, more))
    assert.isTrue(check(many(bounds.tools)).valid)
    assert.deepStrictEqual(check(many(bounds.tools + 1)).lines, ["client_tools: has 33 tools, at most 32 are allowed"])
    const description = "d".repeat(bounds.description_bytes)
    assert.match(check(many(20, { description })).lines.join("\n"), /^client_tools: has \d+ compact bytes/)
  })

  it("PGM-4 a schema at its depth is valid, one container more is a fault", () => {
    const { lines, valid } = check([tool("client__a", { input_schema: deep(bounds.schema_depth) })])
    assert.isTrue(valid)
    assert.include(lines[1], "depth 16 of 16")
    assert.deepStrictEqual(check([tool("client__a", { input_schema: deep(bounds.schema_depth + 1) })]), {
      valid: false,
      lines: ["client_tools[0].input_schema: has 17 containers in depth, at most 16 are allowed"]
    })
  })

  it("PGM-4 SCH-5 with a provider what it refuses is a fault, and what it may refuse is told", () => {
    const union = [tool("client__a", { input_schema: { type: "object", anyOf: [{}] } })]
    assert.isTrue(check(union).valid)
    const refused = check(union, "anthropic")
    assert.isFalse(refused.valid)
    assert.match(refused.lines[2]!, /^client__a: anthropic refuses it: input_schema\.anyOf: /)
    const long = check([tool("client__a", { description: "d".repeat(1025) })], "openai")
    assert.isTrue(long.valid)
    assert.match(long.lines[2]!, /^client__a: openai may refuse it: /)
  })
})
