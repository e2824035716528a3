import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"

interface Vector {
  readonly text: string
  readonly valid: boolean
  readonly compact?: string
  readonly bytes?: number
}

const vectors = JSON.parse(readFileSync(new URL("../fixtures/vectors/json.json", import.meta.url), "utf8"))
  .cases as ReadonlyArray<Vector>

const readers = {
  read: (text: string, options?: Json.ReadOptions) => Json.read(text, options),
  parse: (text: string, options?: Json.ReadOptions) => Json.parse(text, options),
  compact: (text: string, options?: Json.ReadOptions) => Json.compact(text, options)
}

/** The one verdict of all three readers; they must agree in rule, place and message. */
const verdict = (text: string, options?: Json.ReadOptions): Json.JsonFault | undefined => {
  const faults = Object.values(readers).map((reader) => {
    const result = reader(text, options)
    return Result.isFailure(result) ? result.failure : undefined
  })
  assert.deepStrictEqual(faults[1], faults[0])
  assert.deepStrictEqual(faults[2], faults[0])
  return faults[0]
}

const accepts = (text: string, options?: Json.ReadOptions) =>
  assert.isUndefined(verdict(text, options), `refused: ${text.slice(0, 60)}`)

const refuses = (text: string, rule: Json.Rule, path = "", options?: Json.ReadOptions) => {
  const fault = verdict(text, options)
  assert.isDefined(fault, `accepted: ${text.slice(0, 60)}`)
  assert.deepStrictEqual([fault!.rule, fault!.path], [rule, path], text.slice(0, 60))
  return fault!
}

const compactOf = (text: string): string => Result.getOrThrow(Json.compact(text)).text

/** Plain data, with ordinary objects where the reader makes ones that inherit nothing. */
const ordinary = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(ordinary)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, ordinary(item)]))
    : value

describe("1. Frames: vectors", () => {
  for (const { bytes, compact, text, valid } of vectors) {
    const title = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
    if (!valid) it(`FRM-5 FRM-6 FRM-7 refuses ${title}`, () => assert.isDefined(verdict(text)))
    else {
      it(`FRM-12 FRM-13 keeps ${title}`, () => {
        accepts(text)
        assert.strictEqual(compactOf(text), compact)
        assert.strictEqual(Json.write(Result.getOrThrow(Json.read(text))), compact)
        assert.strictEqual(Json.byteLength(compactOf(text)), bytes)
        assert.deepStrictEqual(ordinary(Result.getOrThrow(Json.parse(text))), ordinary(JSON.parse(text)))
      })
    }
  }
})

describe("1. Frames: what is refused", () => {
  it("FRM-5 32 containers pass and 33 do not, of arrays, objects and both", () => {
    const arrays = (n: number) => "[".repeat(n) + "]".repeat(n)
    const objects = (n: number) => "{\"a\":".repeat(n) + "1" + "}".repeat(n)
    const both = (n: number) => "[{\"a\":".repeat(n / 2) + "[]" + "}]".repeat(n / 2)
    accepts(arrays(32))
    refuses(arrays(33), "depth", "[0]".repeat(32))
    accepts(objects(32))
    refuses(objects(33), "depth", Array(32).fill("a").join("."))
    accepts(both(30))
    refuses(both(32), "depth", "[0].a".repeat(16))
  })

  it("FRM-5 the bound can be set, up to 1,000", () => {
    accepts("[[]]", { maxDepth: 2 })
    refuses("[[]]", "depth", "[0]", { maxDepth: 1 })
    accepts("[".repeat(1001) + "]".repeat(1001), { maxDepth: 1_000_000 })
    assert.strictEqual(verdict("[".repeat(1002) + "]".repeat(1002), { maxDepth: 1_000_000 })?.rule, "depth")
  })

  it("FRM-5 a frame of nothing but brackets does not exhaust the stack", () => {
    for (const text of ["[".repeat(65_536), "{\"a\":".repeat(13_000), "[".repeat(32_768) + "]".repeat(32_768)]) {
      assert.strictEqual(verdict(text)?.rule, "depth")
    }
  })

  it("FRM-6 a duplicate key is found at any depth and however it is escaped", () => {
    refuses("{\"id\":1,\"id\":1}", "duplicate_key", "id")
    refuses("{\"id\":1,\"\\u0069d\":2}", "duplicate_key", "id")
    refuses("{\"x\":[0,{\"y\":{\"k\":1,\"\\u006b\":2}}]}", "duplicate_key", "x[1].y.k")
    refuses("{\"\\ud83d\\ude00\":1,\"😀\":2}", "duplicate_key", "😀")
    refuses("{\"😀\":1,\"\\ud83d\\ude00\":2}", "duplicate_key", "😀")
    refuses("{\"/\":1,\"\\/\":2}", "duplicate_key", "/")
    refuses("{\"\":1,\"\":2}", "duplicate_key", "")
    refuses("{\"__proto__\":1,\"__proto__\":2}", "duplicate_key", "__proto__")
    const escaped = "\\u0061".repeat(40)
    refuses(`{"${escaped}":1,"${"a".repeat(40)}":2}`, "duplicate_key", "a".repeat(40))
  })

  it("FRM-6 keys that differ are none: case, normalization, other objects", () => {
    accepts("{\"x\":1,\"X\":2}")
    accepts("{\"\\u00e9\":1,\"e\\u0301\":2}")
    accepts("{\"x\":{\"x\":{\"x\":[{\"x\":1},{\"x\":2}]}},\"y\":{\"x\":1}}")
    accepts("{\"__proto__\":1,\"proto\":2,\"constructor\":3,\"toString\":4,\"hasOwnProperty\":5}")
  })

  it("FRM-6 a duplicate is found among many keys, and keys with equal hashes are told apart", () => {
    for (const count of [15, 16, 17, 18, 200]) {
      const keys = Array.from({ length: count }, (_, i) => `"k${i}":{"k0":${i}}`)
      accepts(`{${keys.join(",")}}`)
      for (const index of [0, count - 1]) {
        refuses(`{${keys.join(",")},"k${index}":0}`, "duplicate_key", `k${index}`)
      }
    }
    // Aa and BB have equal hashes under the usual 31-based function.
    const colliding = ["AaAa", "AaBB", "BBAa", "BBBB"]
    accepts(`{${colliding.map((key) => `"${key}":1`).join(",")}}`)
    refuses(`{${colliding.map((key) => `"${key}":1`).join(",")},"BBAa":1}`, "duplicate_key", "BBAa")
  })

  it("FRM-6 many colliding keys cost linear time", () => {
    const keys = Array.from(
      { length: 4096 },
      (_, i) => `"${Array.from({ length: 12 }, (_, bit) => (i >> bit) & 1 ? "Aa" : "BB").join("")}":1`
    )
    const begin = performance.now()
    accepts(`{${keys.join(",")}}`)
    // Each with each would be eight million comparisons of strings for each reader.
    assert.isBelow(performance.now() - begin, 1000)
  })

  it("FRM-7 E1 lone surrogates are refused, escaped and bare, in values and keys", () => {
    for (
      const escape of ["\\ud800", "\\udc00", "\\udc00\\ud800", "\\ud83dx", "\\ud83d\\ud83d\\ude00", "\\uDBFF\\u0041"]
    ) {
      refuses(`{"a":["${escape}"]}`, "surrogate", "a[0]")
      refuses(`["${"x".repeat(300)}${escape}"]`, "surrogate", "[0]")
      assert.strictEqual(verdict(`{"${escape}":1}`)?.rule, "surrogate")
    }
    refuses("[\"\ud800\"]", "surrogate")
    refuses("[\"\udc00x\"]", "surrogate")
    accepts("\"\\ud83d\\ude00😀\"")
  })

  it("FRM-7 E7 numbers that are not finite as a double are refused, digits of others are kept", () => {
    for (const text of ["1e999", "-1e999", "1e309", "1.8e308", `1${"0".repeat(309)}`, `${"9".repeat(400)}`]) {
      refuses(`{"a":${text}}`, "number", "a")
    }
    for (
      const text of ["1.7976931348623157e308", "1e-999", `1${"0".repeat(308)}`, `0.${"1".repeat(400)}`, "-0", "-0e0"]
    ) {
      accepts(text)
      assert.strictEqual(compactOf(text), text)
    }
  })

  it("FRM-7 loose JSON is refused with the place of the fault in bytes", () => {
    assert.strictEqual(refuses("{\"é\":1,}", "syntax").offset, 8)
    assert.strictEqual(refuses("[1,]", "syntax", "[1]").offset, 3)
    assert.strictEqual(refuses("{} x", "syntax").offset, 3)
    assert.strictEqual(refuses("\ufeff{}", "syntax").offset, 0)
    assert.strictEqual(refuses("", "syntax").message, "the text ends, expected a value at byte 0")
    for (
      const text of ["// c\n1", "/* c */ 1", "NaN", "-Infinity", "'a'", "{a:1}", "[1 2]", "nulll", "\u00a01", "1\u2028"]
    ) {
      assert.strictEqual(verdict(text)?.rule, "syntax", text)
    }
    for (let code = 0; code < 0x20; code++) {
      refuses(`["${String.fromCharCode(code)}"]`, "syntax", "[0]")
      refuses(`["${"x".repeat(100)}\\n${"y".repeat(200)}${String.fromCharCode(code)}"]`, "syntax", "[0]")
    }
  })

  it("REQ-5 a fault never repeats the text, and long keys are cut in its path", () => {
    const fault = verdict(`{"token":"hunter2","${"k".repeat(5000)}":hunter2}`)!
    assert.notInclude(fault.message, "hunter2")
    assert.strictEqual(fault.path, `${"k".repeat(63)}…`)
  })
})

describe("1. Frames: what is kept", () => {
  it("FRM-12 parse makes objects without inheritance, __proto__ being a plain key", () => {
    const value = Result.getOrThrow(Json.parse("{\"__proto__\":{\"polluted\":true},\"a\":1}")) as Record<
      string,
      unknown
    >
    assert.deepStrictEqual(Object.keys(value), ["__proto__", "a"])
    assert.isUndefined(({} as Record<string, unknown>)["polluted"])
    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) assert.isFalse(name in value)
    assert.isFalse("polluted" in value)
  })

  it("FRM-12 an opaque member is compact text with its depth, everything else is built", () => {
    const text =
      "{\"params\":{ \"structured\" : { \"10\" : 9007199254740993 , \"2\" : [ -0, \"\\u0041\\/\" ] } , \"text\" : \"x\" },\"structured\":1}"
    const value = Result.getOrThrow(
      Json.parse(text, { opaque: (key, depth) => key === "structured" && depth === 2 })
    ) as { params: { structured: Json.Opaque; text: string }; structured: number }
    assert.deepStrictEqual(
      value.params.structured,
      new Json.Opaque("{\"10\":9007199254740993,\"2\":[-0,\"A/\"]}" as Json.JsonText, 2)
    )
    assert.deepStrictEqual([value.params.text, value.structured], ["x", 1])
  })

  it("FRM-5 FRM-6 FRM-7 an opaque member is checked like all others, under its own path", () => {
    const opaque = (key: string) => key === "o"
    for (
      const [inner, rule, path] of [
        ["{\"k\":[1,{\"a\":1,\"\\u0061\":2}]}", "duplicate_key", "x.o.k[1].a"],
        ["[1e999]", "number", "x.o[0]"],
        ["[\"\\ud800\"]", "surrogate", "x.o[0]"],
        ["[[[]]]", "depth", "x.o[0]"],
        ["[1,]", "syntax", "x.o[1]"]
      ] as const
    ) {
      const result = Json.parse(`{"x":{"o":${inner}}}`, { opaque, maxDepth: rule === "depth" ? 3 : 32 })
      assert.isTrue(Result.isFailure(result), inner)
      if (Result.isFailure(result)) assert.deepStrictEqual([result.failure.rule, result.failure.path], [rule, path])
    }
    assert.isTrue(Result.isSuccess(Json.parse("{\"x\":{\"o\":[[]]}}", { opaque, maxDepth: 4 })))
  })

  it("FRM-13 compact tells depth and kind", () => {
    const kinds = { "{}": "object", "[]": "array", "\"\"": "string", "-1": "number", "true": "boolean", "null": "null" }
    for (const [text, kind] of Object.entries(kinds)) {
      assert.strictEqual(Result.getOrThrow(Json.compact(text)).kind, kind)
    }
    for (const [text, depth] of [["1", 0], ["[]", 1], ["[1,{}]", 2], ["{\"a\":[[]],\"b\":[]}", 3]] as const) {
      assert.strictEqual(Result.getOrThrow(Json.compact(` ${text} `)).depth, depth)
    }
  })

  it("FRM-13 E2 strings are escaped as JSON.stringify does", () => {
    for (let code = 0; code < 0x3000; code++) {
      const character = String.fromCharCode(code)
      const hex = code.toString(16).padStart(4, "0")
      const expected = JSON.stringify(character)
      assert.strictEqual(compactOf(`"\\u${hex}"`), expected)
      assert.strictEqual(
        compactOf(`"${"x".repeat(30)}\\n\\u${hex.toUpperCase()}"`),
        `"${"x".repeat(30)}\\n${expected.slice(1)}`
      )
    }
    assert.strictEqual(compactOf("\"\\\\u0000\""), "\"\\\\u0000\"")
  })

  it("FRM-13 byteLength counts UTF-8 bytes", () => {
    // 256 and 32,768 UTF-16 units are where another way of counting begins
    for (const length of [0, 1, 255, 256, 257, 5000, 32_767, 32_768, 32_769, 100_000]) {
      for (const character of ["a", "\0", "é", "€", "\ud800"]) {
        for (const text of [character.repeat(length), `${"a".repeat(length)}${character}`, "😀".repeat(length / 2)]) {
          assert.strictEqual(Json.byteLength(text), new TextEncoder().encode(text).length)
        }
      }
    }
  })

  it("DEL-2 canonical text sorts keys by UTF-16 code units at every depth and keeps arrays and digits", () => {
    const text = "{\"b\":[3,{\"z\":1.0,\"a\":-0}],\"\\ue000\":1,\"😀\":2,\"10\":3,\"9\":4,\"B\":5,\"\":6}"
    assert.strictEqual(
      Json.canonical(Result.getOrThrow(Json.read(text))),
      "{\"\":6,\"10\":3,\"9\":4,\"B\":5,\"b\":[3,{\"a\":-0,\"z\":1.0}],\"😀\":2,\"\ue000\":1}"
    )
  })
})

describe("Json: values of the language", () => {
  it("DCL-8 fromPlain refuses what JSON cannot hold, with its path", () => {
    const cyclic: { self?: unknown } = {}
    cyclic.self = [cyclic]
    let deep: unknown = 1
    for (let i = 0; i < 1001; i++) deep = [deep]
    for (
      const [value, path] of [
        [NaN, ""],
        [{ a: [1, Infinity] }, "a[1]"],
        [{ a: undefined }, "a"],
        [[undefined], "[0]"],
        [{ f: () => 1 }, "f"],
        [{ s: Symbol("s") }, "s"],
        [{ n: 1n }, "n"],
        [{ d: new Date(0) }, "d"],
        [{ m: new Map() }, "m"],
        [{ t: "\ud800" }, "t"],
        [cyclic, "self[0]"],
        [deep, "[0]".repeat(1000)]
      ] as const
    ) {
      const result = Json.fromPlain(value)
      assert.isTrue(Result.isFailure(result))
      if (Result.isFailure(result)) assert.strictEqual(result.failure.path, path)
    }
  })

  it("DCL-8 E13 the same object twice is no cycle, and -0 keeps its sign", () => {
    const shared = { n: -0 }
    assert.strictEqual(Json.write(Result.getOrThrow(Json.fromPlain([shared, shared]))), "[{\"n\":-0},{\"n\":-0}]")
  })

  it("FRM-12 toPlain and fromPlain keep __proto__ as a key", () => {
    const text = "{\"__proto__\":{\"a\":1},\"b\":[null,true,\"x\"]}"
    const plain = Json.toPlain(Result.getOrThrow(Json.read(text)))
    assert.deepStrictEqual(Object.keys(plain as object), ["__proto__", "b"])
    assert.strictEqual(Json.write(Result.getOrThrow(Json.fromPlain(plain))), text)
  })
})

const arbitrary = { arbitrary: { runs: 300, size: 40, seed: "json" } }

/** Spreads white space and escapes over a compact text without changing what it says. */
const loosen = (text: string, choices: ReadonlyArray<number>): string => {
  const pieces = text.match(/\\u[0-9a-f]{4}|\\.|[\s\S]/gu) ?? []
  let inString = false
  return pieces.map((piece, i) => {
    const choice = choices.length === 0 ? 0 : choices[i % choices.length]!
    if (piece === "\"") {
      inString = !inString
      return inString && choice % 3 === 0 ? ` ${piece}` : piece
    }
    if (!inString) return ",:{}[]".includes(piece) && choice % 3 === 1 ? `\t${piece}\r\n` : piece
    if (piece.startsWith("\\") || choice % 2 === 0) return piece
    return piece.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
  }).join("")
}

describe("Json: properties", () => {
  it.prop(
    "FRM-12 all readers agree with JSON.parse on what JSON.stringify writes",
    { value: Schema.Json },
    ({ value }) => {
      const text = JSON.stringify(value)
      if (!text.isWellFormed() || /\\ud[89a-f]/.test(text)) return
      const options = { maxDepth: 1000 }
      assert.deepStrictEqual(ordinary(Result.getOrThrow(Json.parse(text, options))), ordinary(JSON.parse(text)))
      assert.strictEqual(Json.write(Result.getOrThrow(Json.read(text, options))), text)
      assert.strictEqual(Result.getOrThrow(Json.compact(text, options)).text, text)
      assert.strictEqual(Json.write(Result.getOrThrow(Json.fromPlain(JSON.parse(text)))), text)
    },
    arbitrary
  )

  it.prop(
    "FRM-13 white space and the form of escapes are not significant",
    { value: Schema.Json, choices: Schema.Array(Schema.Int) },
    ({ choices, value }) => {
      const text = JSON.stringify(value)
      if (/\\ud[89a-f]/.test(text)) return
      assert.strictEqual(Result.getOrThrow(Json.compact(loosen(text, choices), { maxDepth: 1000 })).text, text)
    },
    arbitrary
  )

  it.prop(
    "FRM-7 a damaged text is refused where JSON.parse refuses it, by all readers alike",
    {
      value: Schema.Json,
      at: Schema.Int,
      with: Schema.Literals(["", "\"", "\\", ",", "]", "}", "{", "0", "e", "-", "u", " "])
    },
    ({ at, value, with: piece }) => {
      const text = JSON.stringify(value)
      if (/\\ud[89a-f]/i.test(text)) return
      const index = Math.abs(at) % (text.length + 1)
      const damaged = text.slice(0, index) + piece + text.slice(index + 1)
      const native = Result.try(() => JSON.parse(damaged) as unknown)
      const fault = verdict(damaged, { maxDepth: 1000 })
      if (Result.isFailure(native)) assert.isDefined(fault, damaged)
      else if (fault !== undefined) assert.include(["duplicate_key", "number", "surrogate"], fault.rule, damaged)
    },
    arbitrary
  )

  it.prop(
    "DEL-2 the order of keys and the form of escapes do not change canonical text",
    { value: Schema.Json, choices: Arbitrary.array(Arbitrary.schema(Schema.Int)) },
    ({ choices, value }) => {
      const text = JSON.stringify(value)
      if (/\\ud[89a-f]/.test(text)) return
      const node = Result.getOrThrow(Json.read(text, { maxDepth: 1000 }))
      const reversed = Result.getOrThrow(Json.read(loosen(Json.write(reverse(node)), choices), { maxDepth: 1000 }))
      assert.strictEqual(Json.canonical(reversed), Json.canonical(node))
    },
    arbitrary
  )
})

const reverse = (node: Json.JsonNode): Json.JsonNode => {
  if (Json.isArray(node)) return node.map(reverse)
  if (Json.isObject(node)) return new Map([...node].reverse().map(([key, item]) => [key, reverse(item)]))
  return node
}
