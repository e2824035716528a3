/**
 * One run of a harness: settles what an earlier run left open, asks the model until it answers or a step ends unanswered,
 * and tells how it ended (RUN-1 to RUN-7, RSM-2).
 *
 * Rule: a run that has ended lives nowhere: no fiber, timer or handle of it is left (RUN-3).
 */
import type { Ids } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Agent } from "../Agent.ts"
import { checkerOf, EnclosingLoop, HistoryInvalid, type LoopError } from "../AgentLoop.ts"
import type { Restore } from "../CallEnds.ts"
import { rootView } from "../Catalog.ts"
import * as OwnFault from "../OwnFault.ts"
import type { PipelineCall } from "../PipelineCall.ts"
import type { ToolOutcome } from "../ToolExecutor.ts"
import { type Usage } from "../UsageBounds.ts"
import type { AgentDefinition } from "./AgentDefinition.ts"
import type { ClientTool } from "./Declaration.ts"
import type * as Digest from "./Digest.ts"
import type { Engine } from "./Engine.ts"
import * as Leftover from "./Leftover.ts"
import * as Output from "./Output.ts"
import { maxRequests } from "./Preflight.ts"
import * as Requests from "./Requests.ts"
import * as RunFailure from "./RunFailure.ts"
import type { Ended, Failure, RunResult } from "./RunResult.ts"
import * as State from "./State.ts"
import type { Requests as Envelope } from "./Stored.ts"
import * as Suspension from "./Suspension.ts"
import { type Checkpoint, Thread } from "./Thread.ts"

/** What all runs of a harness share. */
export interface Host<Output> {
  readonly definition: AgentDefinition<Output, ClientTool>
  readonly output: Output.OutputReader<Output>
  readonly keys: Digest.Keys | null
  readonly newId: () => string
}

/** What one run begins with; `steps` are for the open calls of `base`, in their order. */
export interface Start {
  readonly engine: Engine
  readonly threadId: string
  readonly base: State.State | null
  /** Whether `base` came out of a suspension whose digest is right. */
  readonly sealed: boolean
  readonly steps: ReadonlyArray<Leftover.Step>
  /** The requests that the run goes on from, if any. */
  readonly before: Envelope | undefined
  /** The prompt, or what comes after the results. */
  readonly input: string | null
  readonly usage: Usage
  readonly suspends: boolean
  readonly parentRunId: string | null
  readonly checkpoint: Checkpoint | null
  readonly cancelled: Effect.Effect<unknown> | null
  readonly expiresInMs: number | null
}

class OutputInvalid extends Data.TaggedError("OutputInvalid")<{ readonly rule: string; readonly retries: number }> {}

type Reached<Output> =
  | { readonly _tag: "Output"; readonly output: Output }
  | { readonly _tag: "Pending"; readonly input: string | null }

const tooMany: ToolOutcome = {
  _tag: "Refused",
  code: "client_tool_busy",
  message: `The call was not sent: at most ${maxRequests} calls may wait for answers. Try again when they have ended.`
}

/** Takes over what ended the step unanswered; what is more than a suspension may hold is refused (check 6). */
const defer = Effect.fnUntraced(function*(
  { pipeline }: Engine,
  agent: Agent,
  thread: Thread,
  calls: ReadonlyArray<PipelineCall>
) {
  if (agent.run.failure !== undefined) {
    yield* pipeline.close(agent, calls)
    return yield* agent.run.failure
  }
  const deferred = calls.filter((call) => call.deferred !== undefined)
  // a recovery may have left others waiting before
  const waiting = thread.open.filter((call) => call.status !== "completed").length - deferred.length
  const room = Math.max(0, maxRequests - waiting)
  for (const call of deferred.slice(0, room)) {
    thread.defer(call.id, call.deferred!.category, call.deferred!.arguments)
  }
  for (const call of deferred.slice(room)) {
    yield* pipeline.deliver(agent, call, call.deferred!.arguments, tooMany)
  }
})

const userRecord = (agent: Agent, text: string) =>
  ({ kind: "user", runId: agent.run.runId, taskId: null, subagentId: null, text }) as const

/** Runs to the next end: an output, or calls that wait. */
const work = Effect.fnUntraced(function*<Output>(host: Host<Output>, start: Start, agent: Agent, thread: Thread) {
  const { engine } = start
  if (start.steps.length > 0) {
    yield* defer(engine, agent, thread, yield* Leftover.settle(engine, agent, thread, start.steps, host.newId))
  }
  if (thread.open.length > 0) return { _tag: "Pending", input: start.input } as const
  if (start.input !== null) yield* thread.append([userRecord(agent, start.input)])
  const last = thread.messages.at(-1)
  // what was answered before is not asked again (RSM-7)
  let answered = last?.role === "assistant" ? last.text : null
  const violations = answered === null ? [] : checkerOf(thread).advance()
  if (violations.length > 0) return yield* new HistoryInvalid({ violations })
  const { retries } = host.definition.bounds
  for (let misfits = 0;; misfits++) {
    if (answered === null) {
      const end = yield* engine.loop.run(agent)
      if (end._tag === "Deferred") {
        yield* defer(engine, agent, thread, end.calls)
        return { _tag: "Pending", input: null } as const
      }
      answered = end.text
    }
    const output = host.output.read(answered)
    if (Result.isSuccess(output)) return { _tag: "Output", output: output.success } as const
    const { path, rule } = output.failure
    if (misfits >= retries) return yield* new OutputInvalid({ rule: `${path} ${rule}`, retries })
    yield* thread.append([userRecord(agent, Output.correction(output.failure))])
    answered = null
  }
})

/** The effect until the signal comes; one that came before keeps it from starting, and one that fails never comes. */
const cancellable = <A, E>(effect: Effect.Effect<A, E>, cancelled: Effect.Effect<unknown> | null) => {
  if (cancelled === null) return effect
  const came = OwnFault.judged("the signal that cancels", () => Effect.as(OwnFault.effectOf(cancelled), true), false)
  return Effect.raceFirst(Effect.flatMap(came, (yes) => yes ? Effect.interrupt : Effect.never), effect)
}

const failureOf = (cause: Cause.Cause<LoopError | OutputInvalid>): Failure | null => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error === undefined) return Cause.hasInterrupts(cause) ? null : RunFailure.internal
  return error._tag === "OutputInvalid"
    ? RunFailure.outputInvalid(error.rule, error.retries)
    : RunFailure.ofLoop(error)
}

const since = (usage: Usage, before: Usage): Usage => ({
  inputTokens: usage.inputTokens - before.inputTokens,
  outputTokens: usage.outputTokens - before.outputTokens,
  modelRequests: usage.modelRequests - before.modelRequests,
  toolCalls: usage.toolCalls - before.toolCalls
})

/** Runs once and tells how it ended; never fails. Interrupting it closes its open calls first. */
export const run = <Output>(host: Host<Output>, start: Start): Effect.Effect<RunResult<Output>> =>
  Effect.uninterruptibleMask((restore) => masked(host, start, restore))

const masked = Effect.fnUntraced(function*<Output>(
  host: Host<Output>,
  start: Start,
  restore: Restore
): Effect.fn.Return<RunResult<Output>> {
  const runId = host.newId() as Ids.RunId
  const { base, parentRunId, threadId } = start
  const usage = { ...start.usage }
  const thread = Thread.open(threadId, base, usage, start.checkpoint, start.sealed)
  if (thread === null) {
    const messages = State.messages(base!)
    const failure = RunFailure.stateInvalid(Result.isFailure(messages) ? messages.failure.index : 0)
    const ended: Ended = { threadId, runId, parentRunId, usage: since(usage, start.usage), messages: [] }
    return { _tag: "Failed", ...ended, failure, state: base }
  }
  const agent: Agent = {
    run: { sessionId: threadId as Ids.SessionId, runId, ending: "cancelled" },
    taskId: null,
    subagentId: null,
    parentId: null,
    depth: 0,
    view: rootView,
    history: thread,
    instructions: start.engine.instructions,
    label: null,
    usage,
    suspends: start.suspends,
    bounds: host.definition.bounds
  }
  // what executes in this run finds its loop, whoever settles the call: the loop, or the resume before it (CHD-2)
  const working = Effect.provideService(work(host, start, agent, thread), EnclosingLoop, start.engine.loop)
  const exit = yield* Effect.exit(restore(cancellable(working, start.cancelled)))
  // whatever moment it was cut off at, between two steps too
  if (Exit.isFailure(exit)) yield* Leftover.close(start.engine, agent, thread, start.steps, host.newId)
  const ended: Ended = { threadId, runId, parentRunId, usage: since(usage, start.usage), messages: thread.added() }
  if (Exit.isFailure(exit)) {
    const failure = failureOf(exit.cause)
    if (failure === null) return { _tag: "Cancelled", ...ended, state: thread.state() }
    if (failure === RunFailure.internal) yield* Effect.logError("a run failed by a fault of the program", exit.cause)
    return { _tag: "Failed", ...ended, failure, state: thread.state() }
  }
  const reached: Reached<Output> = exit.value
  const state = thread.state()
  if (reached._tag === "Output") return { _tag: "Completed", ...ended, output: reached.output, state }
  if (!start.suspends) return { _tag: "Failed", ...ended, failure: RunFailure.unsupported, state }
  const now = yield* Clock.currentTimeMillis
  const suspension = Suspension.seal({
    runId,
    state,
    requests: Requests.of(state.calls, start.engine.surface, start.before),
    surface: start.engine.surface.fingerprints,
    createdAt: now,
    expiresAt: start.expiresInMs === null ? null : now + start.expiresInMs
  }, host.keys)
  return { _tag: "Suspended", ...ended, suspension, input: reached.input }
})
