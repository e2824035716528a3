import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { closeSync, ftruncateSync, openSync } from "node:fs"
import { join } from "node:path"
import { call, Folder, told, withFolder } from "./Folder.ts"

const read = (args: object) => told("read_file", { path: "f", ...args })

const failed = (args: object) =>
  Effect.map(call("read_file", { path: "f", ...args }), (outcome) => outcome._tag === "Failure" ? outcome.text : "")

describe("BLT-1 read_file", () => {
  it.live("lines are counted from 1, and what is left out is told", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", "one\r\ntwo\nthree")
      assert.strictEqual(yield* read({}), "one\r\ntwo\nthree")
      assert.strictEqual(yield* read({ offset: 2 }), "two\nthree")
      assert.strictEqual(yield* read({ offset: 1, limit: 1 }), "one\r\n… 2 more lines. Continue with offset 2")
      assert.strictEqual(yield* read({ offset: 2, limit: 1 }), "two\n… 1 more line. Continue with offset 3")
      assert.strictEqual(yield* read({ offset: 3, limit: 1 }), "three")
      assert.strictEqual(yield* failed({ offset: 4 }), "f has 3 lines; there is no line 4.")
      put("f", "one\n")
      assert.strictEqual(yield* failed({ offset: 2 }), "f has 1 line; there is no line 2.")
      put("f", "")
      assert.strictEqual(yield* read({}), "(the file is empty)")
      assert.strictEqual(yield* failed({ offset: 2 }), "f has 0 lines; there is no line 2.")
    }).pipe(withFolder))

  it.live("a file of exactly the bound is whole, one byte more is cut at a line", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      const line = "0123456789abcde\n"
      const whole = line.repeat(2048)
      put("f", whole)
      assert.strictEqual(yield* read({}), whole)
      put("f", `${whole}x`)
      const cut = yield* read({})
      assert.isAtMost(Buffer.byteLength(cut), 32_768)
      assert.strictEqual(cut, `${line.repeat(2032)}… 17 more lines. Continue with offset 2033`)
      assert.strictEqual(yield* read({ offset: 2033 }), `${line.repeat(16)}x`)
    }).pipe(withFolder))

  it.live("a line longer than the bound is cut between characters", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", `${"€".repeat(20_000)}\nnext\n`)
      const text = yield* read({})
      assert.isTrue(
        text.endsWith("€\n… line 1 is cut here; it has 60,001 bytes\n… 1 more line. Continue with offset 2")
      )
      assert.isAtMost(Buffer.byteLength(text), 32_768)
      assert.notInclude(text, "\ufffd")
    }).pipe(withFolder))

  it.live("PRO-5 a file of control characters is cut so that protection cannot reject it", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", "\u0007\n".repeat(16_000))
      const text = yield* read({})
      assert.isAtMost(Buffer.byteLength(text.replaceAll("\u0007", "\ufffd")), 32_768)
      assert.match(text, /more lines\. Continue with offset \d+$/)
    }).pipe(withFolder))

  it.live("bytes that are no UTF-8 are replaced, a byte order mark stays, a NUL makes a file binary", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff, 0x0a]))
      assert.strictEqual(yield* read({}), "\ufeffa\ufffd\n")
      put("f", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x00]))
      assert.strictEqual(yield* failed({}), "f is a binary file of 5 bytes; read_file reads text only.")
    }).pipe(withFolder))

  it.live("a huge file is neither read whole nor kept", () =>
    Effect.gen(function*() {
      const { put, workspace } = yield* Folder
      put("f", `first\n${"x".repeat(10_000)}`)
      const file = openSync(join(workspace, "f"), "r+")
      ftruncateSync(file, 2 ** 36)
      closeSync(file)
      assert.strictEqual(
        yield* read({ limit: 1 }),
        "first\n… more lines; the file has 68,719,476,736 bytes. Continue with offset 2"
      )
      assert.match(yield* failed({ offset: 3 }), /^Line 3 of f lies beyond its first 67,108,864 bytes/)
    }).pipe(withFolder))

  it.live("every byte of a long file comes back when each answer is continued", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      const content = Array.from({ length: 9000 }, (_, i) => `${i} ${"é".repeat(i % 40)}\r\n`).join("")
      put("f", content)
      let all = ""
      for (let offset = 1; offset > 0;) {
        const text = yield* read({ offset })
        const more = /… [\d,]+ more lines?\. Continue with offset (\d+)$/.exec(text)
        all += more === null ? text : text.slice(0, more.index)
        offset = more === null ? 0 : Number(more[1])
      }
      assert.strictEqual(all, content)
    }).pipe(withFolder))

  it.live("a missing file and a directory are told without a path of the host", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("d/f", "x")
      assert.strictEqual(yield* failed({ path: "d/none" }), "d/none: there is no such file or directory")
      assert.strictEqual(yield* failed({ path: "d/f/x" }), "d/f/x: there is no such file or directory")
      assert.strictEqual(yield* failed({ path: "d" }), "d: it is a directory")
      assert.strictEqual(yield* failed({ path: "n".repeat(256) }), `${"n".repeat(256)}: the path is too long`)
    }).pipe(withFolder))
})
