/** Bundles the binary: one file loads several times faster than the modules it is made of. */
import { readdir, rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { build, type Plugin } from "rolldown"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * Takes Node's own modules without `import`: the facade that an ES import makes of one reads all its exports, and so
 * loads what nobody uses. For `node:crypto` or `node:process` that is a tenth of the time a server needs to start.
 */
const builtins: Plugin = {
  name: "builtins",
  resolveId: (id, _importer, { kind }) => {
    if (!id.startsWith("node:")) return null
    return kind === "import-statement" ? { id: `\0${id}`, moduleSideEffects: false } : { id, external: true }
  },
  load: (id) => {
    if (!id.startsWith("\0node:")) return null
    const name = JSON.stringify(id.slice(1))
    const names = Object.keys(process.getBuiltinModule(id.slice(1)) as object).filter((one) => /^[a-z]\w+$/i.test(one))
    const taken = names.filter((one) => one !== "default").map((one) =>
      `const _${one} = m.${one}; export { _${one} as ${one} }`
    )
    return `const m = process.getBuiltinModule(${name})\nexport default m\n${taken.join("\n")}\n`
  }
}

const common = {
  platform: "node" as const,
  resolve: { conditionNames: ["@errand/source", "node", "import", "default"] },
  treeshake: { propertyReadSideEffects: false as const },
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
  plugins: [builtins],
  output: { ...files, codeSplitting: false }
})
const main = await build({
  ...common,
  // the worker stands where the chunks do: beside the module that starts it
  input: { errand: here("src/bin.ts"), "chunks/SandboxWorker": here("src/codemode/SandboxWorker.ts") },
  plugins: [builtins, {
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
