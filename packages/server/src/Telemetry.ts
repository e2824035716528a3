/**
 * Whether the environment asks to be told what the server does (OBS-1).
 *
 * Rule: unless it does, the answer costs one look at a variable. This is an edge: it reads the environment.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import process from "node:process"
import type { Watch } from "./Watch.ts"

/** The watch that `OTEL_EXPORTER_OTLP_ENDPOINT` turns on; null without it, or where `OTEL_SDK_DISABLED` is true. */
export const open: Effect.Effect<Watch | null, never, Scope.Scope> = Effect.suspend(() => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_SDK_DISABLED } = process.env
  if (endpoint === undefined || endpoint === "" || OTEL_SDK_DISABLED === "true") return Effect.succeed(null)
  return Effect.flatMap(Effect.promise(() => import("./OtlpWatch.ts")), (otlp) => otlp.open({ endpoint, headers }))
})
