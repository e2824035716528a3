import { assert, describe, it } from "@effect/vitest"
import { SessionStore } from "@errand/server"
import { Effect } from "effect"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeFolder } from "../src/SessionFiles.ts"

const mode = (path: string): number => statSync(path).mode & 0o777

/** A folder that is removed at the end. */
const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "errand-folders-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

describe("3. the home directory", () => {
  it.effect("BLT-6 every folder that is made is closed to others, and one that exists is closed", () =>
    Effect.gen(function*() {
      const top = yield* temporary
      makeFolder(join(top, "a/b/c"))
      for (const path of ["a", "a/b", "a/b/c"]) assert.strictEqual(mode(join(top, path)), 0o700)
      chmodSync(join(top, "a/b"), 0o755)
      makeFolder(join(top, "a/b"))
      assert.strictEqual(mode(join(top, "a/b")), 0o700)
      mkdirSync(join(top, "real"))
      symlinkSync(join(top, "real"), join(top, "link"))
      makeFolder(join(top, "link/d"))
      assert.strictEqual(mode(join(top, "real/d")), 0o700)
    }))

  it.effect("SES-1 a file in the place of a folder is refused and left as it is", () =>
    Effect.gen(function*() {
      const top = yield* temporary
      const file = join(top, "file")
      writeFileSync(file, "mine", { mode: 0o644 })
      symlinkSync(join(top, "nowhere"), join(top, "link"))
      for (const path of ["file", "file/deep", "file/deep/er", "link", "link/deep"]) {
        assert.throws(() => makeFolder(join(top, path)))
      }
      assert.strictEqual(mode(file), 0o644)
    }))

  for (const home of ["/dev/null/home", ...process.platform === "linux" ? ["/proc/none", "/proc/none/home"] : []]) {
    it.effect(`CLS-3 SES-9 a home that cannot be made refuses the session and holds nothing up: ${home}`, () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        assert.strictEqual((yield* Effect.flip(store.create))._tag, "StorageFailed")
      }).pipe(Effect.provide(SessionStore.layerSqlite(home))))
  }
})
