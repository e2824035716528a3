import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** A copy of the binary that nothing was kept for yet. */
const install = (use: (directory: string) => void): void => {
  const directory = mkdtempSync(join(tmpdir(), "errand-kept-"))
  try {
    cpSync(here("../../bin"), join(directory, "bin"), { recursive: true })
    cpSync(here("../../dist/chunks"), join(directory, "dist/chunks"), { recursive: true })
    use(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const serves = (directory: string, env: NodeJS.ProcessEnv = {}): void => {
  const { signal, status, stderr, stdout } = spawnSync(
    process.execPath,
    [join(directory, "bin/errand.mjs"), "serve", "--stdio", "--home", join(directory, "home")],
    {
      input: `{"id":"1","method":"initialize","params":{"required_capabilities":[]}}\n`,
      encoding: "utf8",
      env: { PATH: process.env["PATH"], ...env }
    }
  )
  assert.deepStrictEqual([status, signal, stderr], [0, null, ""])
  assert.strictEqual(JSON.parse(stdout.split("\n")[0]!).result.protocol, "errand.local-agent")
}

/** The files that were kept, by name. */
const kept = (directory: string): Array<string> => {
  const folder = join(directory, ".compiled")
  return readdirSync(folder).sort().map((name) => join(folder, name))
}

describe("1 what is kept of the compiled code", () => {
  it("PGM-1 it is kept once, whole, and then used", () =>
    install((directory) => {
      serves(directory)
      const first = kept(directory)
      assert.isAtLeast(first.length, 2)
      for (const file of first) assert.notMatch(file, /\.\d+$/, "a draft is left")
      const times = first.map((file) => statSync(file).mtimeMs)
      serves(directory)
      assert.deepStrictEqual(kept(directory).map((file) => statSync(file).mtimeMs), times)
    }))

  it("PGM-1 what was damaged, cut off, or made of other code is not used but made anew", () =>
    install((directory) => {
      serves(directory)
      const files = kept(directory)
      const whole = files.map((file) => readFileSync(file))
      const damages: Array<(bytes: Buffer) => Buffer> = [
        (bytes) => bytes.fill(0, bytes.length / 2),
        (bytes) => bytes.subarray(0, bytes.length / 2),
        (bytes) => bytes.subarray(0, 3),
        (bytes) => {
          bytes[0]! ^= 1
          return bytes
        },
        (bytes) => {
          bytes[bytes.length - 100]! ^= 1
          return bytes
        }
      ]
      for (const damage of damages) {
        const damaged = whole.map((bytes) => damage(Buffer.from(bytes)))
        for (const [i, file] of files.entries()) writeFileSync(file, damaged[i]!)
        serves(directory)
        for (const [i, file] of files.entries()) assert.notDeepEqual(readFileSync(file), damaged[i], "it was left")
        serves(directory)
      }
    }))

  it("PGM-1 where nothing can or shall be kept, the server serves all the same", () =>
    install((directory) => {
      serves(directory, { NODE_DISABLE_COMPILE_CACHE: "1" })
      assert.notInclude(readdirSync(directory), ".compiled")
      writeFileSync(join(directory, ".compiled"), "no folder")
      serves(directory)
    }))
})
