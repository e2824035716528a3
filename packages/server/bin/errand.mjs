#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`errand needs Node 22.19 or newer; this is ${process.version}.\n`)
  process.exit(64)
}
// What V8 made of the code is kept beside it: only who may change the code can write there. Where nobody can, nothing is kept.
process.getBuiltinModule("node:module").enableCompileCache(`${import.meta.dirname}/../.compiled`)
await import("../dist/errand.mjs")
