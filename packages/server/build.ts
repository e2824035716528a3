/** Bundles the binary: one file loads several times faster than the modules it is made of. */
import { readdir, rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const common = {
  platform: "node" as const,
  resolve: { conditionNames: ["@errand/source", "node", "import", "default"] },
  external: [/^node:/],
  logLevel: "warn" as const
}
const files = {
  dir: here("dist"),
  format: "esm",
  entryFileNames: "[name].mjs",
  chunkFileNames: "chunks/[name]-[hash].mjs",
  minify: true
} as const

// The exporter shares nothing with the rest: what only it needs of a shared module would be loaded by every start.
const exporter = await build({
  ...common,
  input: { "chunks/OtlpExport": here("src/OtlpExport.ts") },
  output: { ...files, codeSplitting: false }
})
const main = await build({
  ...common,
  // the worker stands where the chunks do: beside the module that starts it
  input: { errand: here("src/bin.ts"), "chunks/SandboxWorker": here("src/codemode/SandboxWorker.ts") },
  plugins: [{
    name: "apart",
    resolveId: (id) => id === "./OtlpExport.ts" ? { id: "./OtlpExport.mjs", external: true } : null
  }],
  output: files
})

// Chunks of earlier builds go last, so that a process which starts meanwhile finds all of its own.
const written = new Set([...exporter.output, ...main.output].map((file) => file.fileName))
for (const name of await readdir(here("dist/chunks"))) {
  if (!written.has(`chunks/${name}`)) await rm(here(`dist/chunks/${name}`))
}
