/**
 * A temporary folder with a workspace, a home and something outside, and the built-in tools for it.
 */
import type { JsonText } from "@errand/protocol"
import type { ToolOutcome } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Builtins } from "../../src/builtins/Builtins.ts"
import { ProcessGroups } from "../../src/builtins/ProcessGroup.ts"
import { type Options, Workspace } from "../../src/builtins/Workspace.ts"

export class Folder extends Context.Service<Folder, {
  readonly root: string
  readonly workspace: string
  readonly home: string
  /** Writes a file of the workspace and tells its path. */
  readonly put: (path: string, content: string | Uint8Array) => string
}>()("@errand/server/test/Folder") {
  static readonly layer = Layer.effect(
    Folder,
    Effect.acquireRelease(
      Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "errand-")))),
      (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true }))
    ).pipe(Effect.map((root) => {
      const workspace = join(root, "workspace")
      mkdirSync(workspace)
      return Folder.of({
        root,
        workspace,
        home: join(root, "home"),
        put: (path, content) => {
          const file = join(workspace, path)
          mkdirSync(dirname(file), { recursive: true })
          writeFileSync(file, content)
          return file
        }
      })
    }))
  )
}

/** The tools with options changed, over a fresh folder. */
export const withOptions = (change: (folder: Folder["Service"]) => Partial<Options>) =>
  Effect.provide(
    Layer.unwrap(Effect.map(Folder, (folder) => {
      const workspace = Workspace.layer({ workspace: folder.workspace, home: folder.home, ...change(folder) })
      return Builtins.layerNoDeps.pipe(Layer.provideMerge([workspace, ProcessGroups.layer]))
    })).pipe(Layer.provideMerge(Folder.layer)),
    { local: true }
  )

/** As on a system without `/proc/self/fd` whose `open` follows no link; that nobody swaps paths meanwhile is up to the test. */
export const withoutDescriptors = withOptions(() => ({ descriptors: "/nowhere", linkFree: true }))

/** The tools over a fresh folder. */
export const withFolder = withOptions(() => ({}))

/** Calls a tool with plain arguments. */
export const call = (name: string, args: unknown): Effect.Effect<ToolOutcome, never, Builtins> =>
  Effect.flatMap(Builtins, (builtins) => builtins.get(name)!.execute(JSON.stringify(args) as JsonText))

/** The text of a call that went well. */
export const told = (name: string, args: unknown): Effect.Effect<string, ToolOutcome, Builtins> =>
  Effect.flatMap(
    call(name, args),
    (outcome) => outcome._tag === "Success" ? Effect.succeed(outcome.text) : Effect.fail(outcome)
  )
