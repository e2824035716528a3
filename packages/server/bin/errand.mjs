#!/usr/bin/env node
/**
 * The executable. `serve`, which every client waits for, is loaded as a script of which V8 keeps what it compiled; all
 * else, its help and every other wrong usage are a module that has the command line library.
 *
 * Rule: what is kept lies beside the package, where only who may change the code can write; it was written whole, and is
 * checked. Where nobody can write, nothing is kept. `NODE_DISABLE_COMPILE_CACHE=1` turns it off.
 */
import path from "node:path"
import vm from "node:vm"

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`errand needs Node 22.19 or newer; this is ${process.version}.\n`)
  process.exit(64)
}
if (process.platform === "win32") {
  process.stderr.write("errand runs on Linux and macOS; on Windows run it inside WSL.\n")
  process.exit(64)
}
// an import would load what `fs.promises` gives
const fs = process.getBuiltinModule("node:fs")
const { createRequire, enableCompileCache } = process.getBuiltinModule("node:module")

const chunks = path.join(import.meta.dirname, "../dist/chunks")
const kept = path.join(import.meta.dirname, "../.compiled")

/** What a process before this one kept of a script: two checksums, of the code and of the rest, and the rest. */
const recall = (copy, code) => {
  try {
    const { crc32 } = process.getBuiltinModule("node:zlib")
    const bytes = fs.readFileSync(copy)
    const data = bytes.subarray(8)
    return bytes.readUInt32LE(0) === crc32(code) && bytes.readUInt32LE(4) === crc32(data) ? data : undefined
  } catch {
    return undefined
  }
}

const keep = (copy, code, script) => {
  const draft = `${copy}.${process.pid}`
  try {
    const { crc32 } = process.getBuiltinModule("node:zlib")
    const data = script.createCachedData()
    const sums = Buffer.alloc(8)
    sums.writeUInt32LE(crc32(code), 0)
    sums.writeUInt32LE(crc32(data), 4)
    fs.mkdirSync(kept, { recursive: true })
    fs.writeFileSync(draft, Buffer.concat([sums, data]))
    fs.renameSync(draft, copy)
  } catch {
    if (fs.existsSync(draft)) fs.rmSync(draft)
  }
}

/** When a start is over: what runs later would only make longer what every start reads. */
const STARTED_MS = 300

const loaded = new Map()
let fresh = []
const keepFresh = () => {
  const keeping = fresh
  fresh = []
  for (const one of keeping) one()
}

/**
 * Loads a script as `require` would. `require` and `import` keep code as it is before it runs, and every start compiles
 * most functions anew; what is kept after a start has them all, which saves a third of it.
 */
const load = (file) => {
  const known = loaded.get(file)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  loaded.set(file, module)
  const code = fs.readFileSync(file)
  const copy = path.join(kept, `${path.basename(file)}-${process.version}-${process.platform}-${process.arch}`)
  const keeps = process.env.NODE_DISABLE_COMPILE_CACHE === undefined
  const script = new vm.Script(`(function (exports, require, module, __filename) { ${code}\n})`, {
    filename: file,
    cachedData: keeps ? recall(copy, code) : undefined
  })
  if (keeps && script.cachedDataRejected !== false) fresh.push(() => keep(copy, code, script))
  const require = (id) => id.startsWith(".") ? load(path.join(path.dirname(file), id)) : createRequire(file)(id)
  script.runInThisContext().call(module.exports, module.exports, require, module, file)
  return module.exports
}

const args = process.argv.slice(2)
const ask = args.findIndex((arg) => /^(?:--|-h|-v|--help|--version|--completions(?:=.*)?)$/.test(arg))
if (args[0] === "serve" && (ask < 0 || args[ask] === "--")) {
  load(path.join(chunks, "serve.cjs")).main(args.slice(1))
  if (fresh.length > 0) {
    setTimeout(keepFresh, STARTED_MS).unref()
    process.on("exit", keepFresh)
  }
} else {
  enableCompileCache(kept)
  const { main } = await import("../dist/chunks/main.mjs")
  main(args)
}
