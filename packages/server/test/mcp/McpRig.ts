/** MCP servers of a test, and calls of their tools without a pipeline. */
import type { ToolOutcome } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import { ProcessGroups } from "../../src/builtins/ProcessGroup.ts"
import type { McpServer } from "../../src/Config.ts"
import * as McpServers from "../../src/mcp/McpServers.ts"
import { invocation } from "../ToolRig.ts"

/** The fixture server as a configuration names it. */
export const fixture = (env: Readonly<Record<string, string>> = {}): McpServer => ({
  command: process.execPath,
  args: [fileURLToPath(new URL("./fixture.mjs", import.meta.url))],
  env
})

/** Servers that live as long as the scope. */
export const start = Effect.fnUntraced(function*(configs: Readonly<Record<string, McpServer>>) {
  const groups = Context.get(yield* Layer.build(ProcessGroups.layer), ProcessGroups)
  const servers = yield* McpServers.start(configs, groups, process.cwd())
  const call = (name: string, args = "{}"): Effect.Effect<ToolOutcome> => servers.execute(invocation(name, args))
  const text = (name: string, args?: string) =>
    Effect.map(call(name, args), (outcome) => "text" in outcome ? outcome.text : JSON.stringify(outcome))
  return { ...servers, call, text }
})

/** Whether a process runs. */
export const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits, in the time of the system, until something holds: what other processes do cannot be waited for otherwise. */
export const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setInterval(() => {
      if (!holds()) return
      clearInterval(timer)
      resume(Effect.void)
    }, 10)
    return Effect.sync(() => clearInterval(timer))
  })
