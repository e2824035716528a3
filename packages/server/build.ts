/** Bundles the binary: one file loads several times faster than the modules it is made of. */
import { rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

await rm(here("dist/chunks"), { recursive: true, force: true })
await build({
  // the worker stands where the chunks do: beside the module that starts it
  input: { errand: here("src/bin.ts"), "chunks/SandboxWorker": here("src/codemode/SandboxWorker.ts") },
  platform: "node",
  resolve: { conditionNames: ["@errand/source", "node", "import", "default"] },
  external: [/^node:/],
  output: {
    dir: here("dist"),
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "chunks/[name]-[hash].mjs",
    minify: true
  },
  logLevel: "warn"
})
