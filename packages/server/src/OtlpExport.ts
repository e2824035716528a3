/**
 * Export to an OpenTelemetry collector over OTLP/HTTP with JSON (OBS-1).
 *
 * Rule: nothing but plain objects and promises crosses its border. It is bundled apart, with a library of its own: what
 * only an exporter needs of a shared one would be loaded by every server. This is an edge.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { version } from "./Version.ts"

/** Where the signals go: the base address of a collector, to which `/v1/traces` and `/v1/metrics` are added. */
export interface Collector {
  readonly endpoint: string
  /** `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` pairs with commas between them. */
  readonly headers?: string | undefined
}

/** What is exported: the spans of a tracer, and the metrics of a registry. */
export interface Exporter {
  readonly tracer: Tracer.Tracer
  readonly metrics: (typeof Metric.MetricRegistry)["Service"]
  /** Sends what is left, for half a second at most: a collector that is gone keeps nobody waiting. */
  readonly close: () => Promise<void>
}

/** Exports until it is closed. */
export const start = ({ endpoint, headers = "" }: Collector): Promise<Exporter> => {
  const base = endpoint.replace(/\/$/, "")
  const common = {
    resource: { serviceName: "errand", serviceVersion: version },
    headers: pairs(headers),
    shutdownTimeout: 500
  }
  const exporters = Layer.mergeAll(
    OtlpTracer.layer({ ...common, url: `${base}/v1/traces` }),
    OtlpMetrics.layer({ ...common, url: `${base}/v1/metrics` })
  ).pipe(Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer]))
  const metrics: Exporter["metrics"] = new Map()
  const scope = Scope.makeUnsafe()
  const build = Effect.provideService(Layer.buildWithScope(exporters, scope), Metric.MetricRegistry, metrics)
  return Effect.runPromise(build).then((context) => ({
    tracer: Context.get(context as Context.Context<never>, Tracer.Tracer),
    metrics,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }))
}

/** What is no pair is left out, and what is not encoded is taken as it stands. */
const pairs = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]]
    })
  )

const decoded = (value: string): string => Result.getOrElse(Result.try(() => decodeURIComponent(value)), () => value)
