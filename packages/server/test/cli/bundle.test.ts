import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const dist = fileURLToPath(new URL("../../dist", import.meta.url))

/** What a chunk is loaded with: the chunks that it imports, and those that they import. */
const loaded = (path: string, seen = new Map<string, string>()): ReadonlyMap<string, string> => {
  if (seen.has(path)) return seen
  const text = readFileSync(path, "utf8")
  seen.set(path, text)
  for (const [, file] of text.matchAll(/(?:from|import)\s*"(\.[^"]+)"/g)) loaded(join(dirname(path), file!), seen)
  return seen
}

const chunk = (name: string) => {
  const entry = readFileSync(join(dist, "errand.mjs"), "utf8")
  const file = new RegExp(`import\\(\\s*["'\`](\\./chunks/${name}-[^"'\`]+)`).exec(entry)
  assert.isNotNull(file, `errand.mjs loads no chunk ${name}`)
  return [...loaded(join(dist, file![1]!)).values()].join("\n")
}

/** Texts that stand in one part of the program only. */
const marks = {
  "the command line library": "Print shell completion script",
  "the client": "; its stderr ends:",
  "the demo": "answered out of order"
}

describe("1 the bundle", () => {
  it("PGM-1 serve loads neither the command line library, nor the client, nor the demo", () => {
    const [serve, main] = [chunk("Serve"), chunk("Main")]
    for (const [what, mark] of Object.entries(marks)) {
      assert.include(main, mark, `the mark of ${what} has changed`)
      assert.notInclude(serve, mark, `serve loads ${what}`)
    }
  })
})
