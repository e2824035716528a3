/**
 * The metrics of a watched server (OBS-1).
 *
 * Rule: names and units follow the OpenTelemetry conventions for generative models where they have any; attributes are
 * kinds, names and codes, never what anybody said.
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** Seconds, as the conventions want them for durations of models. */
const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68]
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304]

const duration = (name: string, description: string) =>
  Metric.histogram(name, { description, boundaries: seconds, attributes: { unit: "s" } })

const requests = duration("gen_ai.client.operation.duration", "Time of model requests, retries included.")
const usage = Metric.histogram("gen_ai.client.token.usage", {
  description: "Tokens of model requests.",
  boundaries: tokens,
  attributes: { unit: "{token}" }
})
const waits = duration("errand.client_call.duration", "Time that client calls waited for their end.")
const pending = Metric.gauge("errand.client_call.pending", { description: "Client calls that wait for a result." })
const tools = Metric.counter("errand.tool_call.count", { description: "Tool calls by outcome.", incremental: true })
const runs = Metric.counter("errand.run.count", { description: "Runs by status.", incremental: true })
const events = Metric.counter("errand.event.count", { description: "Events to the client.", incremental: true })
const waiting = Metric.gauge("errand.event.waiting", { description: "Events that wait for room in the queue." })
const lost = Metric.counter("errand.event.lost", { description: "Events that found no room.", incremental: true })

const frames = Metric.counter("errand.frame.count", { description: "Frames by direction.", incremental: true })
const depth = Metric.gauge("errand.queue.depth", { description: "Frames in the output queue." })

type Attributes = Readonly<Record<string, string>>

/** Where the metrics are written. */
export interface Meters {
  readonly request: (
    seconds: number,
    usage: { readonly input: number; readonly output: number },
    of: Attributes
  ) => void
  readonly call: (seconds: number, of: Attributes) => void
  readonly pending: (calls: number) => void
  /** One call of a tool that ended; the name is as the model wrote it. */
  readonly tool: (name: string, outcome: string) => void
  readonly run: (of: Attributes) => void
  /** One event that was queued, or found no room. */
  readonly event: (name: string, queued: boolean) => void
  readonly waiting: (events: number) => void
  readonly frame: (direction: "receive" | "transmit") => void
  readonly depth: (frames: number) => void
}

/** Models make up names of tools; as many as these are counted apart, and the rest as one. */
const MOST_TOOL_NAMES = 256
const OTHER = "_OTHER"

/** Meters that write to the metrics of a context. */
export const make = (context: Context.Context<never>): Meters => {
  const write = <I, S>(metric: Metric.Metric<I, S>, value: I, attributes: Attributes): void =>
    Metric.withAttributes(metric, attributes).updateUnsafe(value, context)
  const named = new Set<string>()
  const known = (name: string): string =>
    named.has(name) || (named.size < MOST_TOOL_NAMES && named.add(name)) ? name : OTHER
  return {
    request: (seconds, { input, output }, of) => {
      write(requests, seconds, of)
      write(usage, input, { ...of, "gen_ai.token.type": "input" })
      write(usage, output, { ...of, "gen_ai.token.type": "output" })
    },
    call: (seconds, of) => write(waits, seconds, of),
    pending: (calls) => write(pending, calls, {}),
    tool: (name, outcome) => write(tools, 1, { "gen_ai.tool.name": known(name), "errand.tool.outcome": outcome }),
    run: (of) => write(runs, 1, of),
    waiting: (events) => write(waiting, events, {}),
    frame: (direction) => write(frames, 1, { "network.io.direction": direction }),
    depth: (frames) => write(depth, frames, {}),
    event: (name, queued) => write(queued ? events : lost, 1, { "errand.event.name": name })
  }
}
