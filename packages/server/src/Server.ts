/**
 * One connection from its first byte to its exit code (sections 2, 3 and 6).
 *
 * Rule: input is read only while there is room for an answer; closing happens once, in one order, within one bound:
 * requests in flight, the run with its calls and approvals, `connection.closing`, exit (CLS-2, CLS-3).
 */
import { Codec, type Events, type Frame, type JsonText, Limits, Requests, WireError } from "@errand/protocol"
import { Broker, Diagnosis } from "@errand/runtime"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { Attachment } from "./Attachment.ts"
import { type Admission, Connection } from "./Connection.ts"
import { FrameWatched } from "./FrameWatch.ts"
import * as Handlers from "./Handlers.ts"
import * as Initialization from "./Initialization.ts"
import { OutboxQueue, type OutputPipe } from "./OutboxQueue.ts"

/** The pipe that frames come from. */
export interface InputPipe {
  /**
   * Starts reading; `end` is called once when there is no more. Returns what stops it. The bytes of a chunk may change
   * after the call, unless reading was paused in it: then they stay until it is resumed.
   */
  readonly read: (chunk: (bytes: Uint8Array) => void, end: () => void) => () => void
  readonly pause: () => void
  readonly resume: () => void
}

/** Both pipes of a connection, and what ends it from within the process. */
export interface Pipes {
  readonly input: InputPipe
  readonly output: OutputPipe
  /** Waits for a signal that asks the process to end. */
  readonly terminated: Effect.Effect<void>
  /** Waits for a fault that nobody caught. */
  readonly failed?: Effect.Effect<void>
}

/** Serves one connection until it closes; gives the reason, which decides the exit code (CLS-1, CLS-4). */
export const serve = Effect.fnUntraced(function*(pipes: Pipes) {
  const codec = yield* Codec
  return yield* Effect.provide(connect(pipes, codec), OutboxQueue.layer(pipes.output, codec.instanceId))
}, (served) =>
  served.pipe(
    Effect.provide(Codec.layer, { local: true }),
    Effect.provideService(FrameWatched, { by: undefined }),
    Effect.scoped
  ))

const connect = Effect.fnUntraced(function*(pipes: Pipes, codec: Codec["Service"]) {
  const { failed = Effect.never, input, terminated } = pipes
  const limits = yield* Limits.Limits
  const outbox = yield* OutboxQueue
  const watched = yield* FrameWatched
  const connection = new Connection(limits.base)
  const initialization = yield* Initialization.make(connection, limits)
  const closing = yield* Deferred.make<Events.ClosingReason>()
  // A scope of its own: nobody waits for what cannot be interrupted (CLS-3).
  const inFlight = yield* Effect.provideService(FiberSet.make(), Scope.Scope, yield* Scope.make())
  yield* Effect.addFinalizer(() => Effect.forkDetach(FiberSet.clear(inFlight)))
  const fork = yield* FiberSet.runtime(inFlight)<never>()
  const order = yield* Semaphore.make(1)

  const close = (reason: Events.ClosingReason): void => {
    connection.state = "closing"
    Deferred.doneUnsafe(closing, Effect.succeed(reason))
  }
  const handlers = Handlers.make({
    connection,
    initialization,
    shutdown: Effect.sync(() => close("shutdown"))
  })

  const succeed = (id: string, result: Handlers.Reply["result"] | JsonText) => outbox.respond(codec.result(id, result))
  const refuse = (id: string | null, error: WireError) => outbox.respond(codec.error(id, Diagnosis.told(error)))

  /** The requests whose fibers owe an answer; one that is interrupted gives none, so the closing gives it (REQ-6). */
  const unanswered = new Set<string>()
  const handle = <M extends Handlers.HandledMethod>(id: string, method: M, params: Requests.Params<M>) => {
    const work = handlers[method](params)
    unanswered.add(id)
    fork(Effect.matchCauseEffect(Handlers.ordered.has(method) ? order.withPermit(work) : work, {
      onSuccess: (reply) => {
        unanswered.delete(id)
        succeed(id, reply.result)
        return reply.then ?? Effect.void
      },
      onFailure: (cause) => {
        unanswered.delete(id)
        const known = cause.reasons.find(Cause.isFailReason)
        refuse(id, known?.error ?? internalError)
        return known !== undefined ? Effect.void : Effect.logError(`${method} failed unexpectedly`, cause)
      }
    }))
  }

  /** A call's answer is on the path of every call, so it takes no fiber of its own. */
  const settle = (id: string, answer: Requests.Params<"client.tool.result">): void => {
    const live = initialization.live()
    const taken = live !== undefined && answer.instance_id === codec.instanceId &&
      Context.getUnsafe(live, Broker).accept(answer, () => succeed(id, accepted))
    if (!taken) refuse(id, staleCall)
  }

  const dispatch = (admission: Admission): void => {
    if (admission._tag === "Rejected") return refuse(admission.id, admission.error)
    const { id, method } = admission
    // `initialize` settles its params itself: capabilities come before `client_tools` (LIF-4).
    if (method === "initialize") return handle(id, method, admission.params as Requests.Params<"initialize">)
    const params = Requests.decodeParams(method, admission.params, limits)
    if (Result.isFailure(params)) return refuse(id, params.failure)
    if (method === "client.tool.result") return settle(id, params.success as Requests.Params<"client.tool.result">)
    handle(id, method, params.success)
  }

  const decoder = codec.frames()
  let ended = false
  /** A frame that waits for room for its answer; what needs no answer is read on (OUT-3). */
  let held: Exclude<Frame.FrameItem, { readonly _tag: "Overflow" }> | undefined
  const read = (): void => {
    while (true) {
      const item = held ?? decoder.next()
      held = undefined
      if (item === undefined) return ended ? close("input_closed") : undefined
      if (item._tag === "Overflow") return close("input_overflow")
      if (!outbox.hasRoom()) {
        held = item
        return
      }
      watched.by?.received()
      dispatch(connection.admit(codec.decode(item)))
    }
  }
  const pump = (): void => {
    outbox.corked(read)
    if (held === undefined) return
    input.pause()
    outbox.onRoom(() => {
      input.resume()
      pump()
    })
  }
  const stop = input.read((chunk) => {
    decoder.push(chunk)
    if (held === undefined) pump()
  }, () => {
    ended = true
    if (held === undefined) pump()
  })

  const reason = yield* Effect.raceAllFirst([
    Deferred.await(closing),
    outbox.lost,
    Effect.as(terminated, "terminated" as const),
    Effect.as(failed, "internal_error" as const)
  ])
  connection.state = "closing"
  // What was read together with the cause of the closing is answered before it (LIF-1, REQ-6).
  yield* Effect.yieldNow
  const silent = reason === "output_stalled" || reason === "output_closed"

  const bound = limits.base.cleanup_ms
  const settleEverything = Effect.gen(function*() {
    // Requests that were read before get their answer, if it comes soon; who pipes a few lines in and closes counts on it.
    yield* within(FiberSet.awaitEmpty(inFlight), bound * 0.25)
    yield* FiberSet.clear(inFlight)
    const live = initialization.live()
    if (live !== undefined) yield* Context.get(live, Attachment).close
    yield* initialization.close
  })
  const say = Effect.gen(function*() {
    stop()
    if (silent) return
    for (const id of unanswered) refuse(id, shuttingDown)
    outbox.seal({ event: "connection.closing", data: { reason } })
    yield* Effect.raceFirst(outbox.drained, outbox.lost)
  })
  yield* within(settleEverything, bound * 0.8)
  yield* within(say, bound * 0.2)
  return reason
})

const accepted = `{"accepted":true}` as JsonText
const staleCall = new WireError(
  "stale_client_tool_call",
  "no call of this identity is pending: it is unknown, ended, expired or another's"
)
const shuttingDown = new WireError("shutting_down", "the server is closing")
const internalError = new WireError("internal_error", "the server failed; its log tells more")

/** Waits for an effect, but no longer than a bound; what is not done by then is abandoned (CLS-3). */
const within = (effect: Effect.Effect<void>, ms: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(effect, { startImmediately: true })
    yield* Effect.timeoutOption(Fiber.await(fiber), Duration.millis(ms))
  })

/** The exit code of each reason; a signal has its own (CLS-4). */
export const exitCode = (reason: Events.ClosingReason, signal: "SIGTERM" | "SIGINT" | undefined): number => {
  switch (reason) {
    case "shutdown":
    case "input_closed":
      return 0
    case "input_overflow":
      return 65
    case "internal_error":
      return 70
    case "output_stalled":
    case "output_closed":
      return 74
    case "terminated":
      return signal === "SIGINT" ? 130 : 143
  }
}
