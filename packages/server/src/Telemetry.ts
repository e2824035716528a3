/**
 * Whether the environment asks to be told what the server does (OBS-1).
 *
 * Rule: unless it does, the answer costs one look at a variable. This is an edge: it reads the environment.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Collector } from "./OtlpExport.ts"
import type { Watch } from "./Watch.ts"

/** A watch that exports to a collector until the scope closes. */
export const exporting = Effect.fnUntraced(
  function*(collector: Collector): Effect.fn.Return<Watch, never, Scope.Scope> {
    const { make } = yield* Effect.promise(() => import("./Watch.ts"))
    const { start } = yield* Effect.promise(() => import("./OtlpExport.ts"))
    const { metrics, tracer } = yield* Effect.acquireRelease(
      Effect.promise(() => start(collector)),
      ({ close }) => Effect.promise(close)
    )
    return yield* make(tracer, metrics)
  }
)

/** The watch that `OTEL_EXPORTER_OTLP_ENDPOINT` turns on; null without it, or where `OTEL_SDK_DISABLED` is true. */
export const open: Effect.Effect<Watch | null, never, Scope.Scope> = Effect.suspend(() => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_SDK_DISABLED } = process.env
  if (endpoint === undefined || endpoint === "" || OTEL_SDK_DISABLED === "true") return Effect.succeed(null)
  return exporting({ endpoint, headers })
})
