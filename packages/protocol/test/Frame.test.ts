import { assert, describe, it } from "@effect/vitest"
import { Frame } from "@errand/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

const utf8 = new TextEncoder()

const drain = (decoder: Frame.FrameDecoder): Array<Frame.FrameItem> => {
  const items: Array<Frame.FrameItem> = []
  for (let item = decoder.next(); item !== undefined; item = decoder.next()) items.push(item)
  return items
}

const decode = (input: string | Uint8Array, limit = 64, cuts: ReadonlyArray<number> = []) => {
  const bytes = typeof input === "string" ? utf8.encode(input) : input
  const decoder = new Frame.FrameDecoder(limit)
  const items: Array<Frame.FrameItem> = []
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b).concat(bytes.length)) {
    decoder.push(bytes.subarray(from, cut))
    items.push(...drain(decoder))
    from = Math.max(from, cut)
  }
  return items
}

const frame = (text: string): Frame.FrameItem => ({ _tag: "Frame", text, bytes: utf8.encode(text).length })

describe("1. Frames: input", () => {
  it("FRM-2 a line of the limit is a frame, one byte more overflows; CR counts, LF does not", () => {
    assert.deepStrictEqual(decode(`${"a".repeat(64)}\n`), [frame("a".repeat(64))])
    assert.deepStrictEqual(decode(`${"a".repeat(63)}\r\n`), [frame(`${"a".repeat(63)}\r`)])
    assert.deepStrictEqual(decode(`${"a".repeat(65)}\n`), [{ _tag: "Overflow" }])
    assert.deepStrictEqual(decode(`${"a".repeat(64)}\r\n`), [{ _tag: "Overflow" }])
    assert.deepStrictEqual(decode(`${"é".repeat(32)}\n${"é".repeat(32)}a\n`), [frame("é".repeat(32)), {
      _tag: "Overflow"
    }])
  })

  it("FRM-4 overflow is told when the limit is passed, without LF, and nothing comes after it", () => {
    const decoder = new Frame.FrameDecoder(64)
    decoder.push(utf8.encode("a".repeat(64)))
    assert.isUndefined(decoder.next())
    decoder.push(utf8.encode("b"))
    assert.deepStrictEqual(decoder.next(), { _tag: "Overflow" })
    decoder.push(utf8.encode("\n{}\n"))
    assert.isUndefined(decoder.next())
  })

  it("FRM-4 frames before the overflow are given first, also from the same chunk", () => {
    assert.deepStrictEqual(decode(`{}\n${"a".repeat(65)}`), [frame("{}"), { _tag: "Overflow" }])
  })

  it("FRM-4 FRM-8 endless white space overflows too", () => {
    assert.deepStrictEqual(decode(" ".repeat(65)), [{ _tag: "Overflow" }])
    assert.deepStrictEqual(decode(`${" ".repeat(64)}\n{}\n`), [frame("{}")])
  })

  it("FRM-7 bytes that are no UTF-8 make the line invalid and the next line is read", () => {
    for (
      const bytes of [
        [0xff],
        [0x80],
        [0xc0, 0x80],
        [0xc3],
        [0xe2, 0x82],
        [0xed, 0xa0, 0x80],
        [0xed, 0xb0, 0x80],
        [0xf0, 0x80, 0x80, 0x80],
        [0xf4, 0x90, 0x80, 0x80],
        [0xf5, 0x80, 0x80, 0x80],
        [0xe0, 0x9f, 0xbf]
      ]
    ) {
      const items = decode(new Uint8Array([0x22, ...bytes, 0x22, 0x0a, 0x7b, 0x7d, 0x0a]))
      assert.deepStrictEqual(items, [{ _tag: "Invalid", reason: "the line is not UTF-8" }, frame("{}")])
    }
  })

  it("FRM-7 a byte order mark stays in the text, so that the reader refuses it", () => {
    assert.deepStrictEqual(decode("\ufeff{}\n"), [frame("\ufeff{}")])
  })

  it("FRM-8 E5 blank lines are skipped; only LF ends a line and CR stays in it", () => {
    assert.deepStrictEqual(decode("\n\r\n  \t\r \n{}\r\n\na\rb\n"), [frame("{}\r"), frame("a\rb")])
    assert.deepStrictEqual(decode("\u000b\n\u00a0\n"), [frame("\u000b"), frame("\u00a0")])
  })

  it("FRM-11 a last line without LF is no frame", () => {
    assert.deepStrictEqual(decode("{}\n{\"tail\":1}"), [frame("{}")])
  })

  it("FRM-10 the consumer may stop in the middle of a chunk and go on after the next has come", () => {
    const decoder = new Frame.FrameDecoder(64)
    decoder.push(utf8.encode("1\n2\n3"))
    assert.deepStrictEqual(decoder.next(), frame("1"))
    decoder.push(utf8.encode("3\n4\n"))
    assert.deepStrictEqual(drain(decoder), [frame("2"), frame("33"), frame("4")])
  })

  it("FRM-10 E6 a frame given out does not change when later chunks come", () => {
    const decoder = new Frame.FrameDecoder(64)
    for (const piece of ["{\"a\"", ":1}\n"]) decoder.push(utf8.encode(piece))
    const first = decoder.next()
    for (const piece of ["{\"b\"", ":2}\n"]) decoder.push(utf8.encode(piece))
    decoder.next()
    assert.deepStrictEqual(first, frame("{\"a\":1}"))
  })

  it.prop(
    "FRM-10 cuts do not matter, at whatever byte they are",
    {
      lines: Schema.Array(Schema.String),
      cuts: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))))
    },
    ({ cuts, lines }) => {
      const text = lines.map((line) => `${line}😀é\n`).join("\r\n")
      const bytes = utf8.encode(text)
      const within = cuts.filter((cut) => cut < bytes.length)
      assert.deepStrictEqual(decode(bytes, 100, within), decode(bytes, 100))
      assert.deepStrictEqual(decode(bytes, 100, bytes.map((_, i) => i) as unknown as Array<number>), decode(bytes, 100))
    },
    { arbitrary: { runs: 200, size: 30, seed: "frames" } }
  )
})

describe("1. Frames: output", () => {
  it("FRM-1 a frame ends in LF and is one line", () => {
    assert.strictEqual(Frame.encode("{\"a\":\"\\n\"}"), "{\"a\":\"\\n\"}\n")
  })

  it("FRM-3 the limit of an output frame includes LF and counts bytes", () => {
    assert.isTrue(Frame.fits("a".repeat(63), 64))
    assert.isFalse(Frame.fits("a".repeat(64), 64))
    assert.isTrue(Frame.fits(`${"€".repeat(21)}`, 64))
    assert.isFalse(Frame.fits(`${"€".repeat(21)}a`, 64))
    assert.isTrue(Frame.fits("é".repeat(21), 43))
    assert.isFalse(Frame.fits("é".repeat(21), 42))
  })
})
