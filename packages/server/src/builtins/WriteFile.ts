/**
 * `write_file`: one whole file (BLT-1).
 *
 * Rule: a reader sees the old content or the new one, never a mixture: the content goes to a new file beside the target,
 * which then takes the target's name. Nothing is ever written through a link. This is an edge: it
 * writes files.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import * as Path from "node:path"
import * as BuiltinTool from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"
import { system, systemFailure, type Workspace } from "./Workspace.ts"

const Arguments = Schema.Struct({ path: BuiltinTool.NonEmpty, content: Schema.String })

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL

/** Makes the tool for a workspace. */
export const make = (workspace: Workspace["Service"]): BuiltinTool.BuiltinTool => {
  const write = Effect.fnUntraced(function*(path: string, content: string) {
    const place = yield* workspace.resolve(path)
    const exists = place.missing.length === 0
    const failed = (code: string) => systemFailure(place.shown, code)
    if (exists && place.real === workspace.root) return yield* Effect.fail(failed("EISDIR"))

    const names = exists ? [Path.basename(place.real)] : place.missing
    let directory = yield* workspace.openPlace(
      { real: exists ? Path.dirname(place.real) : place.real, missing: [], shown: place.shown },
      "directory"
    )
    for (const name of names.slice(0, -1)) {
      const parent = directory
      yield* system(() => fs.mkdir(parent.at(name))).pipe(
        Effect.catch((code) => code === "EEXIST" ? Effect.void : Effect.fail(failed(code)))
      )
      directory = yield* workspace.openEntry(parent, name, { kind: "directory" })
    }

    const name = names[names.length - 1]!
    const old = exists ? yield* workspace.openEntry(directory, name, { flags: constants.O_WRONLY }) : undefined
    const temporary = `.errand-${globalThis.crypto.randomUUID()}.tmp`
    const file = yield* workspace.openEntry(directory, temporary, { flags: NEW_FILE, mode: 0o666 })
    yield* Effect.addFinalizer(() => Effect.ignore(system(() => fs.unlink(directory.at(temporary)))))
    const bytes = Buffer.from(content)
    const step = (call: () => Promise<void>) => Effect.mapError(system(call), failed)
    yield* step(() => file.handle.writeFile(bytes))
    if (old !== undefined) yield* step(() => file.handle.chmod(old.stat.mode & 0o777))
    yield* step(() => file.handle.sync())
    yield* step(() => fs.rename(directory.at(temporary), directory.at(name)))
    const what = old === undefined ? "Created" : "Replaced"
    return BuiltinTool.success(
      `${what} ${Excerpt.oneLine(Excerpt.clip(place.shown, 300))} with ${Excerpt.counted(bytes.length, "byte")}.`
    )
  })

  return BuiltinTool.make({
    name: "write_file",
    description: "Writes a text file of the workspace: makes it, with the directories it needs, or replaces all of it.",
    properties: {
      path: { type: "string", minLength: 1, description: "Path relative to the workspace." },
      content: { type: "string", description: "The whole new content." }
    },
    required: ["path", "content"],
    arguments: Arguments,
    inspection: false,
    asks: true,
    summary: ({ content, path }) =>
      `write ${Excerpt.counted(Excerpt.size(content), "byte")} to ${Excerpt.oneLine(path)}`,
    // Short and bounded: an interruption waits for it rather than leave a temporary file or half a path behind.
    run: ({ content, path }) => Effect.uninterruptible(Effect.scoped(write(path, content)))
  })
}
