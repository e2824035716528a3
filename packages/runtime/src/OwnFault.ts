/**
 * What a program gives to be run: hooks, questions for permission, a model (HKS-2, TRN-8).
 *
 * Rule: what throws, dies or interrupts itself has failed; interrupted is only who was interrupted from outside.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** Interrupts the fiber if somebody has. */
const ifInterrupted = Effect.uninterruptibleMask((restore) => restore(Effect.void))

/** What was given, if it is an effect: a fiber that is given anything else ends at once, and all that it was about. */
export const effectOf = <A, E, R>(given: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.isEffect(given) ? given : Effect.die(new Error("it gave no Effect"))

/** Begins the effect when it is run; whatever fault of its own it ends with is logged and comes to a verdict. */
export const judged = <A, R>(
  what: string,
  begin: () => Effect.Effect<A, never, R>,
  verdict: A
): Effect.Effect<A, never, R> =>
  Effect.catchCause(
    Effect.suspend(() => effectOf(begin())),
    (cause) => Effect.andThen(ifInterrupted, Effect.as(Effect.logError(`${what} failed`, cause), verdict))
  )

/** The effect, with its own interruption turned into a defect. */
export const contained = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchCause(effect, (cause) =>
    Cause.hasInterrupts(cause)
      ? Effect.andThen(ifInterrupted, Effect.die(new Error(`${what} interrupted itself`)))
      : Effect.failCause(cause))
