/**
 * The loop of one agent: ask the model, settle its tool calls, ask again, until it answers without calls (TRN-6).
 *
 * Rule: nothing is done before what it depends on is recorded, and the history is valid whenever the model is asked
 * (SES-9, SES-11).
 */
import { Ids, type JsonText } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Agent } from "./Agent.ts"
import * as Bounds from "./Bounds.ts"
import type { Restore } from "./CallEnds.ts"
import { Catalog } from "./Catalog.ts"
import type { History, Record, StorageFailed } from "./History.ts"
import * as HistoryCheck from "./HistoryCheck.ts"
import { type ModelEvent, type ModelFailed, type ModelToolCall, ModelTurn } from "./ModelTurn.ts"
import { emit, Outbox } from "./Outbox.ts"
import * as OwnFault from "./OwnFault.ts"
import type { PipelineCall } from "./PipelineCall.ts"
import * as TextParts from "./TextParts.ts"
import { ToolPipeline } from "./ToolPipeline.ts"
import * as UsageBounds from "./UsageBounds.ts"

/** The loop made as many model requests as it may (TRN-6). */
export class TurnLimitReached extends Data.TaggedError("TurnLimitReached")<{ readonly limit: number }> {}

/** A request would have violated the history invariant; it was not sent. A fault of ours (SES-11). */
export class HistoryInvalid extends Data.TaggedError("HistoryInvalid")<{
  readonly violations: ReadonlyArray<HistoryCheck.Violation>
}> {}

/** Why the loop of an agent ended without an answer; nothing of it is protected yet. */
export type LoopError = ModelFailed | StorageFailed | TurnLimitReached | UsageBounds.UsageLimitExceeded | HistoryInvalid

/** How a loop ends: the model answered without tool calls, or calls of its last message wait for a later run (RUN-2). */
export type LoopEnd =
  | { readonly _tag: "Answered"; readonly text: string }
  | { readonly _tag: "Deferred"; readonly calls: ReadonlyArray<PipelineCall> }

/** How many model requests a run may make, subagents included (TRN-6). */
export const TurnLimit = Context.Reference<number>("@errand/runtime/TurnLimit", { defaultValue: () => 100 })

/** The loop that a tool executes in, for tools that delegate; null outside of a run (BLT-2). */
export const EnclosingLoop = Context.Reference<AgentLoop["Service"] | null>("@errand/runtime/EnclosingLoop", {
  defaultValue: () => null
})

interface Answer {
  readonly text: string
  readonly toolCalls: ReadonlyArray<ModelToolCall>
  readonly provider: JsonText | undefined
}

/** Runs the loop of one agent. */
export class AgentLoop extends Context.Service<AgentLoop, {
  /** Runs until the model answers without tool calls, or a step ends unanswered. */
  readonly run: (agent: Agent) => Effect.Effect<LoopEnd, LoopError>
}>()("@errand/runtime/AgentLoop") {
  /** The loop over the model, the catalog, the pipeline and the outbox that are provided. */
  static readonly layerNoDeps = Layer.effect(
    AgentLoop,
    Effect.gen(function*() {
      const model = yield* ModelTurn
      const catalog = yield* Catalog
      const pipeline = yield* ToolPipeline
      const outbox = yield* Outbox
      const newId = yield* Ids.Generator
      const turnLimit = yield* TurnLimit
      const ask = Effect.fnUntraced(function*(agent: Agent, messageId: Ids.MessageId) {
        const events = new Answering(agent, messageId, (event) => outbox.offer(event))
        agent.usage.modelRequests++
        const told = model.turn({
          instructions: agent.instructions,
          messages: agent.history.messages,
          tools: catalog.offered(agent.view),
          agent: agent.label,
          subagentId: agent.subagentId
        })
        const take = (chunk: ReadonlyArray<ModelEvent>) => Effect.sync(() => events.take(chunk))
        yield* OwnFault.contained("the model", Stream.runForEachArray(told, take))
        return events.end()
      })

      const reconcile = Effect.fnUntraced(function*(agent: Agent, messageId: Ids.MessageId, text: string) {
        const parts = TextParts.split(text)
        for (const [i, part] of parts.entries()) {
          yield* emit(outbox, {
            event: "message.reconcile",
            data: {
              session_id: agent.run.sessionId,
              run_id: agent.run.runId,
              message_id: messageId,
              role: "assistant",
              part: i + 1,
              parts: parts.length,
              text: part
            }
          })
        }
      })

      const settle = (agent: Agent, call: PipelineCall): Effect.Effect<void, StorageFailed> =>
        pipeline.settle(agent, call).pipe(
          // the calls beside a failed one are interrupted by the end of the run, not by anybody's wish (CAN-2)
          Effect.tapError(() => Effect.sync(() => agent.run.ending = "run_finished"))
        )

      const settleEach = (agent: Agent, calls: ReadonlyArray<PipelineCall>): Effect.Effect<void, StorageFailed> =>
        calls.length === 1
          ? settle(agent, calls[0]!)
          : Effect.forEach(calls, (call) => settle(agent, call), { concurrency: "unbounded", discard: true })

      /** Settles all calls of one message; however that ends, each of them has its one result. */
      const settleAll = (agent: Agent, calls: ReadonlyArray<PipelineCall>, restore: Restore) =>
        restore(settleEach(agent, calls)).pipe(
          Effect.onExit((exit) =>
            Exit.isSuccess(exit) ? Effect.void : Effect.ignore(pipeline.close(agent, calls), { log: "Error" })
          )
        )

      /** Records what the model answered and does what it asked for. */
      const follow = Effect.fnUntraced(function*(
        agent: Agent,
        messageId: Ids.MessageId,
        answer: Answer,
        calls: ReadonlyArray<PipelineCall>,
        tooMany: boolean,
        restore: Restore
      ) {
        const said: Record = {
          kind: "assistant",
          runId: agent.run.runId,
          taskId: agent.taskId,
          subagentId: agent.subagentId,
          messageId,
          text: answer.text,
          toolCalls: calls.map(storedCall)
        }
        const { provider } = answer
        yield* agent.history.append([provider === undefined ? said : { ...said, provider }])
        if (answer.text !== "" && agent.taskId === null) yield* reconcile(agent, messageId, answer.text)
        if (tooMany) yield* pipeline.close(agent, calls)
        else if (calls.length > 0) yield* settleAll(agent, calls, restore)
      })

      const run = Effect.fnUntraced(function*(agent: Agent) {
        const { bounds, history } = agent
        let misfits = 0
        while (true) {
          if (agent.run.failure !== undefined) return yield* agent.run.failure
          if (agent.usage.modelRequests >= turnLimit) return yield* new TurnLimitReached({ limit: turnLimit })
          const exceeded = bounds === undefined ? null : UsageBounds.reached(bounds, agent.usage)
          if (exceeded !== null) return yield* exceeded
          const checker = checkerOf(history)
          const violations = checker.advance()
          if (violations.length > 0) return yield* new HistoryInvalid({ violations })
          const messageId = newId() as Ids.MessageId
          const answer = yield* ask(agent, messageId)
          const calls = legalCalls(messageId, answer.toolCalls, checker.callIds, newId, catalog)
          agent.usage.toolCalls += calls.length
          const tooMany = bounds !== undefined && agent.usage.toolCalls > bounds.toolCalls
          yield* Effect.uninterruptibleMask((restore) => follow(agent, messageId, answer, calls, tooMany, restore))
          if (calls.length === 0) return { _tag: "Answered", text: answer.text } as const
          if (calls.some(isDeferred)) return { _tag: "Deferred", calls } as const
          if (bounds === undefined) continue
          if (tooMany) return yield* new UsageBounds.UsageLimitExceeded({ bound: "toolCalls", limit: bounds.toolCalls })
          misfits = calls.some(isMisfit) ? misfits + 1 : 0
          if (misfits > bounds.retries) {
            return yield* new UsageBounds.UsageLimitExceeded({ bound: "retries", limit: bounds.retries })
          }
        }
      })

      const loop: AgentLoop["Service"] = AgentLoop.of({
        run: (agent) => Effect.provideService(run(agent), EnclosingLoop, loop)
      })
      return loop
    })
  )
}

/** Of a conversation that this process keeps: its texts are trusted, and names are what tools may be declared as. */
export const checkerOf = (history: History): HistoryCheck.Checker =>
  history.checker ??= new HistoryCheck.Checker(history.messages, {
    texts: "trusted",
    names: "declared",
    from: history.checked ?? 0
  })

const isDeferred = (call: PipelineCall): boolean => call.deferred !== undefined
const isMisfit = (call: PipelineCall): boolean => call.misfit === true

/** Puts a model's answer together, and shows its text while it comes (TRN-4). */
class Answering {
  private text = ""
  private unshown = ""
  private readonly calls: Array<ModelToolCall> = []
  private provider: JsonText | undefined
  private readonly agent: Agent
  private readonly messageId: Ids.MessageId
  private readonly offer: Outbox["Service"]["offer"]

  constructor(agent: Agent, messageId: Ids.MessageId, offer: Outbox["Service"]["offer"]) {
    this.agent = agent
    this.messageId = messageId
    this.offer = offer
  }

  take(events: ReadonlyArray<ModelEvent>): void {
    for (const event of events) this.one(event)
  }

  private one(event: ModelEvent): void {
    switch (event._tag) {
      case "TextDelta":
        this.text += event.text
        if (this.agent.taskId === null) this.show(event.text)
        return
      case "ToolCall":
        this.calls.push(event.call)
        return
      case "Provider":
        this.provider = event.provider
        return
      case "Finish":
        this.agent.usage.inputTokens += event.usage.inputTokens
        this.agent.usage.outputTokens += event.usage.outputTokens
    }
  }

  end(): Answer {
    this.show("", true)
    return { text: HistoryCheck.wellFormed(this.text), toolCalls: this.calls, provider: this.provider }
  }

  /**
   * Deltas that find no room are merged into the next one, or lost once they fill a part: the whole text follows. Half a
   * surrogate pair waits for the other half, unless the text is over.
   */
  private show(more: string, over = false): void {
    this.unshown += more
    const last = this.unshown.charCodeAt(this.unshown.length - 1)
    const half = !over && (last & 0xfc00) === 0xd800 ? this.unshown.slice(-1) : ""
    const whole = this.unshown.slice(0, this.unshown.length - half.length)
    if (whole === "") return
    for (const part of TextParts.split(HistoryCheck.wellFormed(whole))) {
      const { runId, sessionId } = this.agent.run
      const data = { session_id: sessionId, run_id: runId, message_id: this.messageId, text: part }
      if (!this.offer({ event: "message.delta", data })) {
        if (this.unshown.length >= TextParts.PART_BYTES) this.unshown = half
        return
      }
      this.unshown = this.unshown.slice(part.length)
    }
  }
}

/** A call as it is stored: what a model wrote instead of an object is no history that a provider takes (SES-11). */
const storedCall = (call: PipelineCall): ModelToolCall => ({
  id: call.id,
  name: call.name,
  arguments: Bounds.recorded(call.arguments)
})

const legalCalls = (
  messageId: Ids.MessageId,
  toolCalls: ReadonlyArray<ModelToolCall>,
  callIds: ReadonlySet<string>,
  newId: () => string,
  catalog: Catalog["Service"]
): ReadonlyArray<PipelineCall> => {
  const once = new Set<string>()
  const repeated = new Set<string>()
  for (const { id } of toolCalls) (once.has(id) ? repeated : once).add(id)
  return toolCalls.map((call, index) => ({
    messageId,
    index,
    // an id that two calls have names neither of them (RUN-2, faults A9)
    id: HistoryCheck.legalId(repeated.has(call.id) ? newId() : call.id, callIds, newId),
    asked: call.name,
    name: declaredName(catalog, call.name),
    arguments: Bounds.read(call.arguments),
    activityId: newId() as Ids.ActivityId,
    started: false,
    settled: false,
    deferred: undefined
  }))
}

/** A declared name stays as it is, denied or not: what a provider does not allow has an alias there (MDL-4, DCL-10). */
const declaredName = (catalog: Catalog["Service"], name: string): string => {
  const legal = HistoryCheck.legalName(name)
  return legal === name || catalog.tools.some((tool) => tool.name === name) ? name : legal
}
