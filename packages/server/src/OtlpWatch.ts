/**
 * A watch that exports to an OpenTelemetry collector over OTLP/HTTP with JSON (OBS-1).
 *
 * Rule: it is loaded only when the environment names a collector, and a collector that is slow or gone costs a closing
 * connection at most half a second.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { version } from "./Version.ts"
import * as Watch from "./Watch.ts"

/** Where the signals go: the base address of a collector, to which `/v1/traces` and `/v1/metrics` are added. */
export interface Collector {
  readonly endpoint: string
  /** `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` pairs with commas between them. */
  readonly headers?: string | undefined
}

/** Exports until the scope closes, which sends what is left. */
export const open = Effect.fnUntraced(function*(
  { endpoint, headers = "" }: Collector
): Effect.fn.Return<Watch.Watch, never, Scope.Scope> {
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
  const context = yield* Layer.build(exporters)
  return yield* Effect.provideContext(Watch.make, context as Context.Context<never>)
})

/** What is no pair is left out, and what is not encoded is taken as it stands. */
const pairs = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]]
    })
  )

const decoded = (value: string): string => Result.getOrElse(Result.try(() => decodeURIComponent(value)), () => value)
