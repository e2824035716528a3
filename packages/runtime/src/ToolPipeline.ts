/**
 * One tool call from the model's words to its record (PRM-1): visibility and deny rules, pre-call hooks, bounds,
 * approval, execution, protection, post-call hooks, history.
 *
 * Rule: every kind of tool takes these steps in this order on every surface; there is no way around one. A call that
 * was answered is recorded whatever happens meanwhile.
 */
import { Ids, type JsonText, Limits } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { type Agent, ownerOf } from "./Agent.ts"
import { Approvals } from "./Approvals.ts"
import * as Bounds from "./Bounds.ts"
import { Catalog, type CatalogTool, type ToolKind } from "./Catalog.ts"
import type { Record, StorageFailed } from "./History.ts"
import * as HistoryCheck from "./HistoryCheck.ts"
import { askAfter, askBefore, type HookedCall, HookRejected, ToolHooks } from "./Hooks.ts"
import type { Outcome } from "./ModelTurn.ts"
import { emit, Outbox } from "./Outbox.ts"
import * as Redaction from "./Redaction.ts"
import * as ToolContent from "./ToolContent.ts"
import { type Answered, type Nested, ToolExecutor, type ToolOutcome } from "./ToolExecutor.ts"

/** A call on its way; `name` and `id` are legal. */
export interface AttemptedCall extends Answered {
  readonly id: string
  /** The name the model used, which the catalog looks up. */
  readonly asked: string
  /** The name that history and events show. */
  readonly name: string
  readonly arguments: Bounds.ReadArguments
  readonly activityId: Ids.ActivityId
  /** Set when the executor was given the call: from then on it may have executed. */
  started: boolean
}

/** A call of an assistant message that is recorded already. */
export interface PipelineCall extends AttemptedCall {
  readonly messageId: Ids.MessageId
  readonly index: number
  /** Set when its result is recorded. */
  settled: boolean
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Takes tool calls through the steps. */
export class ToolPipeline extends Context.Service<ToolPipeline, {
  /** Runs steps 1 to 7 and tells what came of the call; nothing is shown or recorded. */
  readonly attempt: (agent: Agent, call: AttemptedCall) => Effect.Effect<ToolOutcome>
  /** A call that another call makes; what executes tools finds it in `ToolInvocation.nested`. */
  readonly nested: Nested
  /** Runs all steps; when it returns the result is recorded and shown (SES-9). */
  readonly settle: (agent: Agent, call: PipelineCall) => Effect.Effect<void, StorageFailed>
  /** Records calls that were cut off, one result each, so that history stays valid (SES-11, CAN-2). */
  readonly close: (agent: Agent, calls: ReadonlyArray<PipelineCall>) => Effect.Effect<void, StorageFailed>
}>()("@errand/runtime/ToolPipeline") {
  static readonly layerNoDeps = Layer.effect(
    ToolPipeline,
    Effect.gen(function*() {
      const catalog = yield* Catalog
      const hooks = yield* ToolHooks
      const limits = yield* Limits.Limits
      const approvals = yield* Approvals
      const executor = yield* ToolExecutor
      const outbox = yield* Outbox
      const newId = yield* Ids.Generator
      const maxBytes = limits.clientTools.result_bytes

      const attempt = Effect.fnUntraced(function*(agent: Agent, call: AttemptedCall) {
        const resolution = catalog.resolve(agent.view, call.asked)
        if (resolution._tag === "Refused") return resolution
        const { decision, tool } = resolution

        let given = call.arguments
        let hooked: HookedCall | undefined
        if (hooks !== null && given._tag === "Object") {
          hooked = hookedCall(agent, call, tool, given.text)
          const verdict = yield* askBefore(hooks, hooked)
          if (!verdict.allow) return refusedByHook(tool, verdict.reason)
          if (verdict.arguments !== undefined) {
            given = Bounds.read(verdict.arguments)
            hooked = { ...hooked, arguments: verdict.arguments }
          }
        }
        const bounded = Bounds.check(tool, given, limits)
        if (Result.isFailure(bounded)) return bounded.failure

        if (decision === "ask") {
          const verdict = yield* approvals.ask({
            run: agent.run,
            activityId: call.activityId,
            name: tool.name,
            summary: summaryOf(tool, bounded.success.text)
          })
          if (verdict !== "allowed") return notApproved(tool, verdict)
        }

        call.started = true
        const outcome = yield* executor.execute({
          agent,
          activityId: call.activityId,
          name: tool.name,
          arguments: bounded.success.text,
          depth: bounded.success.depth,
          timeoutMs: tool.timeoutMs,
          catalog,
          nested,
          answered: call
        })
        const safe = protect(tool, outcome, maxBytes)
        if (hooks === null || hooked === undefined || (safe._tag !== "Success" && safe._tag !== "Failure")) return safe
        call.answer = safe
        const { _tag, ...told } = safe
        const replaced = yield* askAfter(hooks, hooked, { ...told, status: _tag === "Success" ? "success" : "error" })
        if (replaced === undefined) return safe
        if (replaced instanceof HookRejected) return rejected(tool, `a hook rejected it (${replaced.reason})`)
        return protect(tool, { ...replaced, _tag: replaced.status === "success" ? "Success" : "Failure" }, maxBytes)
      })

      const kindOf = (agent: Agent, call: AttemptedCall): ToolKind | undefined => {
        const resolution = catalog.resolve(agent.view, call.asked)
        return resolution._tag === "Tool" ? resolution.tool.kind : undefined
      }
      const activity = (agent: Agent, call: AttemptedCall, status: "running" | Outcome) =>
        emit(outbox, {
          event: "tool.activity",
          data: {
            session_id: agent.run.sessionId,
            run_id: agent.run.runId,
            activity_id: call.activityId,
            parent_id: agent.parentId,
            task_id: agent.taskId,
            subagent_id: agent.subagentId,
            name: call.name,
            status
          }
        })
      const record = (agent: Agent, call: PipelineCall, end: ToolContent.ToolContent): Record => ({
        kind: "result",
        runId: agent.run.runId,
        taskId: agent.taskId,
        subagentId: agent.subagentId,
        messageId: call.messageId,
        index: call.index,
        activityId: call.activityId,
        id: call.id,
        name: call.name,
        outcome: end.outcome,
        content: end.content
      })

      // Not an `Effect.gen` inside of the mask: a generator function that is made anew for each call costs 4 us.
      const settleMasked = Effect.fnUntraced(function*(agent: Agent, call: PipelineCall, restore: Restore) {
        yield* activity(agent, call, "running")
        const exit = yield* Effect.exit(restore(attempt(agent, call)))
        const outcome = yield* outcomeOf(call, exit)
        const end = ToolContent.encode(outcome, kindOf(agent, call))
        yield* agent.history.append([record(agent, call, end)])
        call.settled = true
        yield* activity(agent, call, end.outcome)
      })
      const settle = (agent: Agent, call: PipelineCall): Effect.Effect<void, StorageFailed> =>
        Effect.uninterruptibleMask((restore) => settleMasked(agent, call, restore))

      const nested: Nested = (agent, asked, args, within) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function*() {
            const call: AttemptedCall = {
              id: newId(),
              asked,
              name: HistoryCheck.legalName(asked),
              arguments: Bounds.read(args),
              activityId: newId() as Ids.ActivityId,
              started: false
            }
            const startedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
            const end = (outcome: Outcome) =>
              Effect.andThen(
                agent.history.append([{
                  kind: "activity",
                  ...ownerOf(agent),
                  activityId: call.activityId,
                  parentId: agent.parentId,
                  name: call.name,
                  outcome,
                  startedAt
                }]),
                activity(agent, call, outcome)
              )
            agent.usage.toolCalls++
            yield* activity(agent, call, "running")
            const exit = yield* Effect.exit(restore(attempt(agent, call)))
            const outcome = yield* Effect.tapCause(
              outcomeOf(call, exit),
              () => Effect.ignore(end("cancelled"), { log: "Error" })
            )
            if (within !== undefined) within.answer = outcome
            return yield* Effect.match(end(ToolContent.encode(outcome, kindOf(agent, call)).outcome), {
              onSuccess: () => outcome,
              onFailure: (error) => {
                agent.run.failure ??= error
                return unrecorded
              }
            })
          })
        )

      const close = Effect.fnUntraced(function*(agent: Agent, calls: ReadonlyArray<PipelineCall>) {
        const open = calls.filter((call) => !call.settled)
        if (open.length === 0) return
        const ends = open.map((call) => ToolContent.cancelled(kindOf(agent, call), call.started))
        yield* agent.history.append(open.map((call, i) => record(agent, call, ends[i]!)))
        for (const call of open) {
          call.settled = true
          yield* activity(agent, call, "cancelled")
        }
      })

      return ToolPipeline.of({ attempt, nested, settle, close })
    })
  )
}

/** What came of an attempt; one that was cut off before the tool told anything stays interrupted. */
const outcomeOf = (call: AttemptedCall, exit: Exit.Exit<ToolOutcome>): Effect.Effect<ToolOutcome> => {
  if (Exit.isSuccess(exit)) return exit
  if (!Cause.hasInterrupts(exit.cause)) {
    return Effect.as(Effect.logError(`tool ${call.name} failed unexpectedly`, exit.cause), unexpected)
  }
  return call.answer === undefined ? Effect.failCause(exit.cause) : Effect.succeed(call.answer)
}

/** How much a person who is asked is shown. */
const SUMMARY_CHARACTERS = 2000

/** What a person who is asked is shown: protected on both levels, as JSON and as text. */
const summaryOf = (tool: CatalogTool, args: JsonText): string => {
  if (tool.summary !== undefined) return Redaction.protectMessage(tool.summary(args), SUMMARY_CHARACTERS)
  const shown = Redaction.protectJson(args)
  const text = Result.isSuccess(shown) ? shown.success : "with arguments that cannot be shown"
  return Redaction.protectMessage(`${tool.name} ${text}`, SUMMARY_CHARACTERS)
}

const unexpected: ToolOutcome = {
  _tag: "Uncertain",
  code: "internal_error",
  message: "The tool failed unexpectedly. It may have executed: do not repeat it blindly."
}

/** What a tool reads of a call whose end storage refused; the run fails with that all the same (SES-9). */
const unrecorded: ToolOutcome = {
  _tag: "Uncertain",
  code: "storage_failed",
  message: "The call ended, but that cannot be recorded. Do not repeat it blindly."
}

const hookedCall = (agent: Agent, call: AttemptedCall, tool: CatalogTool, args: JsonText): HookedCall => ({
  tool: tool.name,
  callId: call.id,
  sessionId: agent.run.sessionId,
  runId: agent.run.runId,
  taskId: agent.taskId,
  arguments: args
})

const deniedCode = (tool: CatalogTool) => tool.kind === "client" ? "client_tool_denied" : "tool_denied"

const refusedByHook = (tool: CatalogTool, reason: string): ToolOutcome => ({
  _tag: "Refused",
  code: deniedCode(tool),
  message: Redaction.protectMessage(`A hook refused the call (${reason}). It was not executed.`, 1000)
})

const notApproved = (tool: CatalogTool, verdict: "denied" | "expired"): ToolOutcome => ({
  _tag: "Refused",
  code: deniedCode(tool),
  message: verdict === "denied"
    ? "Permission for this call was denied. It was not executed."
    : "Nobody answered the question for permission in time. The call was not executed."
})

/** Step 6: what a tool told is untrusted until it went through here (PRO-1, PRO-5). */
const protect = (tool: CatalogTool, outcome: ToolOutcome, maxBytes: number): ToolOutcome => {
  if (outcome._tag !== "Success" && outcome._tag !== "Failure") return outcome
  const safe = Redaction.protectResult(outcome, maxBytes)
  if (Result.isFailure(safe)) return rejected(tool, safe.failure.message)
  const { structured, text } = safe.success
  return structured === undefined ? { _tag: outcome._tag, text } : { _tag: outcome._tag, text, structured }
}

const rejected = (tool: CatalogTool, reason: string): ToolOutcome => ({
  _tag: "Uncertain",
  code: tool.kind === "client" ? "client_tool_result_rejected" : "result_rejected",
  message: Redaction.protectMessage(`The tool executed, but its result cannot be shown: ${reason}.`, 1000)
})
