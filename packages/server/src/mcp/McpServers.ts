/**
 * The MCP servers of a configuration: started together, kept alive, and called (BLT-5).
 *
 * Rule: a server that is of no use makes its own tools fail and nothing else; nothing waits for it longer than a start
 * may take.
 */
import { Limits } from "@errand/protocol"
import { Redaction, type ToolInvocation, type ToolOutcome } from "@errand/runtime"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import type { ProcessGroups } from "../builtins/ProcessGroup.ts"
import type { McpServer } from "../Config.ts"
import * as HttpLink from "./HttpLink.ts"
import * as McpConnection from "./McpConnection.ts"
import * as McpTool from "./McpTool.ts"
import * as StdioLink from "./StdioLink.ts"

/** Milliseconds that a start waits for all servers; one that takes longer comes later. */
const START_MS = 5000

/** Milliseconds before a lost server is started again: the first time, and at most; each failure doubles them. */
const AGAIN_MS = 500
const AGAIN_AT_MOST_MS = 30_000

/** A server that lived this long starts anew with the shortest wait. */
const LIVED_MS = 60_000

/** Milliseconds between two lists of tools that a server asks for by saying that they have changed. */
const LIST_AGAIN_MS = 1000

const patience: McpConnection.Patience = { silentMs: 60_000, mostMs: 600_000 }

/** The tools of all servers, and their execution. */
export interface McpServers {
  /** The same array until a server's tools change; those of a server that is down stay. */
  readonly tools: () => ReadonlyArray<McpTool.McpTool>
  /** Executes a call of one of these tools. */
  readonly execute: (call: ToolInvocation) => Effect.Effect<ToolOutcome>
}

/** One server; changes in place. */
interface Server {
  readonly name: string
  readonly config: McpServer
  tools: ReadonlyArray<McpTool.McpTool>
  connection: McpConnection.McpConnection | undefined
}

/** Starts all servers of a configuration and waits until each is ready or has failed, but not longer than a start may take. */
export const start = Effect.fnUntraced(function*(
  configs: Readonly<Record<string, McpServer>>,
  groups: ProcessGroups["Service"],
  directory: string
): Effect.fn.Return<McpServers, never, Scope.Scope> {
  const { clientTools: { result_bytes: max } } = yield* Limits.Limits
  const servers = Object.entries(configs).map(([name, config]): Server => ({
    name,
    config,
    tools: [],
    connection: undefined
  }))
  let all: ReadonlyArray<McpTool.McpTool> = []
  let byName: ReadonlyMap<string, McpTool.McpTool> = new Map()
  const byServer = new Map(servers.map((server) => [server.name, server]))

  const list = Effect.fnUntraced(function*(server: Server, connection: McpConnection.McpConnection) {
    const { faults, tools } = McpTool.listed(server.name, yield* connection.listTools)
    for (const fault of faults) yield* Effect.logWarning(`mcp server ${server.name}: ${fault}; it is left out`)
    if (JSON.stringify(tools) === JSON.stringify(server.tools)) return
    server.tools = tools
    // the first of two servers' tools that share a name has it
    byName = new Map(servers.flatMap((one) => one.tools.map((tool) => [tool.name, tool] as const)).reverse())
    all = servers.flatMap((one) => one.tools).filter((tool) => byName.get(tool.name) === tool)
  })

  /** One life of a server, from dialling to its loss; gives the reason of the loss. */
  const life = (server: Server, ready: Effect.Effect<unknown>) =>
    Effect.gen(function*() {
      const { config } = server
      const connection = yield* McpConnection.open((receiver) =>
        "url" in config ? HttpLink.open(config, receiver) : StdioLink.open(groups, { ...config, directory }, receiver)
      )
      yield* list(server, connection)
      server.connection = connection
      yield* ready
      const relist = Effect.gen(function*() {
        yield* connection.changed
        yield* Effect.catch(list(server, connection), (error) =>
          report(server, `cannot list its tools: ${messageOf(error)}`))
        yield* Effect.sleep(Duration.millis(LIST_AGAIN_MS))
      })
      return yield* Effect.raceFirst(connection.lost, Effect.forever(relist))
    }).pipe(
      Effect.scoped,
      Effect.ensuring(Effect.sync(() =>
        server.connection = undefined
      ))
    )

  const lives = Effect.fnUntraced(function*(server: Server, ready: Deferred.Deferred<void>) {
    let born = false
    let wait = AGAIN_MS
    while (true) {
      const [lived, exit] = yield* Effect.timed(Effect.exit(life(
        server,
        Effect.suspend(() => {
          const again = born
          born = true
          return Effect.andThen(
            again ? report(server, "is back") : Effect.void,
            Deferred.succeed(ready, undefined)
          )
        })
      )))
      if (Exit.isFailure(exit) && !born) {
        yield* Effect.logError(`mcp server ${server.name} cannot be used: ${reasonOf(exit)}; its tools are absent`)
        return yield* Deferred.succeed(ready, undefined)
      }
      if (Duration.toMillis(lived) >= LIVED_MS) wait = AGAIN_MS
      yield* report(server, `is lost: ${reasonOf(exit)}; it is started again in ${wait} ms`)
      yield* Effect.sleep(Duration.millis(wait))
      wait = Math.min(wait * 2, AGAIN_AT_MOST_MS)
    }
  })

  // a set ends its fibers together: servers take their time to end
  const living = yield* FiberSet.make()
  yield* Effect.forEach(servers, (server) =>
    Effect.gen(function*() {
      const ready = yield* Deferred.make<void>()
      yield* FiberSet.run(living, lives(server, ready))
      const waited = yield* Effect.timeoutOption(Deferred.await(ready), Duration.millis(START_MS))
      if (waited._tag === "None") yield* report(server, "takes long to start; its tools come when it is ready")
    }), { concurrency: "unbounded", discard: true })

  const execute = (call: ToolInvocation): Effect.Effect<ToolOutcome> =>
    Effect.suspend(() => {
      const tool = byName.get(call.name)
      const connection = tool === undefined ? undefined : byServer.get(tool.server)?.connection
      if (tool === undefined || connection === undefined) return Effect.succeed(unavailable(tool?.server ?? call.name))
      return Effect.match(connection.callTool(tool.original, call.arguments, patience), {
        onSuccess: (result) => McpTool.outcomeOf(result, max),
        onFailure: (error) => failed(tool.server, error)
      })
    })

  return { tools: () => all, execute }
})

const report = (server: Server, what: string) => Effect.logWarning(`mcp server ${server.name} ${what}`)

const messageOf = (error: McpConnection.RequestError): string => {
  const message = error._tag === "NoAnswer" ? `it gave no answer within ${error.ms} ms` : error.message
  return Redaction.protectMessage(message, 1000)
}

const reasonOf = (exit: Exit.Exit<string, McpConnection.RequestError>): string => {
  if (Exit.isSuccess(exit)) return Redaction.protectMessage(exit.value, 3000)
  const [reason] = exit.cause.reasons
  return reason?._tag === "Fail" ? messageOf(reason.error) : "it failed unexpectedly"
}

const MAY_HAVE_EXECUTED = "It may have executed: do not repeat it blindly."

const unavailable = (server: string): ToolOutcome => ({
  _tag: "Refused",
  code: "mcp_unavailable",
  message: `The MCP server ${server} is not there now; it is being started again. The call was not sent.`
})

const failed = (server: string, error: McpConnection.RequestError): ToolOutcome => {
  switch (error._tag) {
    case "ServerRefused":
      return { _tag: "Failure", text: `The MCP server refused the call: ${messageOf(error)}` }
    case "NoAnswer":
      return {
        _tag: "Uncertain",
        code: "mcp_timeout",
        message: `The MCP server ${server} gave no answer within ${error.ms} ms. ${MAY_HAVE_EXECUTED}`
      }
    case "LinkLost":
      return error.sent
        ? {
          _tag: "Uncertain",
          code: "mcp_lost",
          message: `The MCP server ${server} was lost before it answered: ${messageOf(error)}. ${MAY_HAVE_EXECUTED}`
        }
        : {
          _tag: "Refused",
          code: "mcp_unavailable",
          message: `The MCP server ${server} did not take the call: ${messageOf(error)}. It was not executed.`
        }
  }
}
