/**
 * The one writer of frames (section 6).
 *
 * Rule: frames leave in the order in which they entered a bounded queue, and each has one absolute deadline from the
 * moment it was first offered until the pipe has taken its last byte (OUT-1, OUT-2).
 *
 * Plain synchronous code on purpose: this is on the path of every frame. While a chunk of input is handled, frames are
 * collected and written at `FLUSH_AT` characters; otherwise one microtask later. Behind a pipe that did not take a write at
 * once each frame is a write of its own, after the one before was taken: what is written together is taken together, and
 * frames that waited are of different ages.
 */
import { type Events, type Ids, Limits, Wire } from "@errand/protocol"
import { Outbox, type OutboxService, type Waiting } from "@errand/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { FrameWatched } from "./FrameWatch.ts"

/** The pipe that frames go into; `done` is called, perhaps at once, when it has taken the last byte, and with an error when it is gone. */
export interface OutputPipe {
  readonly write: (text: string, done: (error?: Error | null) => void) => void
}

/** Why output ended before the server wanted it to (CLS-1). */
export type OutputLoss = "output_stalled" | "output_closed"

/** Characters after which collected frames are written at once. */
const FLUSH_AT = 4096

interface Line {
  /** Makes the frame's text when it enters the queue, because `seq` counts in that order (REQ-7). */
  readonly text: () => string
  readonly at: number
  readonly queued: (() => void) | undefined
}

/** The bounded output queue and its writer. */
export class OutboxQueue extends Context.Service<
  OutboxQueue,
  OutboxService & {
    /** Puts an encoded response in line. */
    readonly respond: (text: string) => void
    /** Whether a frame would enter the queue now; what needs an answer is not read before (OUT-3). */
    readonly hasRoom: () => boolean
    /** Calls once when there is room again. */
    readonly onRoom: (listener: () => void) => void
    /** Collects frames while `body` runs. */
    readonly corked: (body: () => void) => void
    /** Puts the last frame in line; what comes later is discarded (CLS-2). */
    readonly seal: (event: Events.ServerEvent) => void
    /** Waits until everything in line has been written, or output is lost. */
    readonly drained: Effect.Effect<void>
    /** Waits until output is lost. */
    readonly lost: Effect.Effect<OutputLoss>
  }
>()("@errand/server/OutboxQueue") {
  /** Writes into a pipe under one instance id (REQ-8). */
  static readonly layer = (pipe: OutputPipe, instanceId: Ids.InstanceId) =>
    Layer.effectContext(
      Effect.map(make(pipe, instanceId), (queue) => Context.make(OutboxQueue, queue).pipe(Context.add(Outbox, queue)))
    )
}

const make = Effect.fnUntraced(function*(pipe: OutputPipe, instanceId: Ids.InstanceId) {
  const { output_deadline_ms, output_queue_frames } = (yield* Limits.Limits).base
  const clock = yield* Clock.Clock
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const watched = yield* FrameWatched
  const queue = yield* Queue.bounded<string>(output_queue_frames)
  const loss = yield* Deferred.make<OutputLoss>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

  /** When each frame in the queue or on its way into the pipe was offered, oldest first. */
  const offered: Array<number> = []
  /** Frames that wait for room, oldest first. */
  let line: Array<Line> = []
  let listeners: Array<() => void> = []
  let drainers: Array<() => void> = []
  let seq = 0
  let characters = 0
  let corks = 0
  let scheduled = false
  /** Whether frames wait behind a write that the pipe did not take at once. */
  let behind = false
  let admitting = false
  let sealed = false
  let isLost = false
  let watch: Fiber.Fiber<void> | undefined

  const lose = (reason: OutputLoss): void => {
    if (isLost) return
    isLost = true
    const waiting = line
    line = []
    offered.length = 0
    Deferred.doneUnsafe(loss, Effect.succeed(reason))
    for (const one of waiting) one.queued?.()
    wake()
  }
  const wake = (): void => {
    if (hasRoom() && listeners.length > 0) {
      const ready = listeners
      listeners = []
      for (const listener of ready) listener()
    }
    if (isEmpty() && drainers.length > 0) {
      const ready = drainers
      drainers = []
      for (const drainer of ready) drainer()
    }
  }
  const isEmpty = () => isLost || (offered.length === 0 && line.length === 0)
  const hasRoom = () => isLost || (line.length === 0 && offered.length < output_queue_frames)

  /** Writes in one piece what was collected. */
  const flush = (): void => {
    scheduled = false
    if (behind) return
    let frames = 0
    let text = ""
    for (
      let exit = Queue.takeUnsafe(queue);
      exit !== undefined && exit._tag === "Success";
      exit = Queue.takeUnsafe(queue)
    ) {
      text += exit.value
      frames++
    }
    if (frames === 0) return
    characters = 0
    write(text, frames)
  }
  /** Writes what has waited, frame by frame. */
  const catchUp = (): void => {
    for (let exit = Queue.takeUnsafe(queue); exit?._tag === "Success"; exit = Queue.takeUnsafe(queue)) {
      if (!write(exit.value, 1)) return
    }
    behind = false
  }
  /** Whether the pipe took the text at once; else it goes on with what has waited when it has. */
  const write = (text: string, frames: number): boolean => {
    let taken = false
    let late = false
    pipe.write(text, (error) => {
      if (error !== undefined && error !== null) return lose("output_closed")
      if (isLost) return
      taken = true
      offered.splice(0, frames)
      watched.by?.written(offered.length)
      admit()
      if (late) catchUp()
    })
    late = !taken
    if (late) behind = true
    return taken
  }
  /** Lets in what waits; a pipe that takes bytes at once calls back from within, and then the loop below goes on. */
  const admit = (): void => {
    if (admitting) return
    admitting = true
    while (line.length > 0 && offered.length < output_queue_frames) {
      const one = line.shift()!
      enter(one.text(), one.at)
      one.queued?.()
    }
    admitting = false
    wake()
  }
  const enter = (text: string, at: number): void => {
    Queue.offerUnsafe(queue, text)
    offered.push(at)
    watched.by?.queued(offered.length)
    if (behind) return
    characters += text.length
    if (characters >= FLUSH_AT) flush()
    else if (corks === 0 && !scheduled) {
      scheduled = true
      queueMicrotask(flush)
    }
  }

  // One sleeping fiber watches the oldest frame; while frames flow it wakes once per deadline and goes on sleeping.
  const look: Effect.Effect<void> = Effect.suspend(() => {
    watch = undefined
    const oldest = offered[0] ?? line[0]?.at
    if (oldest === undefined || isLost) return Effect.void
    if (now() - oldest >= output_deadline_ms) {
      lose("output_stalled")
      return Effect.void
    }
    watchFrom(oldest)
    return Effect.void
  })
  const watchFrom = (at: number): void => {
    if (watch !== undefined) return
    const wait = Duration.millis(Math.max(1, Math.ceil(at + output_deadline_ms - now())))
    watch = runFork(Effect.andThen(clock.sleep(wait), look))
  }
  yield* Effect.addFinalizer(() => Effect.suspend(() => watch === undefined ? Effect.void : Fiber.interrupt(watch)))

  const put = (text: () => string, queued: (() => void) | undefined): Waiting | undefined => {
    if (sealed || isLost) return undefined
    const at = now()
    watchFrom(at)
    if (hasRoom()) {
      enter(text(), at)
      return undefined
    }
    const one: Line = { text, at, queued }
    line.push(one)
    return {
      withdraw: () => {
        const index = line.indexOf(one)
        if (index >= 0) line.splice(index, 1)
        return index >= 0
      }
    }
  }
  const eventText = (event: Events.ServerEvent) => () => `${Wire.encodeEvent(instanceId, ++seq, event)}\n`

  return OutboxQueue.of({
    enqueue: (event, queued) => put(eventText(event), queued),
    offer: (event) => {
      if (!hasRoom()) return false
      put(eventText(event), undefined)
      return true
    },
    respond: (text) => {
      put(() => `${text}\n`, undefined)
    },
    hasRoom,
    onRoom: (listener) => {
      if (hasRoom()) listener()
      else listeners.push(listener)
    },
    corked: (body) => {
      corks++
      body()
      corks--
      if (corks === 0) flush()
    },
    seal: (event) => {
      put(eventText(event), undefined)
      sealed = true
    },
    drained: Effect.callback<void>((resume) => {
      if (isEmpty()) resume(Effect.void)
      else drainers.push(() => resume(Effect.void))
    }),
    lost: Deferred.await(loss)
  })
})
