import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { call, Folder, told, withFolder } from "./Folder.ts"

describe("BLT-1 list_files", () => {
  it.live("an entry a line, in order, with its kind; no link is followed", () =>
    Effect.gen(function*() {
      const { put, workspace } = yield* Folder
      put("b.txt", "")
      put("a/x", "")
      put("two\nlines", "")
      symlinkSync("/", join(workspace, "c"))
      execFileSync("mkfifo", [join(workspace, "d")])
      const all = "a/\nb.txt\nc (symbolic link)\nd (special file)\n\"two\\nlines\"\n"
      assert.strictEqual(yield* told("list_files", {}), all)
      assert.strictEqual(yield* told("list_files", { path: "./" }), all)
      assert.strictEqual(yield* told("list_files", { path: "a" }), "x\n")
      mkdirSync(join(workspace, "empty"))
      assert.strictEqual(yield* told("list_files", { path: "empty" }), "(the directory is empty)")
      const file = yield* call("list_files", { path: "b.txt" })
      assert.deepStrictEqual(file, { _tag: "Failure", text: "b.txt: it is not a directory" })
    }).pipe(withFolder))

  it.live("a listing of exactly the bound is whole, one entry more is counted", () =>
    Effect.gen(function*() {
      const { workspace } = yield* Folder
      const name = (i: number) => `${i}`.padStart(127, "0")
      for (let i = 0; i < 256; i++) writeFileSync(join(workspace, name(i)), "")
      const whole = yield* told("list_files", {})
      assert.strictEqual(Buffer.byteLength(whole), 32_768)
      assert.notInclude(whole, "…")
      writeFileSync(join(workspace, name(256)), "")
      const cut = yield* told("list_files", {})
      assert.isAtMost(Buffer.byteLength(cut), 32_768)
      assert.isTrue(cut.endsWith(`${name(254)}\n… 2 more entries`))
    }).pipe(withFolder))
})
