/**
 * `list_files`: the entries of one directory (BLT-1).
 *
 * Rule: a listing tells names and kinds only; it follows no link.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Dirent } from "node:fs"
import * as BuiltinTool from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Listing from "./Listing.ts"
import type { Workspace } from "./Workspace.ts"

const Arguments = Schema.Struct({ path: Schema.optionalKey(BuiltinTool.NonEmpty) })

/** Room for the line that says what was left out. */
const NOTICE_BYTES = 64

const lineOf = (entry: Dirent): string => {
  const name = Excerpt.oneLine(entry.name)
  if (entry.isDirectory()) return `${name}/\n`
  if (entry.isFile()) return `${name}\n`
  return `${name} (${entry.isSymbolicLink() ? "symbolic link" : "special file"})\n`
}

/** Makes the tool for a workspace; `max` bounds the result's bytes. */
export const make = (workspace: Workspace["Service"], max: number): BuiltinTool.BuiltinTool =>
  BuiltinTool.make({
    name: "list_files",
    description: "Lists one directory of the workspace, an entry a line; names of directories end in a slash.",
    properties: {
      path: { type: "string", minLength: 1, description: "Path relative to the workspace. Default: the workspace." }
    },
    required: [],
    arguments: Arguments,
    inspection: true,
    asks: false,
    summary: ({ path = "." }) => `list ${Excerpt.oneLine(path)}`,
    run: Effect.fnUntraced(function*({ path = "." }) {
      const { entries, more } = yield* Listing.read(yield* workspace.open(path, "directory"))
      if (entries.length === 0) return BuiltinTool.success("(the directory is empty)")
      const all = entries.map(lineOf)
      return BuiltinTool.success(
        Excerpt.fit(max, (budget) =>
          Excerpt.listing(all, budget, NOTICE_BYTES, ({ rest }) =>
            rest + more === 0 ? [] : [Excerpt.counted(rest + more, "more entry", "more entries")]))
      )
    }, Effect.scoped)
  })
