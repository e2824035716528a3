/**
 * One tool call from the model's words to its record (PRM-1): visibility and deny rules, pre-call hooks, bounds,
 * approval, execution, protection, post-call hooks, history.
 *
 * Rule: every kind of tool takes these steps in this order on every surface; there is no way around one. A call that
 * was answered is recorded whatever happens meanwhile.
 */
import { Ids, type JsonText, Limits } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { type Agent, ownerOf } from "./Agent.ts"
import { Approvals } from "./Approvals.ts"
import * as Bounds from "./Bounds.ts"
import * as CallEnds from "./CallEnds.ts"
import * as CallHooks from "./CallHooks.ts"
import { Catalog, type CatalogTool } from "./Catalog.ts"
import type { Record, StorageFailed } from "./History.ts"
import * as HistoryCheck from "./HistoryCheck.ts"
import { type HookedCall, ToolHooks } from "./Hooks.ts"
import type { Outcome } from "./ModelTurn.ts"
import { emit, Outbox } from "./Outbox.ts"
import * as OwnFault from "./OwnFault.ts"
import type { AttemptedCall, PipelineCall } from "./PipelineCall.ts"
import * as ToolContent from "./ToolContent.ts"
import { type ExecutionOutcome, type Nested, ToolExecutor, type ToolOutcome } from "./ToolExecutor.ts"

/** Takes tool calls through the steps. */
export class ToolPipeline extends Context.Service<ToolPipeline, {
  /** Runs steps 1 to 7 and tells what came of the call; nothing is shown or recorded. */
  readonly attempt: (agent: Agent, call: AttemptedCall) => Effect.Effect<ExecutionOutcome>
  /** A call that another call makes; what executes tools finds it in `ToolInvocation.nested`. */
  readonly nested: Nested
  /** Runs all steps; when it returns the result is recorded and shown (SES-9), or `call.deferred` says what is awaited. */
  readonly settle: (agent: Agent, call: PipelineCall) => Effect.Effect<void, StorageFailed>
  /** Steps 6 to 8 for the answer to a call that an earlier run deferred; `args` is what that run made of its arguments. */
  readonly deliver: (
    agent: Agent,
    call: PipelineCall,
    args: JsonText,
    answer: ToolOutcome
  ) => Effect.Effect<void, StorageFailed>
  /** Records calls that were cut off, one result each, so that history stays valid (SES-11, CAN-2): the answer, if there is one. */
  readonly close: (agent: Agent, calls: ReadonlyArray<PipelineCall>) => Effect.Effect<void, StorageFailed>
}>()("@errand/runtime/ToolPipeline") {
  /** The pipeline over the catalog, approvals, executor and outbox that are provided; hooks and limits are references. */
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

        const approved = typeof call.approved === "string" ? call.approved : undefined
        let given = approved === undefined ? call.arguments : Bounds.read(approved)
        let hooked: HookedCall | undefined
        if (hooks !== null && given._tag === "Object") {
          const before = yield* CallHooks.before(hooks, agent, call, tool, given, approved)
          if (before._tag !== "Hooked") return before
          given = before.given
          hooked = before.hooked
        }
        const bounded = Bounds.check(tool, given, limits)
        if (Result.isFailure(bounded)) {
          call.misfit = true
          return bounded.failure
        }

        if (decision === "ask" && call.approved !== true && bounded.success.text !== approved) {
          const question = {
            run: agent.run,
            activityId: call.activityId,
            callId: call.id,
            name: tool.name,
            summary: CallEnds.summaryOf(tool, bounded.success.text)
          }
          const verdict = yield* OwnFault.judged(`asking for ${tool.name}`, () => approvals.ask(question), "failed")
          if (verdict === "deferred") {
            return { _tag: "Deferred", category: "approval", arguments: bounded.success.text } as const
          }
          if (verdict !== "allowed") return CallEnds.notApproved(tool, verdict)
        }

        call.started = true
        const outcome = yield* executor.execute({
          agent,
          activityId: call.activityId,
          callId: call.id,
          name: tool.name,
          arguments: bounded.success.text,
          depth: bounded.success.depth,
          timeoutMs: tool.timeoutMs,
          catalog,
          nested,
          answered: call
        })
        const safe = CallEnds.protect(tool, outcome, maxBytes)
        return hooks === null || hooked === undefined || (safe._tag !== "Success" && safe._tag !== "Failure")
          ? safe
          : yield* CallHooks.after(hooks, call, tool, hooked, safe, maxBytes)
      })

      const toolOf = (agent: Agent, call: AttemptedCall): CatalogTool | undefined => {
        const resolution = catalog.resolve(agent.view, call.asked)
        return resolution._tag === "Tool" ? resolution.tool : undefined
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
      const settleMasked = Effect.fnUntraced(function*(agent: Agent, call: PipelineCall, restore: CallEnds.Restore) {
        yield* activity(agent, call, "running")
        const exit = yield* Effect.exit(restore(attempt(agent, call)))
        const outcome = yield* CallEnds.ofExit(call, exit, restore)
        if (outcome._tag === "Deferred" && agent.suspends === true) {
          call.started = false
          call.deferred = outcome
          return
        }
        const kind = toolOf(agent, call)?.kind
        const end = ToolContent.encode(CallEnds.endOf(outcome, kind, CallEnds.undeferrable), kind)
        yield* agent.history.append([record(agent, call, end)])
        call.settled = true
        yield* activity(agent, call, end.outcome)
      })
      const settle = (agent: Agent, call: PipelineCall): Effect.Effect<void, StorageFailed> =>
        Effect.uninterruptibleMask((restore) => settleMasked(agent, call, restore))

      const deliverMasked = Effect.fnUntraced(function*(
        agent: Agent,
        call: PipelineCall,
        args: JsonText,
        answer: ToolOutcome,
        restore: CallEnds.Restore
      ) {
        yield* activity(agent, call, "running")
        const tool = catalog.tools.find((tool) => tool.name === call.name)
        const safe = CallEnds.protect(tool, answer, maxBytes)
        call.answer = safe
        const plain = hooks === null || tool === undefined || (safe._tag !== "Success" && safe._tag !== "Failure")
        const outcome = plain ? safe : yield* CallEnds.ofExit(
          call,
          yield* Effect.exit(restore(CallHooks.after(
            hooks,
            call,
            tool,
            CallHooks.hookedCall(agent, call, tool, args),
            safe,
            maxBytes
          ))),
          restore
        )
        const end = ToolContent.encode(outcome, tool?.kind ?? "client")
        yield* agent.history.append([record(agent, call, end)])
        call.settled = true
        yield* activity(agent, call, end.outcome)
      })
      const deliver: ToolPipeline["Service"]["deliver"] = (agent, call, args, answer) =>
        Effect.uninterruptibleMask((restore) => deliverMasked(agent, call, args, answer, restore))

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
            const inner = {
              ...ownerOf(agent),
              activityId: call.activityId,
              parentId: agent.parentId,
              name: call.name
            }
            const end = (outcome: Outcome) =>
              Effect.andThen(
                agent.history.append([{ kind: "activity", ...inner, outcome }]),
                activity(agent, call, outcome)
              )
            agent.usage.toolCalls++
            const begun = yield* Effect.result(agent.history.append([{ kind: "begun", ...inner }]))
            if (Result.isFailure(begun)) {
              agent.run.failure ??= begun.failure
              return CallEnds.unmade
            }
            yield* activity(agent, call, "running")
            const exit = yield* Effect.exit(restore(attempt(agent, call)))
            const outcome = yield* Effect.tapCause(
              CallEnds.ofExit(call, exit, restore),
              () => Effect.ignore(end("cancelled"), { log: "Error" })
            )
            const kind = toolOf(agent, call)?.kind
            const settled = CallEnds.endOf(outcome, kind, CallEnds.undeferrableInside)
            if (within !== undefined) within.answer = settled
            return yield* Effect.match(end(ToolContent.encode(settled, kind).outcome), {
              onSuccess: () => settled,
              onFailure: (error) => {
                agent.run.failure ??= error
                return CallEnds.unrecorded
              }
            })
          })
        )

      /** What was answered stays answered, whatever cut the call off. */
      const cutOff = (agent: Agent, call: PipelineCall): ToolContent.ToolContent => {
        const tool = toolOf(agent, call)
        return call.answer === undefined
          ? ToolContent.cancelled(tool?.kind, call.started)
          : ToolContent.encode(CallEnds.protect(tool, call.answer, maxBytes), tool?.kind)
      }

      const close = Effect.fnUntraced(function*(agent: Agent, calls: ReadonlyArray<PipelineCall>) {
        const open = calls.filter((call) => !call.settled)
        if (open.length === 0) return
        const ends = open.map((call) => cutOff(agent, call))
        yield* agent.history.append(open.map((call, i) => record(agent, call, ends[i]!)))
        for (const [i, call] of open.entries()) {
          call.settled = true
          yield* activity(agent, call, ends[i]!.outcome)
        }
      })

      return ToolPipeline.of({ attempt, nested, settle, deliver, close })
    })
  )
}
