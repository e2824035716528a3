/**
 * Who is told of the frames of a connection (OBS-1).
 *
 * Rule: it stands on the path of every frame, so that where nobody watches it is one look at a field and nothing else.
 */
import * as Context from "effect/Context"

/** What is told of frames; `depth` counts those in the output queue, the one that was told of included. */
export interface FrameWatch {
  readonly received: () => void
  /** A frame entered the output queue. */
  readonly queued: (depth: number) => void
  /** The pipe took frames. */
  readonly written: (depth: number) => void
}

/** The watch of one connection, which comes with what `initialize` starts and goes with it. */
export interface Watched {
  by: FrameWatch | undefined
}

/** What a connection's queue and reader look at. */
export const FrameWatched = Context.Reference<Watched>("@errand/server/FrameWatched", {
  defaultValue: () => ({ by: undefined })
})
