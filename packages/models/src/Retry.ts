/**
 * Retries of transient model failures (MDL-3).
 *
 * Rule: an answer of which anything was delivered is never asked for again.
 */
import type { ModelEvent, ModelFailed, ModelRequest } from "@errand/runtime"
import { ModelTurn } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"

type Turn = (request: ModelRequest) => Stream.Stream<ModelEvent, ModelFailed>

/** How often a failed request is repeated. */
export const retries = 3

/** Milliseconds before the first repetition; it doubles with each. */
export const firstDelayMs = 500

/** The longest wait in milliseconds that a provider may ask for and get; who asks for more is not asked again. */
export const longestDelayMs = 60_000

/**
 * Repeats a request that failed with `retryable` before its first event, at most 3 times.
 *
 * It waits a random time between half and the whole of 500 ms, then 1 s, then 2 s; where the provider tells
 * `retryAfterMs` it waits that long at least, and fails at once where that is more than a minute.
 */
export const retrying = (turn: Turn): Turn => (request) => attempt(turn, request, 0)

/** `ModelTurn` with its requests retried. */
export const layer: Layer.Layer<ModelTurn, never, ModelTurn> = Layer.effect(
  ModelTurn,
  Effect.map(ModelTurn, (model) => ({ ...model, turn: retrying(model.turn) }))
)

const attempt = (turn: Turn, request: ModelRequest, done: number): ReturnType<Turn> =>
  Stream.suspend(() => {
    let delivered = false
    return turn(request).pipe(
      Stream.mapArray((events) => {
        delivered = true
        return events
      }),
      Stream.catch((failed) => {
        if (delivered || failed.retryable !== true || done === retries) return Stream.fail(failed)
        const asked = failed.retryAfterMs ?? 0
        if (asked > longestDelayMs) return Stream.fail(failed)
        return Stream.unwrap(Effect.gen(function*() {
          const whole = firstDelayMs * 2 ** done
          yield* Effect.sleep(Math.max(asked, whole / 2) + (yield* Random.next) * (whole / 2))
          return attempt(turn, request, done + 1)
        }))
      })
    )
  })
