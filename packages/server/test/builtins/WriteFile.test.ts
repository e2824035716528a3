import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { call, Folder, told, withFolder, withoutDescriptors } from "./Folder.ts"

const write = (path: string, content: string) => told("write_file", { path, content })

for (
  const { provide, way } of [
    { way: "with descriptors", provide: withFolder },
    { way: "without descriptors", provide: withoutDescriptors }
  ]
) {
  describe(`BLT-1 write_file, ${way}`, () => {
    it.live("makes a file with the directories it needs, and replaces it", () =>
      Effect.gen(function*() {
        const { workspace } = yield* Folder
        assert.strictEqual(yield* write("a/b/c.txt", "één\r\n"), "Created a/b/c.txt with 7 bytes.")
        assert.strictEqual(readFileSync(join(workspace, "a/b/c.txt"), "utf8"), "één\r\n")
        assert.strictEqual(yield* write("a/b/c.txt", ""), "Replaced a/b/c.txt with 0 bytes.")
        assert.strictEqual(readFileSync(join(workspace, "a/b/c.txt"), "utf8"), "")
        assert.deepStrictEqual(readdirSync(join(workspace, "a/b")), ["c.txt"])
      }).pipe(provide))

    it.live("keeps the mode of a file that it replaces, as a new file", () =>
      Effect.gen(function*() {
        const { put } = yield* Folder
        const file = put("run.sh", "old")
        chmodSync(file, 0o751)
        const before = statSync(file)
        yield* write("run.sh", "new")
        const after = statSync(file)
        assert.strictEqual(after.mode & 0o7777, 0o751)
        assert.notStrictEqual(after.ino, before.ino)
      }).pipe(provide))

    it.live("through a link inside, the target is replaced and the link stays", () =>
      Effect.gen(function*() {
        const { put, workspace } = yield* Folder
        const file = put("sub/target", "old")
        symlinkSync("sub/target", join(workspace, "link"))
        assert.strictEqual(yield* write("link", "new"), "Replaced sub/target with 3 bytes.")
        assert.strictEqual(readFileSync(file, "utf8"), "new")
        assert.isTrue(lstatSync(join(workspace, "link")).isSymbolicLink())
      }).pipe(provide))

    it.live("a directory, a path below a file and a name that is too long leave nothing behind", () =>
      Effect.gen(function*() {
        const { put, workspace } = yield* Folder
        put("file", "x")
        put("dir/x", "x")
        for (const path of [".", "dir", "file/below", `dir/${"n".repeat(256)}`]) {
          const outcome = yield* call("write_file", { path, content: "y" })
          assert.strictEqual(outcome._tag, "Failure", path)
        }
        assert.deepStrictEqual(readdirSync(workspace), ["dir", "file"])
        assert.deepStrictEqual(readdirSync(join(workspace, "dir")), ["x"])
        assert.isFalse(existsSync(join(workspace, "file/below")))
      }).pipe(provide))
  })
}
