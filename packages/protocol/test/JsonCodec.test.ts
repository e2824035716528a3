import { assert, describe, it } from "@effect/vitest"
import { DerivedSchema, JsonCodec } from "@errand/protocol"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

class Sized extends Schema.Class<Sized>("Sized")({ size: Schema.Number }) {}

const suspended = Schema.suspend((): Schema.Codec<number> => Schema.Number)

type Case = readonly [string, Schema.Codec<unknown, unknown>, (n: number) => unknown, (n: unknown) => unknown]

/** A schema with a number somewhere, a value of it, and the JSON form of that value. */
const cases: ReadonlyArray<Case> = [
  ["a number", Schema.Number, (n) => n, (n) => n],
  ["a described number", Schema.Number.annotate({ description: "d" }), (n) => n, (n) => n],
  ["a checked number", Schema.Number.check(Schema.isGreaterThan(-1)), (n) => n, (n) => n],
  ["a member", Schema.Struct({ n: Schema.optionalKey(Schema.Number) }), (n) => ({ n }), (n) => ({ n })],
  [
    "a renamed member",
    Schema.Struct({ n: Schema.Number }).pipe(Schema.encodeKeys({ n: "m" })),
    (n) => ({ n }),
    (m) => ({
      m
    })
  ],
  ["a record", Schema.Record(Schema.String, Schema.Number), (n) => ({ n }), (n) => ({ n })],
  ["an array", Schema.Array(Schema.Number), (n) => [n], (n) => [n]],
  ["a tuple", Schema.Tuple([Schema.Number]), (n) => [n], (n) => [n]],
  ["a union", Schema.Union([Schema.Boolean, Schema.Number]), (n) => n, (n) => n],
  ["a suspended schema", Schema.Struct({ n: suspended }), (n) => ({ n }), (n) => ({ n })],
  ["a class", Sized, (size) => new Sized({ size }), (size) => ({ size })],
  ["an option", Schema.Option(Schema.Number), Option.some, (value) => ({ _tag: "Some", value })],
  ["a map", Schema.ReadonlyMap(Schema.String, Schema.Number), (n) => new Map([["a", n]]), (n) => [["a", n]]]
]

describe("harness 1: numbers are finite", () => {
  it.each(cases)("DCL-8 %s has no NaN and no infinity, in no direction", (_, schema, valueOf, jsonOf) => {
    const codec = JsonCodec.of(schema)
    const encode = Schema.encodeUnknownResult(codec)
    const decode = Schema.decodeUnknownResult(codec)
    assert.deepStrictEqual(Result.getOrThrow(encode(valueOf(1.5))), jsonOf(1.5) as never)
    assert.deepStrictEqual(Result.getOrThrow(decode(jsonOf(1.5))), valueOf(1.5))
    for (const n of [NaN, Infinity, -Infinity]) {
      assert.isTrue(Result.isFailure(encode(valueOf(n))), `encodes ${n}`)
      assert.isTrue(Result.isFailure(decode(jsonOf(n))), `decodes ${n}`)
      assert.isTrue(Result.isFailure(decode(jsonOf(String(n)))), `decodes the text ${n}`)
    }
  })

  it("DCL-8 text in which a schema itself writes numbers stays what the schema says", () => {
    const codec = JsonCodec.of(Schema.NumberFromString)
    assert.strictEqual(Result.getOrThrow(Schema.encodeUnknownResult(codec)(Infinity)), "Infinity")
    assert.isNaN(Result.getOrThrow(Schema.decodeUnknownResult(codec)("NaN")))
  })

  it("SCH-1 DCL-2 a described or checked number is told to the model as a number and nothing else", () => {
    const schema = Schema.Struct({
      described: Schema.Number.annotate({ description: "d" }),
      checked: Schema.Number.check(Schema.isGreaterThan(0))
    })
    const derived = Result.getOrThrow(DerivedSchema.ofArguments(schema, "parameters"))
    assert.deepStrictEqual(derived["properties"], {
      described: { type: "number", description: "d" },
      checked: { type: "number", exclusiveMinimum: 0 }
    })
  })

  it("DCL-2 a schema that refers to itself stays one", () => {
    interface Tree {
      readonly n: number
      readonly children: ReadonlyArray<Tree>
    }
    const tree: Schema.Codec<Tree> = Schema.Struct({
      n: Schema.Number,
      children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => tree))
    })
    const decode = Schema.decodeUnknownResult(JsonCodec.of(tree))
    assert.isTrue(Result.isSuccess(decode({ n: 1, children: [{ n: 2, children: [] }] })))
    assert.isTrue(Result.isFailure(decode({ n: 1, children: [{ n: "NaN", children: [] }] })))
    assert.deepInclude(Result.getOrThrow(Result.flip(DerivedSchema.derive(tree, "value"))), { reason: "recursive" })
  })
})
