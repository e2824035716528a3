/**
 * An agent whose runs may end suspended and be resumed: `run`, `resume`, `recover`, `abandon` (sections 2, 3, 5 and 6).
 *
 * Rule: everything that can be refused is refused before anything starts, as a typed error; what comes of a run that
 * started is one value (RUN-1).
 */
import { Ids } from "@errand/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { EnclosingLoop } from "../AgentLoop.ts"
import type { Approvals } from "../Approvals.ts"
import { ToolHooks, type ToolHooksService } from "../Hooks.ts"
import type { ModelTurn } from "../ModelTurn.ts"
import type { ToolExecutor } from "../ToolExecutor.ts"
import { noUsage, type Usage } from "../UsageBounds.ts"
import { type AgentDefinition, declared } from "./AgentDefinition.ts"
import type { Bindings, ResumeBindings } from "./Bindings.ts"
import type { ClientTool } from "./Declaration.ts"
import * as Digest from "./Digest.ts"
import * as Engine from "./Engine.ts"
import * as Output from "./Output.ts"
import * as Pending from "./Pending.ts"
import * as Preflight from "./Preflight.ts"
import * as Recovery from "./Recovery.ts"
import type { Results } from "./Results.ts"
import { limits as resultLimits } from "./ResultsCheck.ts"
import { type ResumeError, SuspensionInvalid } from "./ResumeError.ts"
import { Ledger, SuspensionConsumed } from "./Resumes.ts"
import * as Run from "./Run.ts"
import * as RunInput from "./RunInput.ts"
import type { RunResult } from "./RunResult.ts"
import * as State from "./State.ts"
import * as Stored from "./Stored.ts"
import * as Surface from "./Surface.ts"
import * as Suspension from "./Suspension.ts"
import { ThreadSuspended } from "./ThreadSuspended.ts"

/** What a host decides for all runs of a harness. */
export interface Options {
  /** Newest first: the first signs, all verify. Without keys suspensions have a checksum only (SUS-2). */
  readonly keys?: Digest.Keys
  /** Lets approvals of unsigned suspensions be resumed (SUS-2). */
  readonly trustUnsigned?: boolean
  /** How large one answer may be, in bytes of JSON; 262,144 by default. */
  readonly answerBytes?: number
}

/** What a resume is given: values by id, or answers made from the pending requests. */
export type GivenResults = Results | ReadonlyArray<Pending.Given>

/** Why a run that goes on from a suspension does not start. */
export type ResumeRefused = ResumeError | SuspensionConsumed | Surface.SurfaceInvalid | RunInput.RunInputInvalid

/** Why a run does not start. */
export type RunRefused = Surface.SurfaceInvalid | SuspensionInvalid | ThreadSuspended | RunInput.RunInputInvalid

/** The runs of one definition. */
export interface Harness<Output, Tool extends ClientTool> {
  /** Runs a prompt in a new thread, or in the one whose `state` is given; with `prompt: null` it goes on from the state. */
  readonly run: (
    input: { readonly prompt: string | null; readonly state?: unknown; readonly threadId?: string } & Bindings
  ) => Effect.Effect<RunResult<Output>, RunRefused>
  /** What a suspension waits for, from storage alone; its digest is checked. */
  readonly pending: (suspension: unknown) => Result.Result<Pending.Pending<Tool>, Suspension.OpenError>
  /** Goes on with the answers to everything that is pending (RSM-2); the same suspension starts one run (RSM-6). */
  readonly resume: (
    suspension: unknown,
    results: GivenResults,
    bindings?: ResumeBindings
  ) => Effect.Effect<RunResult<Output>, ResumeRefused>
  /**
   * Goes on after a resume that was interrupted; `laterState` is what `checkpoint` got last, null without one (RSM-7). One
   * that runs or has an outcome in this process is not recovered: `SuspensionConsumed`.
   */
  readonly recover: (
    suspension: unknown,
    results: GivenResults,
    laterState: unknown,
    bindings?: ResumeBindings
  ) => Effect.Effect<RunResult<Output>, ResumeRefused>
  /** A new prompt on a suspended thread without its answers: pending calls are closed, or stay pending where they are retry-safe (RSM-8). */
  readonly abandon: (
    suspended: unknown,
    prompt: string,
    bindings?: Bindings
  ) => Effect.Effect<RunResult<Output>, ResumeRefused>
  /** The history under a new thread id; what is pending is closed in the fork only (SUS-5). */
  readonly fork: (
    suspended: unknown,
    threadId?: string
  ) => Result.Result<State.State, Suspension.OpenError | RunInput.RunInputInvalid>
}

/** A state, or the state of a suspension whose digest is right. */
const opened = (
  value: unknown,
  keys: Digest.Keys | null
): Result.Result<
  { readonly state: State.State; readonly suspension: Suspension.Suspension | null },
  Suspension.OpenError
> => {
  const state = Result.getOrElse(
    Result.try(() => typeof value === "object" && (value as State.State | null)?.format === "errand.state"),
    () => false
  )
  return state
    ? Result.map(Stored.readState(value), (state) => ({ state, suspension: null }))
    : Result.map(Suspension.open(value, keys), (suspension) => ({ state: suspension.state, suspension }))
}

const usageOf = (state: State.State, goesOn: boolean): Usage =>
  goesOn
    ? {
      inputTokens: state.usage.input_tokens,
      outputTokens: state.usage.output_tokens,
      modelRequests: state.usage.model_requests,
      toolCalls: state.usage.tool_calls
    }
    : noUsage()

type Needs = ModelTurn | ToolExecutor | Approvals

/** Makes the harness of a definition with the model, the executor and the approvals that are provided. */
export const make = Effect.fnUntraced(function*<Output, Tool extends ClientTool>(
  definition: AgentDefinition<Output, Tool>,
  options: Options = {}
): Effect.fn.Return<Harness<Output, Tool>, never, Needs> {
  const context = yield* Effect.context<Needs>()
  const newId = yield* Ids.Generator
  const ledger = yield* Ledger
  const keys = options.keys ?? null
  const answerBytes = options.answerBytes ?? resultLimits.answerBytes
  const output = Output.reader(definition.output)
  const host: Run.Host<Output> = { definition, output, keys, newId }
  const tools = declared(definition)
  const retrySafe = new Set(definition.tools.filter((tool) => tool.retrySafe === true).map((tool) => tool.name))
  const engines = new Map<boolean, { readonly hooks: ToolHooksService | null; readonly engine: Engine.Engine }>()

  const engineOf = Effect.fnUntraced(function*({ clientToolsets }: Bindings, suspends: boolean) {
    // those around the run, which are the current ones, or else those around the harness (RSM-2)
    const hooks = (yield* ToolHooks) ?? Context.get(context, ToolHooks)
    const known = clientToolsets === undefined ? engines.get(suspends) : undefined
    if (known !== undefined && known.hooks === hooks) return known.engine
    const surface = yield* Effect.fromResult(Surface.make({
      clientTools: definition.clientTools,
      clientToolsets,
      others: definition.tools,
      rules: definition.permissions,
      rename: definition.rename,
      deferredToolsSupported: suspends
    }))
    const checked = Engine.checked(surface, definition)
    // an engine outlives the run that it is built for, so nothing else of that run's context may get into it
    const engine = yield* Engine.make(definition, checked, output.guidance, 2 * answerBytes).pipe(
      Effect.updateContext<never, Needs>(() => Context.add(context, ToolHooks, hooks))
    )
    if (clientToolsets === undefined) engines.set(suspends, { hooks, engine })
    return engine
  })

  /** What every start has of its bindings; deferral is off inside of another run's tool call, whatever they say (CHD-2). */
  const begin = Effect.fnUntraced(function*(bindings: Bindings & RunInput.Given) {
    const wrong = RunInput.check(bindings)
    if (wrong !== null) return yield* wrong
    const suspends = bindings.deferredToolsSupported !== false && (yield* EnclosingLoop) === null
    const engine = yield* engineOf(bindings, suspends)
    return {
      engine,
      suspends,
      parentRunId: bindings.parentRunId ?? null,
      checkpoint: bindings.checkpoint ?? null,
      cancelled: bindings.cancelled ?? null,
      expiresInMs: bindings.expiresInMs ?? null
    }
  })

  const isRetrySafe = ({ surface }: Engine.Engine) => (name: string): boolean =>
    retrySafe.has(name) || surface.tools.get(name)?.client?.retrySafe === true

  const once = (suspension: Suspension.Suspension, given: unknown, start: Run.Start, recovers = false) =>
    ledger.once(
      suspension.digest,
      Digest.brief(JSON.stringify(given)),
      () => new SuspensionConsumed({ details: { threadId: suspension.thread_id, runId: suspension.run_id } }),
      Run.run(host, start),
      recovers
    )

  const preflight = Effect.fnUntraced(function*(suspension: unknown, results: GivenResults, bindings: ResumeBindings) {
    const begun = yield* begin(bindings)
    const input: Preflight.Input = {
      suspension,
      results,
      surface: begun.engine.surface,
      now: yield* Clock.currentTimeMillis,
      keys,
      trustUnsigned: options.trustUnsigned,
      answerBytes
    }
    return { begun, input }
  })

  const run: Harness<Output, Tool>["run"] = Effect.fnUntraced(function*(input) {
    const begun = yield* begin(input)
    const base = input.state === undefined ? null : yield* Effect.fromResult(Stored.readState(input.state))
    if (base !== null && base.calls.length > 0) {
      return yield* new ThreadSuspended({ details: { threadId: base.thread_id } })
    }
    const prompt = input.prompt ?? null
    if ((base === null || base.messages.length === 0) && prompt === null) {
      return yield* new SuspensionInvalid({
        details: { path: "state", rule: "must hold messages where there is no prompt" }
      })
    }
    return yield* Run.run(host, {
      ...begun,
      threadId: base?.thread_id ?? input.threadId ?? newId(),
      base,
      sealed: false,
      steps: [],
      before: undefined,
      input: prompt,
      usage: base === null ? noUsage() : usageOf(base, input.resumeUsage === true)
    })
  })

  const resume: Harness<Output, Tool>["resume"] = Effect.fnUntraced(function*(stored, given, bindings = {}) {
    const { begun, input } = yield* preflight(stored, given, bindings)
    const { steps, suspension } = yield* Effect.fromResult(Preflight.check(input))
    const { state } = suspension
    return yield* once(suspension, [steps, bindings.input ?? null], {
      ...begun,
      threadId: state.thread_id,
      base: state,
      sealed: true,
      steps,
      before: suspension.requests,
      input: bindings.input ?? null,
      usage: usageOf(state, bindings.resumeUsage === true)
    })
  })

  const recover: Harness<Output, Tool>["recover"] = Effect.fnUntraced(function*(stored, given, later, bindings = {}) {
    const { begun, input } = yield* preflight(stored, given, bindings)
    const plan = yield* Effect.fromResult(
      Recovery.check({ ...input, laterState: later, retrySafe: isRetrySafe(begun.engine) })
    )
    const { state, steps, suspension } = plan
    const start: Run.Start = {
      ...begun,
      threadId: state.thread_id,
      base: state,
      sealed: false,
      steps,
      before: suspension.requests,
      input: Recovery.untold(plan, bindings.input ?? null),
      usage: usageOf(state, bindings.resumeUsage === true)
    }
    return yield* once(suspension, ["recover", state, steps, bindings.input ?? null], start, true)
  })

  const abandon: Harness<Output, Tool>["abandon"] = Effect.fnUntraced(function*(suspended, prompt, bindings = {}) {
    const begun = yield* begin({ ...bindings, prompt })
    const { state, suspension } = yield* Effect.fromResult(opened(suspended, keys))
    const steps = yield* Effect.fromResult(Recovery.abandon(state, isRetrySafe(begun.engine)))
    const start: Run.Start = {
      ...begun,
      threadId: state.thread_id,
      base: state,
      sealed: suspension !== null,
      steps,
      before: suspension?.requests,
      input: prompt,
      usage: usageOf(state, bindings.resumeUsage === true)
    }
    return yield* suspension === null ? Run.run(host, start) : once(suspension, ["abandon", prompt], start)
  })

  return {
    run,
    pending: (suspension) =>
      Result.map(Suspension.open(suspension, keys), ({ requests }) => Pending.of<Tool>(requests, tools)),
    resume,
    recover,
    abandon,
    fork: (suspended, threadId = newId()) => {
      const wrong = RunInput.check({ threadId })
      return wrong === null
        ? Result.map(opened(suspended, keys), ({ state }) => State.fork(state, threadId))
        : Result.fail(wrong)
    }
  }
})
