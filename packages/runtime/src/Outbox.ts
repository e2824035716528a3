/**
 * The port that events of a run leave by (section 6).
 *
 * Rule: one order for all. What was accepted first goes out first, and only what the contract calls provisional may be
 * lost.
 */
import type { Events } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** An event that waits for room in the output queue. */
export interface Waiting {
  /** Takes the event back; true when it had not entered the queue and so never goes out. */
  readonly withdraw: () => boolean
}

/** Where the events of runs go. */
export interface OutboxService {
  /**
   * Puts a critical event in line. Returns undefined when it is in the queue now; else it waits its turn, and `queued`
   * is called when it enters (TRN-4, CAN-1).
   */
  readonly enqueue: (event: Events.ServerEvent, queued?: () => void) => Waiting | undefined
  /** Offers a provisional event; false when there is no room, and then it is lost (TRN-4). */
  readonly offer: (event: Events.ServerEvent) => boolean
}

/** Carries the events of runs to whoever watches them. */
export class Outbox extends Context.Service<Outbox, OutboxService>()("@errand/runtime/Outbox") {
  /** Drops every event: for embedders who only want the result of a run. */
  static readonly layerDiscard = Layer.succeed(Outbox, { enqueue: () => undefined, offer: () => true })

  /** Hands every event to a function at once. */
  static readonly layerSink = (sink: (event: Events.ServerEvent) => void) =>
    Layer.succeed(Outbox, {
      enqueue: (event) => {
        sink(event)
        return undefined
      },
      offer: (event) => {
        sink(event)
        return true
      }
    })
}

/** Puts a critical event in line and waits until it is in the queue; interruption does not take it back. */
export const emit = (outbox: OutboxService, event: Events.ServerEvent): Effect.Effect<void> =>
  Effect.suspend(() => {
    let resume: ((effect: Effect.Effect<void>) => void) | undefined
    let queued = false
    const waiting = outbox.enqueue(event, () => {
      queued = true
      resume?.(Effect.void)
    })
    return waiting === undefined || queued ? Effect.void : Effect.callback<void>((done) => {
      if (queued) done(Effect.void)
      else resume = done
    })
  })
