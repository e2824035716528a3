import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { openSync } from "node:fs"
import { ink } from "../../src/cli/Ink.ts"
import * as Screen from "../../src/cli/Screen.ts"

const fd = openSync("/dev/null", "w")

const stream = (isTTY: boolean, columns = 20) => {
  const written: Array<string> = []
  return {
    written,
    stream: { isTTY, columns, rows: 6, fd, write: (text: string | Uint8Array) => written.push(String(text)) > 0 }
  }
}

const line = (text: string) => [ink("bold", text)]

describe("PGM-2 drawing", () => {
  it.effect("PGM-2 a stream that is no terminal gets plain lines and no picture", () =>
    Effect.gen(function*() {
      const { stream: out, written } = stream(false)
      const screen = yield* Screen.make(out, {})
      yield* screen.draw([line("one"), line("t".repeat(100))], [line("picture")])
      yield* screen.draw([], [line("picture")])
      assert.deepStrictEqual([screen.live, written.join("")], [false, `one\n${"t".repeat(100)}\n`])
    }).pipe(Effect.scoped))

  it.effect("PGM-2 TERM=dumb is no terminal to draw upon", () =>
    Effect.gen(function*() {
      const { stream: out, written } = stream(true)
      const screen = yield* Screen.make(out, { TERM: "dumb" })
      yield* screen.draw([line("one")], [line("picture")])
      assert.deepStrictEqual([screen.live, written.join("")], [false, "one\n"])
    }).pipe(Effect.scoped))

  it.effect("PGM-2 a picture takes the place of the former one, below what was printed", () =>
    Effect.gen(function*() {
      const { stream: out, written } = stream(true)
      yield* Effect.gen(function*() {
        const screen = yield* Screen.make(out, { NO_COLOR: "1" })
        yield* screen.draw([line("one")], [line("a"), line("b")])
        yield* screen.draw([line("two")], [line("c")])
        yield* screen.draw([], [])
      }).pipe(Effect.scoped)
      assert.deepStrictEqual(written, [
        "\x1b[?25l",
        "one\na\nb\n",
        "\x1b[2A\r\x1b[Jtwo\nc\n",
        "\x1b[1A\r\x1b[J",
        "\x1b[?25h"
      ])
    }))

  it.effect("PGM-2 the cursor is visible again and the picture gone, also after an interruption", () =>
    Effect.gen(function*() {
      const { stream: out, written } = stream(true)
      const before = process.listenerCount("exit")
      yield* Effect.gen(function*() {
        const screen = yield* Screen.make(out, {})
        yield* screen.draw([], [line("a")])
        assert.strictEqual(process.listenerCount("exit"), before + 1)
        return yield* Effect.interrupt
      }).pipe(Effect.scoped, Effect.exit)
      assert.strictEqual(written.at(-1), "\x1b[1A\r\x1b[J\x1b[?25h")
      assert.strictEqual(process.listenerCount("exit"), before)
    }))

  it.effect("PGM-2 rows that a narrower terminal has broken are erased as well", () =>
    Effect.gen(function*() {
      const { stream: out, written } = stream(true, 40)
      const screen = yield* Screen.make(out, { NO_COLOR: "1" })
      yield* screen.draw([], [line("x".repeat(30)), line("y")])
      out.columns = 20
      yield* screen.draw([], [])
      assert.strictEqual(written.at(-1), "\x1b[3A\r\x1b[J")
    }).pipe(Effect.scoped))

  it.effect("PGM-2 a picture that is higher than the terminal shows its end", () =>
    Effect.gen(function*() {
      const { stream: out, written } = stream(true)
      const screen = yield* Screen.make(out, { NO_COLOR: "1" })
      yield* screen.draw([], ["1", "2", "3", "4", "5"].map(line))
      assert.strictEqual(written.at(-1), "2\n3\n4\n5\n")
    }).pipe(Effect.scoped))

  it("PGM-2 NO_COLOR counts unless it is empty", () => {
    assert.isTrue(Screen.hasColour({ isTTY: true }, { NO_COLOR: "" }))
    assert.isFalse(Screen.hasColour({ isTTY: true }, { NO_COLOR: "1" }))
    assert.isFalse(Screen.hasColour({ isTTY: true }, { TERM: "dumb" }))
    assert.isFalse(Screen.hasColour({}, {}))
  })
})
