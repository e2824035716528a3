import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const chunks = fileURLToPath(new URL("../../dist/chunks", import.meta.url))

/** A file of the bundle with all that it loads at once. */
const loaded = (name: string, seen = new Set<string>()): string => {
  if (seen.has(name)) return ""
  seen.add(name)
  const text = readFileSync(join(chunks, name), "utf8")
  const files = Array.from(
    text.matchAll(/(?:(?:from|import)\s*|(?<!=>)\brequire\()["'`](\.[^"'`]+)/g),
    ([, file]) => join(dirname(name), file!)
  )
  return [text, ...files.map((file) => loaded(file, seen))].join("\n")
}

/** Texts that stand in one part of the program only. */
const marks = {
  "the command line library": "Print shell completion script",
  "the client": "; its stderr ends:",
  "the demo": "answered out of order"
}

describe("1 the bundle", () => {
  it("PGM-1 serve loads neither the command line library, nor the client, nor the demo", () => {
    const [serve, main] = [loaded("serve.cjs"), loaded("main.mjs")]
    for (const [what, mark] of Object.entries(marks)) {
      assert.include(main, mark, `the mark of ${what} has changed`)
      assert.notInclude(serve, mark, `serve loads ${what}`)
    }
  })
})
