/** Bundles the binary: one file loads several times faster than the modules it is made of. */
import { readdir, rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const { output } = await build({
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

// Chunks of earlier builds go last, so that a process which starts meanwhile finds all of its own.
const written = new Set(output.map((file) => file.fileName))
for (const name of await readdir(here("dist/chunks"))) {
  if (!written.has(`chunks/${name}`)) await rm(here(`dist/chunks/${name}`))
}
