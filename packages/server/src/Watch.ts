/**
 * What a server does, as spans and metrics (OBS-1): runs, model requests, tool calls, and what client calls waited for.
 *
 * Rule: it sees what passes and changes nothing; prompts, answers, arguments and results are never attributes. Where
 * nobody watches, none of this exists.
 */
import type { Events } from "@errand/protocol"
import { type Broker, type ModelFailed, ModelTurn, type OutboxService, type ToolOutcome } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Tracer from "effect/Tracer"
import type { FrameWatch } from "./FrameWatch.ts"
import * as Meters from "./Meters.ts"

/** The places at which a server is watched. */
export interface Watch {
  /** Sees the frames of the connection. */
  readonly frames: FrameWatch
  /** Sees the events of runs. */
  readonly outbox: (outbox: OutboxService) => OutboxService
  /** Sees the model's requests; goes around the retries. */
  readonly model: Layer.Layer<ModelTurn, never, ModelTurn>
  /** Sees client calls. */
  readonly call: (call: Broker["Service"]["call"]) => Broker["Service"]["call"]
}

/** A watch that writes to a tracer and to a registry of metrics. */
export const make = Effect.fnUntraced(function*(
  tracer: Tracer.Tracer,
  metrics: (typeof Metric.MetricRegistry)["Service"]
): Effect.fn.Return<Watch> {
  const clock = yield* Clock.Clock
  const spans = new Spans(tracer, clock)
  const meters = Meters.make(Context.make(Metric.MetricRegistry, metrics))
  const seconds = (since: bigint) => Number(clock.monotonicTimeNanosUnsafe() - since) / 1e9
  let pending = 0
  let waiting = 0
  return {
    frames: {
      received: () => meters.frame("receive"),
      queued: (depth) => {
        meters.frame("transmit")
        meters.depth(depth)
      },
      written: meters.depth
    },
    outbox: ({ enqueue, offer }) => ({
      enqueue: (event, queued) => {
        spans.take(event)
        meters.event(event.event, true)
        count(meters, event)
        let waits = false
        const leave = () => {
          if (waits) meters.waiting(--waiting)
          waits = false
        }
        const place = enqueue(event, () => {
          leave()
          queued?.()
        })
        if (place === undefined) return undefined
        waits = true
        meters.waiting(++waiting)
        return {
          withdraw: () => {
            const withdrawn = place.withdraw()
            if (withdrawn) leave()
            return withdrawn
          }
        }
      },
      offer: (event) => {
        const queued = offer(event)
        meters.event(event.event, queued)
        return queued
      }
    }),
    model: Layer.effect(
      ModelTurn,
      Effect.map(ModelTurn, (model) => ({
        ...model,
        turn: (request) =>
          Stream.suspend(() => {
            const since = clock.monotonicTimeNanosUnsafe()
            const of = {
              "gen_ai.operation.name": "chat",
              "gen_ai.provider.name": model.provider,
              "gen_ai.request.model": model.name
            }
            const span = spans.begin(`chat ${model.name}`, "client", spans.agent(request.subagentId), of)
            let usage = { input: 0, output: 0 }
            const told = Stream.map(model.turn(request), (event) => {
              if (event._tag === "Finish") {
                usage = { input: event.usage.inputTokens, output: event.usage.outputTokens }
              }
              return event
            })
            return Stream.onExit(told, (exit) =>
              Effect.sync(() => {
                const error = errorOf(exit)
                const ended = error === null ? of : { ...of, "error.type": error }
                meters.request(seconds(since), usage, ended)
                spans.end(span, error, {
                  "gen_ai.usage.input_tokens": usage.input,
                  "gen_ai.usage.output_tokens": usage.output
                })
              }))
          })
      }))
    ),
    call: (call) => (invocation) =>
      Effect.suspend(() => {
        const since = clock.monotonicTimeNanosUnsafe()
        const of = { "gen_ai.tool.name": invocation.name }
        const span = spans.begin(`client_call ${invocation.name}`, "client", spans.activity(invocation.activityId), {
          ...of,
          "errand.client_call.timeout_ms": invocation.timeoutMs
        })
        meters.pending(++pending)
        return Effect.onExit(call(invocation), (exit) =>
          Effect.sync(() => {
            meters.pending(--pending)
            const outcome = Exit.isSuccess(exit) ? outcomeOf(exit.value) : "interrupted"
            meters.call(seconds(since), { ...of, "errand.client_call.outcome": outcome })
            spans.end(span, outcome === "success" ? null : outcome, { "errand.client_call.outcome": outcome })
          }))
      })
  }
})

const outcomeOf = (outcome: ToolOutcome): string => "code" in outcome ? outcome.code : outcome._tag.toLowerCase()

const errorOf = (exit: Exit.Exit<unknown, ModelFailed>): string | null =>
  Exit.isSuccess(exit)
    ? null
    : Option.match(Exit.findErrorOption(exit), { onNone: () => "interrupted", onSome: ({ code }) => code })

const count = (meters: Meters.Meters, { data, event }: Events.ServerEvent): void => {
  if (event === "run.finished") meters.run({ "errand.run.status": data.status })
  if (event === "tool.activity" && data.status !== "running") meters.tool(data.name, data.status)
}

type Attributes = Readonly<Record<string, string | number>>

/** The spans that have begun and not ended; a connection has one run at a time. */
class Spans {
  /** The span of the run that goes on now. */
  current: Tracer.Span | undefined
  private readonly activities = new Map<string, Tracer.Span>()
  private readonly tracer: Tracer.Tracer
  private readonly clock: Clock.Clock

  constructor(tracer: Tracer.Tracer, clock: Clock.Clock) {
    this.tracer = tracer
    this.clock = clock
  }

  /** The span of the call that delegated to an agent, or of the run for the root. */
  agent(subagentId: string | null | undefined): Tracer.Span | undefined {
    return typeof subagentId === "string" ? this.activity(subagentId) : this.current
  }

  activity(id: string): Tracer.Span | undefined {
    return this.activities.get(id) ?? this.current
  }

  begin(name: string, kind: Tracer.SpanKind, parent: Tracer.Span | undefined, attributes: Attributes): Tracer.Span {
    const span = this.tracer.span({
      name,
      kind,
      parent: Option.fromUndefinedOr(parent),
      root: parent === undefined,
      annotations: Context.empty(),
      links: [],
      startTime: this.clock.currentTimeNanosUnsafe(),
      sampled: true
    })
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    return span
  }

  end(span: Tracer.Span, error: string | null, attributes: Attributes): void {
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    if (error !== null) span.attribute("error.type", error)
    span.end(this.clock.currentTimeNanosUnsafe(), error === null ? Exit.void : Exit.fail(error))
  }

  take({ data, event }: Events.ServerEvent): void {
    switch (event) {
      case "run.started":
        this.current = this.begin("invoke_agent errand", "internal", undefined, {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": "errand",
          "gen_ai.conversation.id": data.session_id,
          "errand.run.id": data.run_id
        })
        return
      case "run.finished": {
        const { error, status, usage } = data
        if (this.current === undefined) return
        this.end(this.current, error?.code ?? (status === "completed" ? null : status), {
          "errand.run.status": status,
          "gen_ai.usage.input_tokens": usage.input_tokens,
          "gen_ai.usage.output_tokens": usage.output_tokens
        })
        this.current = undefined
        for (const span of this.activities.values()) this.end(span, "unfinished", {})
        this.activities.clear()
        return
      }
      case "tool.activity": {
        const { activity_id, name, parent_id, status, task_id } = data
        if (status === "running") {
          const parent = parent_id === null ? this.current : this.activity(parent_id)
          const span = this.begin(`execute_tool ${name}`, "internal", parent, {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": activity_id,
            ...(task_id === null ? {} : { "errand.task.id": task_id })
          })
          this.activities.set(activity_id, span)
          return
        }
        const span = this.activities.get(activity_id)
        if (span === undefined) return
        this.activities.delete(activity_id)
        this.end(span, status === "success" ? null : status, { "errand.tool.outcome": status })
      }
    }
  }
}
