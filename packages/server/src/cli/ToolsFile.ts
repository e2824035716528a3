/**
 * A file of client tools: a module whose default export is an array of tools with handlers, or a JSON array of
 * descriptors (PGM-6).
 *
 * Rule: a file that cannot be used says which element is wrong. This is an edge: it reads files and runs modules.
 */
import { Tool, type ToolHandler } from "@errand/client"
import { ClientTool } from "@errand/protocol"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { readFile, stat } from "node:fs/promises"
import { extname, resolve } from "node:path"
import { pathToFileURL } from "node:url"

/** There is no such file, or it may not be read. */
export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{
  readonly file: string
  readonly reason: string
}> {
  override get message(): string {
    return `cannot read ${this.file} (${this.reason})`
  }
}

/** The file is there and is no tools file; each fault begins with its path. */
export class ToolsInvalid extends Data.TaggedError("ToolsInvalid")<{
  readonly file: string
  readonly faults: ReadonlyArray<string>
}> {
  override get message(): string {
    return `${this.file}: ${this.faults.join("; ")}`
  }
}

/** The tools that a module exports by default. */
export const load = Effect.fnUntraced(function*(
  file: string
): Effect.fn.Return<ReadonlyArray<ToolHandler>, FileUnreadable | ToolsInvalid> {
  yield* readable(file, () => stat(file))
  const invalid = (...faults: ReadonlyArray<string>) => new ToolsInvalid({ file, faults })
  const module = yield* Effect.tryPromise({
    try: () => import(pathToFileURL(resolve(file)).href) as Promise<{ readonly default?: unknown }>,
    catch: (thrown) => invalid(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown))
  })
  const tools = module.default
  if (!Array.isArray(tools)) return yield* invalid("default: expected an array of client tools")
  const faults = tools.flatMap((tool, i) =>
    isToolHandler(tool) ? [] : [`default[${i}]: expected a client tool, Tool.make(…).handle(…) of @errand/client`]
  )
  return faults.length === 0 ? tools : yield* invalid(...faults)
})

/** The tools of a module, whose names and bounds fit together as well (CLT-3). */
export const loadToolkit = Effect.fnUntraced(function*(file: string) {
  const tools = yield* load(file)
  const kit = Result.try(() => Tool.toolkit(tools))
  return Result.isSuccess(kit)
    ? kit.success
    : yield* new ToolsInvalid({ file, faults: [kit.failure instanceof Error ? kit.failure.message : "not valid"] })
})

/** The descriptors in a file, as the JSON array that a client would send. */
export const descriptors = (file: string): Effect.Effect<string, FileUnreadable | ToolsInvalid> =>
  extname(file) === ".json"
    ? readable(file, () => readFile(file, "utf8"))
    : Effect.map(load(file), (tools) => `[${tools.map(({ declaration }) => ClientTool.effective(declaration)).join()}]`)

const readable = <A>(file: string, read: () => Promise<A>): Effect.Effect<A, FileUnreadable> =>
  Effect.tryPromise({
    try: read,
    catch: (error) => {
      const reason = error instanceof Error && "code" in error ? String(error.code) : "unknown reason"
      return new FileUnreadable({ file, reason })
    }
  })

// A module brings its own copy of the client package, so that only the shape of what it made can be asked.
const isToolHandler = (value: unknown): value is ToolHandler => {
  if (typeof value !== "object" || value === null) return false
  const { answer, declaration } = value as { readonly answer?: unknown; readonly declaration?: unknown }
  return typeof answer === "function" && typeof declaration === "object" && declaration !== null &&
    ["name", "description", "inputSchema"].every((key) =>
      typeof (declaration as Readonly<Record<string, unknown>>)[key] === "string"
    )
}
