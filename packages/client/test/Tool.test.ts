import { assert, describe, it } from "@effect/vitest"
import { type JsonText, Limits } from "@errand/protocol"
import { Effect, Schema } from "effect"
import { Tool, ToolDeclarationInvalid } from "../src/index.ts"

const described = { description: "A tool." }

const schemaOf = (parameters: Schema.ConstraintCodec<unknown, unknown>) =>
  JSON.parse(Tool.make("t", { ...described, parameters }).declaration.inputSchema)

const refusal = (declare: () => unknown) => {
  try {
    declare()
  } catch (error) {
    if (error instanceof ToolDeclarationInvalid) return [error.tool, error.path, error.detail]
    throw error
  }
  return assert.fail("it was declared")
}

interface Cat {
  readonly name: string
  readonly kittens: ReadonlyArray<Cat>
}
const Cat = Schema.Struct({
  name: Schema.String,
  kittens: Schema.Array(Schema.suspend((): Schema.Codec<Cat> => Cat))
}).annotate({ identifier: "Cat" })

describe("8. declarations", () => {
  it("CLT-2 a short name gets its prefix, a full one stays, and the effective descriptor is what is sent", () => {
    const handler = Tool.make("a", { ...described, parameters: Schema.Struct({ x: Schema.String }), timeoutMs: 1000 })
      .handle(() => Effect.void)
    const other = Tool.make("client__b", described).handle(() => Effect.void)
    assert.deepStrictEqual(JSON.parse(Tool.toolkit([handler, other]).descriptors), [
      {
        name: "client__a",
        description: "A tool.",
        input_schema: {
          type: "object",
          properties: { x: { type: "string" } },
          required: ["x"],
          additionalProperties: false
        },
        timeout_ms: 1000
      },
      {
        name: "client__b",
        description: "A tool.",
        input_schema: { type: "object", additionalProperties: false },
        timeout_ms: 30_000
      }
    ])
  })

  it("SCH-1 shared schemas, classes and identifiers are written out, without $ref", () => {
    class Point extends Schema.Class<Point>("Point")({ x: Schema.Finite }) {}
    const Id = Schema.String.annotate({ identifier: "odd/~ %id" })
    const schema = schemaOf(
      Schema.Struct({ from: Point, to: Point, id: Id, note: Id.annotateKey({ description: "n" }) })
    )
    assert.notInclude(JSON.stringify(schema), "$ref")
    assert.deepStrictEqual(schema.properties.from, schema.properties.to)
    assert.deepStrictEqual(schema.properties.note, { allOf: [{ type: "string" }, { description: "n" }] })
  })

  it("SCH-1 a root that is a class is an object", () => {
    class Root extends Schema.Class<Root>("Root")({ x: Schema.String }) {}
    assert.strictEqual(schemaOf(Root).type, "object")
  })

  it("a number is told to the model as a number, not as the texts that stand for NaN and Infinity", () => {
    assert.deepStrictEqual(schemaOf(Schema.Struct({ n: Schema.Number })).properties.n, { type: "number" })
  })

  it("SCH-2 properties may be named as keywords or __proto__", () => {
    const schema = schemaOf(Schema.Struct({ $ref: Schema.String, ["__proto__"]: Schema.String }))
    assert.deepStrictEqual(Object.keys(schema.properties), ["$ref", "__proto__"])
  })

  it("CLT-2 a refusal names the option as the program wrote it, once", () => {
    const place = (name: string, options: { readonly description: string; readonly timeoutMs?: number }) =>
      refusal(() => Tool.make(name, options)).slice(1)
    assert.deepStrictEqual(place("a b", described), [
      "name",
      "expected \"client__\" and then letters, digits and _, at most 64 bytes in all"
    ])
    assert.deepStrictEqual(place("t", { description: " " }), ["description", "must not be blank"])
    assert.deepStrictEqual(place("t", { ...described, timeoutMs: 1 }), [
      "timeoutMs",
      "expected an integer from 1000 to 300000"
    ])
    const wide = { type: "object", enum: ["x".repeat(8192)] }
    assert.strictEqual(refusal(() => Tool.raw("t", { ...described, parameters: wide }))[1], "parameters")
  })

  it("SCH-1 a recursive schema is refused at its declaration, with the place", () => {
    assert.deepStrictEqual(
      refusal(() => Tool.make("cats", { ...described, parameters: Schema.Struct({ cat: Cat }) })),
      [
        "client__cats",
        "parameters.properties.cat.properties.kittens.items",
        "the schema is recursive through \"Cat\""
      ]
    )
  })

  it("SCH-1 a schema whose shared parts double at each level is refused in no time", () => {
    let schema: Schema.ConstraintCodec<unknown, unknown> = Schema.String
    for (let i = 0; i < 40; i++) schema = Schema.Struct({ l: schema, r: schema }).annotate({ identifier: `S${i}` })
    assert.include(refusal(() => Tool.make("t", { ...described, parameters: schema }))[2], "too large")
  })

  it("SCH-1 what Effect writes outside of the subset is refused with the tool and the path", () => {
    const parameters = Schema.Struct({ file: Schema.Uint8Array })
    const [tool, path] = refusal(() => Tool.make("t", { ...described, parameters }))
    assert.deepStrictEqual([tool, path], ["client__t", "parameters.properties.file.contentEncoding"])
  })

  it("SCH-1 arguments that are no object, and raw schemas with other keywords, are refused with the path", () => {
    assert.deepStrictEqual(refusal(() => Tool.make("t", { ...described, parameters: Schema.String })).slice(0, 2), [
      "client__t",
      "parameters.type"
    ])
    const either = Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })])
    assert.strictEqual(refusal(() => Tool.make("t", { ...described, parameters: either }))[1], "parameters.type")
    const parameters = { type: "object", properties: { a: { $ref: "#/x" } } }
    assert.strictEqual(refusal(() => Tool.raw("t", { ...described, parameters }))[1], "parameters.properties.a.$ref")
    const pattern = { type: "object", properties: { a: { pattern: "(" } } }
    assert.include(refusal(() => Tool.raw("t", { ...described, parameters: pattern }))[2], "SyntaxError")
    assert.include(
      refusal(() => Tool.raw("t", { ...described, parameters: `{"a":1,"a":2}` as JsonText }))[2],
      "duplicate"
    )
    const undefinedInside = { type: "object", default: undefined }
    assert.include(refusal(() => Tool.raw("t", { ...described, parameters: undefinedInside }))[1], "default")
  })

  it("FRM-12 a raw schema given as text keeps its digits", () => {
    const parameters = `{"type":"object","properties":{"n":{"maximum":9007199254740993}}}` as JsonText
    assert.strictEqual(Tool.raw("t", { ...described, parameters }).declaration.inputSchema, parameters)
  })

  it("CLT-2 names, descriptions and time-outs outside of their bounds are refused, and their limits are met", () => {
    const { max_timeout_ms, min_timeout_ms, name_bytes } = Limits.defaults.clientTools
    const prefix = "client__".length
    assert.strictEqual(Tool.make("x".repeat(name_bytes - prefix), described).declaration.name.length, name_bytes)
    for (const name of ["x".repeat(name_bytes - prefix + 1), "", "a.b", "café", "client__"]) {
      assert.strictEqual(refusal(() => Tool.make(name, described))[1], "name")
    }
    assert.strictEqual(refusal(() => Tool.make("t", { description: " " }))[1], "description")
    for (const timeoutMs of [min_timeout_ms, max_timeout_ms]) {
      assert.strictEqual(Tool.make("t", { ...described, timeoutMs }).declaration.timeoutMs, timeoutMs)
    }
    for (const timeoutMs of [min_timeout_ms - 1, max_timeout_ms + 1, 1000.5]) {
      assert.strictEqual(refusal(() => Tool.make("t", { ...described, timeoutMs }))[1], "timeoutMs")
    }
  })

  it("CLT-3 a toolkit refuses a name twice, a 33rd tool, and too many bytes, naming the tool", () => {
    const tool = (name: string, description = "d") => Tool.make(name, { description }).handle(() => Effect.void)
    assert.strictEqual(refusal(() => Tool.toolkit([tool("a"), tool("b"), tool("a")]))[0], "client__a")
    const many = Array.from({ length: 33 }, (_, i) => tool(`t${i}`))
    assert.strictEqual(Tool.toolkit(many.slice(1)).handlers.size, 32)
    assert.include(refusal(() => Tool.toolkit(many))[2], "at most 32")
    const large = Array.from({ length: 17 }, (_, i) => tool(`t${i}`, "x".repeat(2048)))
    assert.include(refusal(() => Tool.toolkit(large))[2], "at most 32768")
  })
})
