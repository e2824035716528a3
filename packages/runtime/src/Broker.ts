/**
 * Client tool calls over a wire: published, waited for, and ended exactly once (sections 9, 10 and 12).
 *
 * Rule: a pending call is decided by one removal from one map. Whoever removes it (result, deadline, interruption) owns
 * the outcome; everybody else finds it gone (CAL-7). Nothing yields between the bound check and the insertion, nor
 * between the removal and the notice that belongs to it.
 */
import { Ids, type JsonText, Limits, PassingMap } from "@errand/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as CallStart from "./CallStart.ts"
import { answered, busy, expired } from "./ClientOutcome.ts"
import { Outbox, type Waiting } from "./Outbox.ts"
import type { CancelReason } from "./RunScope.ts"
import { ToolExecutor, type ToolInvocation, type ToolOutcome } from "./ToolExecutor.ts"

/** The complete identity of a call; a result must repeat all of it (RES-5). */
export interface CallIdentity {
  readonly session_id: Ids.SessionId
  readonly run_id: Ids.RunId
  readonly call_id: Ids.CallId
  readonly task_id: Ids.TaskId | null
  readonly subagent_id: Ids.SubagentId | null
}

/** A client's answer, already checked for shape and size (RES-1, RES-2, RES-6). */
export interface CallAnswer extends CallIdentity {
  readonly status: "success" | "error"
  readonly text: string
  readonly structured?: JsonText
}

interface Pending {
  readonly call: ToolInvocation
  readonly identity: CallIdentity
  /** Monotonic, in milliseconds (CAL-6). */
  readonly deadline: number
  readonly resume: (effect: Effect.Effect<ToolOutcome>) => void
  /** Set while the call event has not entered the output queue: such a call was never published (CAN-1). */
  waiting: Waiting | undefined
}

const unsent: ToolOutcome = {
  _tag: "Refused",
  code: "client_tool_timeout",
  message: "The call was not sent: the client took no output before the call's deadline. It did not execute."
}

/** Publishes client tool calls and takes their results. */
export class Broker extends Context.Service<Broker, {
  /**
   * Publishes one call and waits for its end. The deadline is absolute and starts now (CAL-6); interruption cancels the
   * call with the reason its run gives (CAN-2). Never fails: `busy` and `timeout` are outcomes (CAL-8).
   */
  readonly call: (invocation: ToolInvocation) => Effect.Effect<ToolOutcome>
  /**
   * Takes the first valid result of a call; false when the call is unknown, ended, expired or another's (RES-3, RES-5).
   * `acknowledge` runs when the result is taken and before the waiting fiber goes on, which it does at once: nothing can
   * come between an accepted result and its record.
   */
  readonly accept: (answer: CallAnswer, acknowledge: () => void) => boolean
  /** Calls that wait for a result now (LIF-9). */
  readonly pending: () => number
}>()("@errand/runtime/Broker") {
  /** A broker that publishes through the outbox that is provided. */
  static readonly layerNoDeps = Layer.effect(
    Broker,
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const clock = yield* Clock.Clock
      const newId = yield* Ids.Generator
      const limit = (yield* Limits.Limits).clientTools.pending_calls
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const pending = new PassingMap<Pending>()
      const slots = yield* Queue.bounded<string>(limit)
      const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

      const remove = (one: Pending): boolean => {
        if (!pending.delete(one.identity.call_id)) return false
        Queue.takeUnsafe(slots)
        return true
      }
      /** Tells the client, unless the call never reached the queue; false when it did not. */
      const notify = (one: Pending, reason: CancelReason): boolean => {
        if (one.waiting?.withdraw() === true) return false
        outbox.enqueue({ event: "client.tool.cancel", data: { ...one.identity, reason } })
        return true
      }
      const expire = (one: Pending): void => {
        if (!remove(one)) return
        const published = notify(one, "timeout")
        one.resume(Effect.succeed(published ? expired(one.call.timeoutMs) : unsent))
      }

      // One sleeping fiber serves all deadlines: it is armed for the earliest and looks again when it wakes.
      let sleeper: Fiber.Fiber<void> | undefined
      let armed = Infinity
      const arm = (deadline: number): void => {
        if (deadline >= armed) return
        sleeper?.interruptUnsafe()
        armed = deadline
        const wait = Duration.millis(Math.max(0, Math.ceil(deadline - now())))
        sleeper = runFork(Effect.andThen(clock.sleep(wait), Effect.sync(sweep)))
      }
      const sweep = (): void => {
        sleeper = undefined
        armed = Infinity
        const at = now()
        let next = Infinity
        for (const one of pending.values()) {
          if (one.deadline <= at) expire(one)
          else if (one.deadline < next) next = one.deadline
        }
        if (next < Infinity) arm(next)
      }
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => sleeper === undefined ? Effect.void : Fiber.interrupt(sleeper))
      )

      const publish = (invocation: ToolInvocation): Effect.Effect<ToolOutcome> =>
        Effect.callback<ToolOutcome>((resume) => {
          const deadline = now() + invocation.timeoutMs
          const call_id = newId() as Ids.CallId
          if (!Queue.offerUnsafe(slots, call_id)) return resume(Effect.succeed(busy(limit)))
          const { run, subagentId, taskId } = invocation.agent
          const identity: CallIdentity = {
            session_id: run.sessionId,
            run_id: run.runId,
            call_id,
            task_id: taskId,
            subagent_id: subagentId
          }
          const one: Pending = { call: invocation, identity, deadline, resume, waiting: undefined }
          pending.set(call_id, one)
          arm(deadline)
          one.waiting = outbox.enqueue({
            event: "client.tool.call",
            data: {
              session_id: run.sessionId,
              run_id: run.runId,
              call_id,
              task_id: taskId,
              subagent_id: subagentId,
              name: invocation.name,
              arguments: invocation.arguments,
              timeout_ms: invocation.timeoutMs
            }
          }, () => {
            one.waiting = undefined
          })
          return Effect.sync(() => {
            if (remove(one)) notify(one, run.ending)
          })
        })

      const call = (invocation: ToolInvocation) => CallStart.marked(invocation, publish)

      const accept = (answer: CallAnswer, acknowledge: () => void): boolean => {
        const one = pending.get(answer.call_id)
        if (
          one === undefined || answer.session_id !== one.identity.session_id || answer.run_id !== one.identity.run_id ||
          answer.task_id !== one.identity.task_id || answer.subagent_id !== one.identity.subagent_id
        ) return false
        if (one.deadline <= now()) {
          expire(one)
          return false
        }
        remove(one)
        acknowledge()
        one.resume(Effect.succeed(answered(answer)))
        return true
      }

      return Broker.of({ call, accept, pending: () => pending.size })
    })
  )

  /** The live executor: every call it is given goes over the wire (PRK-1). */
  static readonly layerExecutor = Layer.effect(
    ToolExecutor,
    Effect.map(Broker, (broker) => ToolExecutor.of({ execute: broker.call }))
  )
}
