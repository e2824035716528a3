/**
 * How long a provider may be silent (MDL-5).
 *
 * Rule: silence counts as a failed connection, and so it is tried again where nothing was told yet.
 */
import { ModelFailed } from "@errand/runtime"
import * as Context from "effect/Context"

/** Milliseconds without a sign of life from the provider that count as a failed connection (`model_idle_timeout_ms`). */
export const IdleTimeout = Context.Reference<number>("@errand/models/IdleTimeout", { defaultValue: () => 60_000 })

/** The provider was silent for so long. */
export const silent = (idleMs: number): ModelFailed =>
  new ModelFailed({ code: "model_failed", message: `the provider sent nothing for ${idleMs} ms`, retryable: true })
