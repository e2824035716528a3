/**
 * What hooks make of one call: of its arguments before it runs, of its result after (HKS-2, PRM-1).
 *
 * Rule: what a person approved is what runs. Hooks see approved arguments, but what they would change is not approved.
 */
import type { JsonText } from "@errand/protocol"
import * as Effect from "effect/Effect"
import type { Agent } from "./Agent.ts"
import * as Bounds from "./Bounds.ts"
import * as CallEnds from "./CallEnds.ts"
import type { CatalogTool } from "./Catalog.ts"
import {
  askAfter,
  askBefore,
  type BeforeVerdict,
  type HookedCall,
  HookRejected,
  type ToolHooksService
} from "./Hooks.ts"
import type { AttemptedCall } from "./PipelineCall.ts"
import type { ToolOutcome } from "./ToolExecutor.ts"

/** A call as a hook looks at it. */
export const hookedCall = (agent: Agent, call: AttemptedCall, tool: CatalogTool, args: JsonText): HookedCall => ({
  tool: tool.name,
  callId: call.id,
  sessionId: agent.run.sessionId,
  runId: agent.run.runId,
  taskId: agent.taskId,
  arguments: args
})

/** The arguments that hooks leave, and the call as those after it are to see it; or their refusal. */
export type Before = ToolOutcome | {
  readonly _tag: "Hooked"
  readonly given: Bounds.ReadArguments
  readonly hooked: HookedCall
}

/** Whether a hook makes other arguments of those that were approved. */
const changes = (verdict: BeforeVerdict, approved: JsonText): boolean =>
  verdict.allow && verdict.arguments !== undefined && Bounds.recorded(Bounds.read(verdict.arguments)) !== approved

/**
 * Asks before a call with these arguments. Where they are approved ones that hooks would change, the hooks had made them of
 * the model's own, and are asked whether they still do.
 */
export const before = Effect.fnUntraced(function*(
  hooks: ToolHooksService,
  agent: Agent,
  call: AttemptedCall,
  tool: CatalogTool,
  args: Bounds.BoundedArguments,
  approved: JsonText | undefined
): Effect.fn.Return<Before> {
  let given: Bounds.ReadArguments = { _tag: "Object", ...args }
  let hooked = hookedCall(agent, call, tool, args.text)
  let verdict = yield* askBefore(hooks, hooked)
  if (approved !== undefined && call.arguments._tag === "Object" && changes(verdict, approved)) {
    given = call.arguments
    hooked = hookedCall(agent, call, tool, given.text)
    verdict = yield* askBefore(hooks, hooked)
  }
  if (!verdict.allow) return CallEnds.refusedByHook(tool, verdict.reason)
  if (verdict.arguments === undefined) return { _tag: "Hooked", given, hooked }
  given = Bounds.read(verdict.arguments)
  return { _tag: "Hooked", given, hooked: { ...hooked, arguments: Bounds.recorded(given) } }
})

/** Asks after a call whose result was protected; what a hook puts in its place is protected and bounded again. */
export const after = Effect.fnUntraced(function*(
  hooks: ToolHooksService,
  call: AttemptedCall,
  tool: CatalogTool,
  hooked: HookedCall,
  safe: ToolOutcome & { readonly _tag: "Success" | "Failure" },
  maxBytes: number
): Effect.fn.Return<ToolOutcome> {
  call.answer = safe
  const { _tag, ...told } = safe
  const replaced = yield* askAfter(hooks, hooked, { ...told, status: _tag === "Success" ? "success" : "error" })
  if (replaced === undefined) return safe
  if (replaced instanceof HookRejected) return CallEnds.rejected(tool, `a hook rejected it (${replaced.reason})`)
  return CallEnds.protect(tool, { ...replaced, _tag: replaced.status === "success" ? "Success" : "Failure" }, maxBytes)
})
