/**
 * The packages as a stranger gets them: packed, unpacked into an empty project outside the workspace, type-checked and
 * run there. What they need of others is linked from the workspace, so that the test needs no network.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { publint } from "publint"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const names = ["protocol", "runtime", "models", "client", "server", "testing"]
const license = readFileSync(join(root, "packages/protocol/LICENSE"), "utf8")
const bin = (name: string) => join(root, "node_modules/.bin", name)

const packed = (folder: string, name: string): string => {
  const out = execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], {
    cwd: join(root, "packages", name),
    encoding: "utf8"
  })
  return join(folder, out.trim().split("\n").at(-1)!)
}

/** A program that uses what each package exports, as its README shows. */
const program = `
import { Effect, Schema } from "effect"
import { Client, Tool } from "@errand/client"
import { Json, Limits } from "@errand/protocol"
import { decide } from "@errand/runtime"
import { Harness } from "@errand/runtime/suspend"
import { Script } from "@errand/models"
import { SessionStore } from "@errand/server"
import { TestServer } from "@errand/testing"
import { ProviderEmulator } from "@errand/testing/providers"

const lookup = Tool.make("lookup_record", {
  description: "Looks up a record.",
  parameters: Schema.Struct({ record_id: Schema.String }),
  success: Schema.Struct({ found: Schema.Boolean })
}).handle(({ record_id }) => Effect.succeed({ found: record_id === "7" }))

// @ts-expect-error a result of another type is a compile error
Tool.make("wrong", { description: "d", success: Schema.Struct({ n: Schema.Number }) }).handle(() => Effect.succeed({ n: "1" }))

export const used = [
  Client, lookup, Json.read("{}"), Limits.defaults, decide([], "x", "direct", "allow"), Harness.make, Script, SessionStore,
  TestServer, ProviderEmulator
]
process.stdout.write(\`\${used.length} used\\n\`)
`

const project = mkdtempSync(join(tmpdir(), "errand-install-"))
const tarballs = new Map<string, string>()

describe("packages that install", () => {
  beforeAll(() => {
    for (const name of names) tarballs.set(name, packed(project, name))
  }, 120_000)
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  for (const name of names) {
    it(`@errand/${name} passes publint`, { timeout: 60_000 }, async () => {
      const { buffer } = new Uint8Array(readFileSync(tarballs.get(name)!))
      const { messages } = await publint({ strict: true, pack: { tarball: buffer } })
      assert.deepStrictEqual(messages.map(({ code, path }) => [code, path.join(".")]), [])
    })
  }

  it(
    "packed and unpacked into an empty project they type-check, load, and run the binary",
    { timeout: 120_000 },
    () => {
      const modules = join(project, "node_modules")
      mkdirSync(join(modules, "@errand"), { recursive: true })
      for (const name of names) {
        const unpacked = join(project, `unpacked-${name}`)
        mkdirSync(unpacked)
        execFileSync("tar", ["-xzf", tarballs.get(name)!, "-C", unpacked])
        const files = readdirSync(join(unpacked, "package"), { recursive: true, encoding: "utf8" })
        assert.isFalse(files.some((file) => file.endsWith(".tsbuildinfo") || file.includes("test")), name)
        assert.includeMembers(files, ["README.md", "package.json"], name)
        assert.strictEqual(readFileSync(join(unpacked, "package/LICENSE"), "utf8"), license, name)
        cpSync(join(unpacked, "package"), join(modules, "@errand", name), { recursive: true })
        const manifest = JSON.parse(readFileSync(join(modules, "@errand", name, "package.json"), "utf8"))
        for (
          const needed of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, "@types/node": "" })
        ) {
          const link = join(modules, needed)
          if (needed.startsWith("@errand/") || existsSync(link)) continue
          mkdirSync(dirname(link), { recursive: true })
          symlinkSync(join(root, "node_modules", needed), link)
        }
      }
      writeFileSync(
        join(project, "package.json"),
        JSON.stringify({ name: "stranger", private: true, type: "module" })
      )
      writeFileSync(join(project, "main.ts"), program)
      writeFileSync(
        join(project, "tsconfig.json"),
        JSON.stringify({
          compilerOptions: {
            module: "NodeNext",
            target: "ES2024",
            strict: true,
            skipLibCheck: true,
            outDir: "out",
            types: ["node"]
          },
          include: ["main.ts"]
        })
      )
      const checked = spawnSync(bin("tsc"), ["-p", project], { encoding: "utf8" })
      assert.strictEqual(checked.stdout, "")
      assert.strictEqual(execFileSync(bin("node"), [join(project, "out/main.js")], { encoding: "utf8" }), "10 used\n")

      const served = spawnSync(bin("node"), [join(modules, "@errand/server/bin/errand.mjs"), "serve", "--stdio"], {
        input: `{"id":"1","method":"initialize","params":{"required_capabilities":[]}}\n`,
        encoding: "utf8",
        env: { PATH: process.env["PATH"], ERRAND_HOME: join(project, "home") }
      })
      assert.strictEqual(served.status, 0, served.stderr)
      const [hello, closing] = served.stdout.trim().split("\n").map((line) => JSON.parse(line))
      assert.strictEqual(hello.result.protocol, "errand.local-agent")
      assert.strictEqual(closing.data.reason, "input_closed")
    }
  )
})
