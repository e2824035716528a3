/** A server whose own tools only write down that they ran: what the tests of delegation, catalogs and hooks share. */
import type { Events, JsonText } from "@errand/protocol"
import { CompactCatalog, type LocalTools, Tasks, type ToolOutcome } from "@errand/runtime"
import { type Peer, TestServer } from "@errand/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const call = (name: string, args: unknown = {}) => ({ name, arguments: args })

/** A call of `task`; the script of the agent stands under its description. */
export const task = (description: string, extra: object = {}) =>
  call("task", { description, prompt: `Do ${description}.`, profile: "general", ...extra })

/** A result as the scripted model shows it. */
export interface Shown {
  readonly name: string
  readonly outcome: string
  readonly result: {
    readonly text?: string
    readonly structured?: Readonly<Record<string, unknown>>
    readonly error?: { readonly code: string; readonly message: string }
  }
}

const local = (
  name: string,
  execute: LocalTools.Execute,
  extra: Partial<LocalTools.LocalTool> = {}
): LocalTools.LocalTool => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: "{\"type\":\"object\"}" as JsonText,
  kind: "builtin",
  timeoutMs: 0,
  inspection: false,
  otherwise: "allow",
  execute,
  ...extra
})

/** What ran, and the tools that write it there. `run_code` makes the calls it is given, as Code Mode does. */
const make = Effect.fnUntraced(function*(summary: (() => string) | undefined) {
  const ran: Array<string> = []
  const tasks = Context.get(yield* Layer.build(Tasks.layer), Tasks)
  const note: LocalTools.Execute = ({ name }) =>
    Effect.sync((): ToolOutcome => {
      ran.push(name)
      return { _tag: "Success", text: `${name} ran` }
    })
  const runCode: LocalTools.Execute = (outer) =>
    Effect.gen(function*() {
      const { calls } = JSON.parse(outer.arguments) as { calls: ReadonlyArray<{ name: string; arguments: object }> }
      const outcomes = yield* Effect.forEach(calls, (one) =>
        outer.nested(
          { ...outer.agent, parentId: outer.activityId, view: { ...outer.agent.view, surface: "code" } },
          one.name,
          JSON.stringify(one.arguments)
        ))
      return { _tag: "Success", text: JSON.stringify(outcomes) } as ToolOutcome
    })
  const locals = [
    local("look", note, { inspection: true, ...(summary === undefined ? {} : { summary }) }),
    local("act", note, { otherwise: "ask" }),
    local("mcp__s__t", note, { kind: "mcp", timeoutMs: 1000 }),
    tasks.tool,
    local("run_code", runCode, { kind: "code", directOnly: true })
  ]
  return { locals, ran, tasks }
})

/** A server with these tools, and with `find_tools` and `call_tool` in a compact catalog. */
export const start = Effect.fnUntraced(function*(
  { summary, ...options }: TestServer.TestServerOptions & { readonly summary?: () => string }
) {
  const { locals, ran, tasks } = yield* make(summary)
  const finders = options.catalog === "compact" ? yield* CompactCatalog.tools : []
  const { closed, duplex, peer } = yield* TestServer.start({ ...options, locals: [...locals, ...finders] })
  return { closed, end: () => duplex.end(), peer, ran, tasks }
})

/** Runs one turn to its end. */
export const turn = Effect.fnUntraced(function*(peer: Peer, session_id: string) {
  yield* peer.ok("turn.start", { session_id, prompt: "go" })
  return yield* peer.event("run.finished")
})

/** The last text of the root, or its last part. */
export const lastText = (peer: Peer): string => peer.events("message.reconcile").at(-1)?.text ?? ""

/** The `{{results}}` that the root said last. */
export const shown = (peer: Peer): ReadonlyArray<Shown> => JSON.parse(lastText(peer)) as ReadonlyArray<Shown>

/** The results inside the text of a task or of code. */
export const inside = (one: Shown | undefined): ReadonlyArray<Shown> => JSON.parse(one?.result.text ?? "[]")

/** The code of a refused or failed call. */
export const codeOf = (one: Shown | undefined): string | undefined => one?.result.error?.code

/** The task id that a task's result carries. */
export const taskIdOf = (one: Shown | undefined): string => String(one?.result.structured?.["task_id"])

/** An entry of the presentation history, whatever its kind. */
export interface Entry {
  readonly kind: string
  readonly task_id: string | null
  readonly subagent_id: string | null
  readonly name?: string
  readonly text?: string
  readonly status?: string
  readonly tool_card?: Events.ToolCard
}

/** The first page of a session's history. */
export const history = (peer: Peer, session_id: string): Effect.Effect<ReadonlyArray<Entry>> =>
  Effect.map(peer.ok("history.page", { session_id }), ({ entries }) => entries as ReadonlyArray<Entry>)

/** A long text of printable characters. */
export const long = (bytes: number): string => "0123456789abcdef".repeat(Math.ceil(bytes / 16)).slice(0, bytes)
