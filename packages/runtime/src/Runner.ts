/**
 * One run: a prompt, the root agent's loop, and an end that is recorded before it is told (TRN-1 to TRN-9).
 *
 * Rule: `run.started` is the first event of a run and `run.finished` the last, exactly one of each, however it ends.
 */
import { Ids, type Requirements, type ToolHandler } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Agent, noUsage, ownerOf, type Usage } from "./Agent.ts"
import { AgentLoop, type LoopError } from "./AgentLoop.ts"
import { Approvals } from "./Approvals.ts"
import type { Restore } from "./CallEnds.ts"
import { rootView } from "./Catalog.ts"
import * as Diagnosis from "./Diagnosis.ts"
import type { History } from "./History.ts"
import * as HistoryCheck from "./HistoryCheck.ts"
import * as LocalTools from "./LocalTools.ts"
import type { ModelTurn } from "./ModelTurn.ts"
import { emit, Outbox } from "./Outbox.ts"
import type { RunScope } from "./RunScope.ts"
import { ToolPipeline } from "./ToolPipeline.ts"

/** What a run is asked to do, and in which conversation. */
export interface RunRequest {
  readonly run: RunScope
  readonly history: History
  readonly prompt: string
}

/** Why a run failed, in the codes of TRN-7, or `run_active`: its conversation was in a run. `message` is protected. */
export interface RunError {
  readonly code: string
  readonly message: string
}

/** How a run ended. `text` is the last answer of the model; null unless completed. */
export interface RunEnd {
  readonly status: "completed" | "failed" | "cancelled"
  readonly text: string | null
  readonly error: RunError | null
  readonly usage: Readonly<Usage>
}

/** Settings of runs that a host chooses: the system prompt, and a bound of time in milliseconds (TRN-9). */
export const RunSettings = Context.Reference<{
  readonly instructions: string | null
  readonly timeoutMs: number | null
}>("@errand/runtime/RunSettings", { defaultValue: () => ({ instructions: null, timeoutMs: null }) })

class RunTimedOut extends Data.TaggedError("RunTimedOut")<{ readonly timeoutMs: number }> {}

/** Runs agents: turns prompts into recorded, ended runs. */
export class AgentRunner extends Context.Service<AgentRunner, {
  /**
   * Runs one prompt to its end and tells how it ended; it never fails. Interrupting it cancels the run: open calls get
   * notices with the reason in `run.ending`, and the end is recorded before the interruption completes (CAN-2, CLS-2).
   *
   * A conversation has one run at a time. A second one ends at once as failed with `run_active`: nothing of it is told,
   * recorded or sent (SES-11). It does not wait, since what runs may be a tool of the run that it would wait for.
   */
  readonly run: (request: RunRequest) => Effect.Effect<RunEnd>
}>()("@errand/runtime/AgentRunner") {
  /** The runner over a loop and an outbox that are provided. */
  static readonly layerNoDeps = Layer.effect(
    AgentRunner,
    Effect.gen(function*() {
      const loop = yield* AgentLoop
      const outbox = yield* Outbox
      const settings = yield* RunSettings
      const instructions = settings.instructions?.toWellFormed() ?? null

      const work = Effect.fnUntraced(function*(agent: Agent, prompt: string) {
        yield* agent.history.append([{ kind: "user", ...ownerOf(agent), text: HistoryCheck.wellFormed(prompt) }])
        const end = yield* loop.run(agent)
        // a run of this runner does not suspend: none of its agents has `suspends`
        return end._tag === "Answered" ? end.text : yield* Effect.die(new Error("a step ended unanswered"))
      })

      const bounded = (agent: Agent, prompt: string): Effect.Effect<string, LoopError | RunTimedOut> => {
        const { timeoutMs } = settings
        if (timeoutMs === null) return work(agent, prompt)
        const expire = Effect.sync(() => {
          agent.run.ending = "run_finished"
        }).pipe(Effect.andThen(new RunTimedOut({ timeoutMs })))
        return Effect.raceFirst(
          work(agent, prompt),
          Effect.andThen(Effect.sleep(Duration.millis(timeoutMs)), expire)
        )
      }

      const finish = Effect.fnUntraced(function*(agent: Agent, exit: Exit.Exit<string, LoopError | RunTimedOut>) {
        let end = endOf(exit, agent.usage)
        if (end.error?.code === "internal_error" && Exit.isFailure(exit)) {
          yield* Effect.logError("a run failed by a fault of the server", exit.cause)
        }
        const stored = yield* Effect.exit(agent.history.append([{
          kind: "run",
          ...ownerOf(agent),
          status: end.status,
          error: end.error
        }]))
        if (Exit.isFailure(stored)) end = { ...end, status: "failed", text: null, error: storageError(stored.cause) }
        yield* emit(outbox, {
          event: "run.finished",
          data: {
            session_id: agent.run.sessionId,
            run_id: agent.run.runId,
            status: end.status,
            error: end.error,
            history_revision: agent.history.revision(),
            usage: {
              input_tokens: agent.usage.inputTokens,
              output_tokens: agent.usage.outputTokens,
              model_requests: agent.usage.modelRequests,
              tool_calls: agent.usage.toolCalls
            }
          }
        })
        return end
      })

      const running = Effect.fnUntraced(function*(request: RunRequest, restore: Restore) {
        const agent: Agent = {
          run: request.run,
          taskId: null,
          subagentId: null,
          parentId: null,
          depth: 0,
          view: rootView,
          history: request.history,
          instructions,
          label: null,
          usage: noUsage()
        }
        yield* emit(outbox, {
          event: "run.started",
          data: { session_id: request.run.sessionId, run_id: request.run.runId }
        })
        const exit = yield* Effect.exit(restore(bounded(agent, request.prompt)))
        return yield* finish(agent, exit)
      })

      const run = (request: RunRequest): Effect.Effect<RunEnd> =>
        Effect.uninterruptibleMask((restore) => {
          const { history } = request
          if (history.running === true) return Effect.sync(occupied)
          history.running = true
          return Effect.ensuring(running(request, restore), Effect.sync(() => history.running = false))
        })

      return AgentRunner.of({ run })
    })
  )

  /** The runner with its pipeline; what is left to provide is a model, a catalog, an executor, approvals and an outbox. */
  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide(AgentLoop.layerNoDeps),
    Layer.provide(ToolPipeline.layerNoDeps)
  )

  /**
   * A whole agent in this process, without wire, spectator or person: the tools with their handlers, events dropped,
   * questions denied. What is left to provide is a model and what the handlers need. Each is an agent of its own, also where
   * a program has several.
   */
  static readonly layerOf = <const Tools extends ReadonlyArray<ToolHandler<unknown>>>(
    tools: Tools
  ): Layer.Layer<AgentRunner, never, ModelTurn | Requirements<Tools>> =>
    Layer.fresh(this.layer).pipe(
      Layer.provide(LocalTools.layerOf(tools)),
      Layer.provide(Layer.merge(Outbox.layerDiscard, Approvals.layerDeny))
    )

  /**
   * Runs one prompt as a run of its own in a conversation, such as `Conversation.memory`; interruption cancels it. In a
   * conversation that is in a turn it is refused: it ends at once as failed with `run_active`.
   */
  static readonly turn = Effect.fnUntraced(function*(history: History, prompt: string) {
    const runner = yield* AgentRunner
    const runId = (yield* Ids.Generator)() as Ids.RunId
    const run: RunScope = { sessionId: history.sessionId as Ids.SessionId, runId, ending: "cancelled" }
    return yield* runner.run({ run, history, prompt })
  })
}

const occupied = (): RunEnd => ({
  status: "failed",
  text: null,
  error: { code: "run_active", message: "Another run works in this conversation. Try again when it has ended." },
  usage: noUsage()
})

const endOf = (exit: Exit.Exit<string, LoopError | RunTimedOut>, usage: Usage): RunEnd => {
  if (Exit.isSuccess(exit)) return { status: "completed", text: exit.value, error: null, usage }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error !== undefined) return { status: "failed", text: null, error: errorOf(error), usage }
  if (Cause.hasInterrupts(exit.cause)) return { status: "cancelled", text: null, error: null, usage }
  return {
    status: "failed",
    text: null,
    error: { code: "internal_error", message: "The run failed by a fault of the server; its log tells more." },
    usage
  }
}

const errorOf = (error: LoopError | RunTimedOut): RunError => {
  switch (error._tag) {
    case "ModelFailed":
      return { code: error.code, message: Diagnosis.message(error.message) }
    case "StorageFailed":
      return { code: "storage_failed", message: Diagnosis.message(error.message) }
    case "UsageLimitExceeded":
      return { code: "usage_limit_exceeded", message: `The run used up its bound of ${error.limit} ${error.bound}.` }
    case "TurnLimitReached":
      return { code: "turn_limit", message: `The run made ${error.limit} model requests, which is its limit.` }
    case "RunTimedOut":
      return { code: "run_timeout", message: `The run took longer than ${error.timeoutMs} ms.` }
    case "HistoryInvalid":
      return {
        code: "internal_error",
        message: "The conversation was found damaged and was not sent; the log tells more."
      }
  }
}

const storageError = (cause: Cause.Cause<{ readonly message: string }>): RunError => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return { code: "storage_failed", message: Diagnosis.message(error?.message ?? "storage failed") }
}
