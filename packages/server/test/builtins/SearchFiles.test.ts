import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { truncateSync } from "node:fs"
import { join } from "node:path"
import { Folder, told, withFolder } from "./Folder.ts"

const search = (pattern: string, path?: string) =>
  told("search_files", path === undefined ? { pattern } : { pattern, path })

describe("BLT-1 search_files", () => {
  it.live("finds a literal text, a line once, with path and line number", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("b.txt", "no\r\nfoo foo\r\n\r\nfoo")
      put("a/x.txt", "a.c\nabc\n")
      put("a/name:1\n", "foo")
      assert.strictEqual(yield* search("foo"), "\"a/name:1\\n\":1: foo\nb.txt:2: foo foo\nb.txt:4: foo\n")
      assert.strictEqual(yield* search("a.c"), "a/x.txt:1: a.c\n")
      assert.strictEqual(yield* search("FOO"), "(no match in 3 files)")
      assert.strictEqual(yield* search("foo", "b.txt"), "b.txt:2: foo foo\nb.txt:4: foo\n")
      assert.strictEqual(yield* search("abc", "a"), "a/x.txt:2: abc\n")
      assert.strictEqual(yield* search("c\nabc"), "a/x.txt:1: a.c\n")
    }).pipe(withFolder))

  it.live("a pattern that would be a catastrophic regular expression is only a text", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", `${"a".repeat(1_000_000)}!\n(a+)+$\n`)
      assert.strictEqual(yield* search("(a+)+$"), "f:2: (a+)+$\n")
    }).pipe(withFolder))

  it.live("a long line is shown around the match, cut between characters", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", `${"€".repeat(100)}needle${"😀".repeat(100)}\n`)
      assert.strictEqual(yield* search("needle"), `f:1: …${"€".repeat(26)}needle${"😀".repeat(38)}…\n`)
    }).pipe(withFolder))

  it.live("binary and oversized files, .git and node_modules are left out; a path names them", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("binary", "\0foo")
      put(".git/x", "foo")
      put("d/node_modules/x", "foo")
      truncateSync(put("over", "foo"), 4 * 1024 * 1024 + 1)
      put("limit", `foo${"x".repeat(4 * 1024 * 1024 - 3)}`)
      const text = yield* search("foo")
      assert.isTrue(text.startsWith(`limit:1: foo${"x".repeat(157)}…\n`))
      assert.isTrue(text.endsWith("\n… not searched: 1 file larger than 4,194,304 bytes"))
      assert.strictEqual(text.split("\n").length, 2)
      assert.strictEqual(yield* search("foo", "d/node_modules"), "d/node_modules/x:1: foo\n")
      assert.strictEqual(yield* search("foo", ".git"), ".git/x:1: foo\n")
    }).pipe(withFolder))

  it.live("matches are bounded, and the text says that there are more", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("f", "foo\n".repeat(100_000))
      const text = yield* search("foo")
      assert.isAtMost(Buffer.byteLength(text), 32_768)
      assert.isTrue(text.startsWith("f:1: foo\nf:2: foo\n"))
      assert.isTrue(text.endsWith("\n… more matches; search a narrower path or a longer text"))
    }).pipe(withFolder))

  it.live("matches of exactly the bound are all shown, of one more the text says so", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      const name = (i: number) => `${i}`.padStart(120, "0")
      for (let i = 0; i < 256; i++) put(name(i), "foo")
      const whole = yield* search("foo")
      assert.strictEqual(whole, Array.from({ length: 256 }, (_, i) => `${name(i)}:1: foo\n`).join(""))
      assert.strictEqual(Buffer.byteLength(whole), 32_768)
      put(name(256), "foo")
      assert.isTrue((yield* search("foo")).endsWith("\n… more matches; search a narrower path or a longer text"))
    }).pipe(withFolder))

  it.live("directories nested deeper than the bound are told, not followed", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put(`${"d/".repeat(64)}f`, "foo")
      put(`${"d/".repeat(65)}f`, "foo")
      assert.strictEqual(
        yield* search("foo"),
        `${"d/".repeat(64)}f:1: foo\n… not searched: 1 directory nested too deep`
      )
      assert.strictEqual(
        yield* search("foo", join("d", "d")),
        `${"d/".repeat(65)}f:1: foo\n${"d/".repeat(64)}f:1: foo\n`
      )
    }).pipe(withFolder))
})
