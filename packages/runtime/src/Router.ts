/**
 * One executor made of several: each tool goes where its route says (PRK-1).
 *
 * Rule: the route of a tool is settled when the layer is built, and what the wire could not carry is refused then; neither
 * a model nor a client can change it.
 */
import { ClientTool, type JsonText, Limits, Registry } from "@errand/protocol"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Bounds from "./Bounds.ts"
import { Broker } from "./Broker.ts"
import * as CallStart from "./CallStart.ts"
import { clientTool } from "./Catalog.ts"
import * as Deferral from "./Deferral.ts"
import { type ExecutionOutcome, ToolExecutor, type ToolInvocation } from "./ToolExecutor.ts"

/** Executes a call, or defers it. */
export type Route = (call: ToolInvocation) => Effect.Effect<ExecutionOutcome>

/** A client tool as far as the wire is concerned; the default time-out of the wire holds where it says none. */
export interface LiveTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonText
  readonly timeoutMs: number | null
}

/** A declaration that is legal in process but not on the wire; `path` begins with `client_tools`. */
export class LiveToolUnsupported extends Data.TaggedError("LiveToolUnsupported")<{
  readonly tool: string
  readonly path: string
  readonly rule: string
}> {
  readonly code = "live_tool_unsupported"
  override get message(): string {
    return `client tool ${JSON.stringify(this.tool.slice(0, 300))} cannot be called live: ${this.path} ${this.rule}`
  }
}

/** Chooses by the tool's name. A route executes, so its start is marked; `otherwise` is an executor, which does so itself. */
export const make = (routes: ReadonlyMap<string, Route>, otherwise: Route): Route => (call) => {
  const route = routes.get(call.name)
  return route === undefined ? otherwise(call) : CallStart.marked(call, route)
}

/** Which tools go over the wire, which are handled here; all others are deferred. */
export interface Routes {
  readonly live?: ReadonlyArray<LiveTool>
  readonly handlers?: Readonly<Record<string, Route>>
}

const described = (tool: LiveTool, defaultMs: number): JsonText =>
  ClientTool.effective({ ...tool, inputSchema: tool.parameters, timeoutMs: tool.timeoutMs ?? defaultMs })

/** The route over the wire for these tools, checked against its limits before anything starts (section 8 of the protocol). */
export const live = Effect.fnUntraced(function*(
  tools: ReadonlyArray<LiveTool>
): Effect.fn.Return<Route, LiveToolUnsupported, Broker> {
  const broker = yield* Broker
  const limits = yield* Limits.Limits
  const texts = tools.map((tool) => described(tool, limits.clientTools.default_timeout_ms))
  const registry = Registry.decode(`[${texts.join(",")}]`, limits)
  if (Result.isFailure(registry)) {
    const { message } = registry.failure
    const path = /^[^ ]*?(?=:? )/.exec(message)?.[0] ?? ""
    const at = Number(/^client_tools\[(\d+)\]/.exec(path)?.[1] ?? -1)
    const rule = message.slice(path.length).replace(/^:? /, "")
    return yield* new LiveToolUnsupported({ tool: tools[at]?.name ?? "", path, rule })
  }
  const byName = new Map(registry.success.map((tool) => [tool.name, clientTool(tool)]))
  return (call) => {
    const tool = byName.get(call.name)
    if (tool === undefined) return Effect.die(new Error(`${call.name} is none of the live tools`))
    const bounded = Bounds.check(tool, { _tag: "Object", text: call.arguments, depth: call.depth }, limits)
    return Result.isFailure(bounded)
      ? Effect.succeed(bounded.failure)
      : broker.call({ ...call, timeoutMs: tool.timeoutMs })
  }
})

/** An executor that sends live tools to the broker, others to their handlers, and defers the rest. */
export const layer = (routes: Routes): Layer.Layer<ToolExecutor, LiveToolUnsupported, Broker> =>
  Layer.effect(
    ToolExecutor,
    Effect.gen(function*() {
      const overWire = yield* live(routes.live ?? [])
      const lent = new Set((routes.live ?? []).map(({ name }) => name))
      const handled = new Map(Object.entries(routes.handlers ?? {}).filter(([name]) => !lent.has(name)))
      return ToolExecutor.of({
        execute: make(handled, (call) => lent.has(call.name) ? overWire(call) : Deferral.execute(call))
      })
    })
  )
