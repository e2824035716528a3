/**
 * The tools that the server itself executes, besides delegation and Code Mode (BLT-1).
 *
 * Rule: names are unique and never start with `client__` or `mcp__`, so nothing can take a built-in's place (PRM-3).
 */
import { Limits } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { BuiltinTool } from "./BuiltinTool.ts"
import * as ListFiles from "./ListFiles.ts"
import { ProcessGroups } from "./ProcessGroup.ts"
import * as ReadFile from "./ReadFile.ts"
import * as RunCommand from "./RunCommand.ts"
import * as SearchFiles from "./SearchFiles.ts"
import { type Options, Workspace, type WorkspaceUnusable } from "./Workspace.ts"
import * as WriteFile from "./WriteFile.ts"

/** The built-in tools of one workspace; results are at most `result_bytes` long, protected or not. */
export class Builtins extends Context.Service<Builtins, {
  /** In the order in which they are offered. */
  readonly tools: ReadonlyArray<BuiltinTool>
  /** The tool of a name. */
  readonly get: (name: string) => BuiltinTool | undefined
}>()("@errand/server/builtins/Builtins") {
  /** The tools over a workspace and process groups that are provided. */
  static readonly layerNoDeps: Layer.Layer<Builtins, never, Workspace | ProcessGroups> = Layer.effect(
    Builtins,
    Effect.gen(function*() {
      const workspace = yield* Workspace
      const groups = yield* ProcessGroups
      const { clientTools: { result_bytes: max } } = yield* Limits.Limits
      const tools = [
        ReadFile.make(workspace, max),
        ListFiles.make(workspace, max),
        SearchFiles.make(workspace, max),
        WriteFile.make(workspace),
        RunCommand.make(workspace, groups, max)
      ]
      const byName = new Map(tools.map((tool) => [tool.name, tool]))
      return Builtins.of({ tools, get: (name) => byName.get(name) })
    })
  )

  /** The tools for a workspace, with the processes they start ended when the layer's scope closes. */
  static readonly layer = (options: Options): Layer.Layer<Builtins, WorkspaceUnusable> =>
    Builtins.layerNoDeps.pipe(Layer.provide([Workspace.layer(options), ProcessGroups.layer]))
}
