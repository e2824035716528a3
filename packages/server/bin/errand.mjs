#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`errand needs Node 22.19 or newer; this is ${process.version}.\n`)
  process.exit(64)
}
await import("../dist/errand.mjs")
