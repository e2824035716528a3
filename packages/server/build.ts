/** Bundles the binary: a few files load several times faster than the modules that they are made of. */
import { readdir, rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { build, type Plugin } from "rolldown"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Of these only functions are used, and none before `initialize` was answered: each is loaded by its first call. */
const late = new Set(["node:fs/promises", "node:tty"])

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
    const module = `process.getBuiltinModule(${JSON.stringify(id.slice(1))})`
    const names = Object.keys(process.getBuiltinModule(id.slice(1)) as object)
      .filter((one) => one !== "default" && /^[a-z]\w+$/i.test(one))
    return late.has(id.slice(1))
      ? names.map((one) => `export const ${one} = (...args) => ${module}.${one}(...args)`).join("\n")
      : [
        `const m = ${module}`,
        "export default m",
        ...names.map((one) => `const _${one} = m.${one}; export { _${one} as ${one} }`)
      ].join("\n")
  }
}

const common = {
  platform: "node" as const,
  resolve: { conditionNames: ["@errand/source", "node", "import", "default"] },
  treeshake: { propertyReadSideEffects: false as const },
  logLevel: "warn" as const,
  // Effect reads `import.meta.env` of bundlers for browsers
  checks: { emptyImportMeta: false }
}
const output = { dir: here("dist"), minify: true }

const modules = (name: string, source: string, codeSplitting: boolean) =>
  build({
    ...common,
    input: { [name]: here(source) },
    plugins: [builtins],
    output: {
      ...output,
      format: "esm",
      entryFileNames: "[name].mjs",
      chunkFileNames: "chunks/[name]-[hash].mjs",
      codeSplitting
    }
  })

/** Scripts and not modules: of those V8 can keep what was compiled while they ran (`bin/errand.mjs`). */
const scripts = (name: string, source: string) =>
  build({
    ...common,
    input: { [name]: here(source) },
    plugins: [builtins, {
      name: "apart",
      resolveId: (id) => id === "./OtlpExport.ts" ? { id: "./OtlpExport.cjs", external: true } : null
    }],
    output: {
      ...output,
      format: "cjs",
      dynamicImportInCjs: false,
      entryFileNames: "[name].cjs",
      chunkFileNames: "chunks/[name]-[hash].cjs",
      // one file for all that is needed at once
      codeSplitting: { groups: [{ name: "base", test: /[\\/](?:effect|packages)[\\/]/, minShareCount: 2 }] }
    }
  })

// What is loaded apart shares nothing with the rest: what only it needs of a shared module, every start would load.
const built = await Promise.all([
  scripts("chunks/serve", "src/cli/Serve.ts"),
  scripts("chunks/OtlpExport", "src/OtlpExport.ts"),
  modules("chunks/main", "src/cli/Main.ts", true),
  modules("chunks/SandboxWorker", "src/codemode/SandboxWorker.ts", false)
])

// Chunks of earlier builds go last, so that a process which starts meanwhile finds all of its own.
const written = new Set(built.flatMap(({ output }) => output.map((file) => file.fileName)))
for (const name of await readdir(here("dist/chunks"))) {
  if (!written.has(`chunks/${name}`)) await rm(here(`dist/chunks/${name}`))
}
await rm(here(".compiled"), { recursive: true, force: true })
