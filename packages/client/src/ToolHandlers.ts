/**
 * The calls that are being executed right now: one fiber each.
 *
 * Rule: a call is decided by one removal from one map. Whoever removes it, its handler's end or its cancel notice, owns the
 * outcome; so each call is answered at most once, and a cancelled one not at all (CLI-1, CLI-2).
 */
import { PassingMap, ToolAnswer, type ToolCall } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Toolkit } from "./Tool.ts"

/** What is done with the answer to a call. */
export type Answered = (call: ToolCall, answer: ToolAnswer.ToolAnswer) => void

/** Starts a fiber with what the handlers need. */
export type RunFork<R> = <A, E>(effect: Effect.Effect<A, E, R>) => Fiber.Fiber<A, E>

/** The open calls of one connection. */
export class ToolHandlers<R> {
  private readonly open = new PassingMap<Fiber.Fiber<ToolAnswer.ToolAnswer> | undefined>()
  private readonly toolkit: Toolkit<R>
  private readonly runFork: RunFork<R>
  private readonly answered: Answered
  private stopped = false

  constructor(toolkit: Toolkit<R>, runFork: RunFork<R>, answered: Answered) {
    this.toolkit = toolkit
    this.runFork = runFork
    this.answered = answered
  }

  /** Starts the handler of a call; an unknown tool is answered at once (CLI-2, faults F7). */
  call(call: ToolCall): void {
    const { callId } = call
    if (this.stopped || this.open.has(callId)) return
    const handler = this.toolkit.handlers.get(call.name)
    if (handler === undefined) {
      return this.answered(call, ToolAnswer.error(`This client has no tool named ${call.name}.`))
    }
    this.open.set(callId, undefined)
    const fiber = this.runFork(Effect.suspend(() => handler.answer(call)))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return this.settle(call, exit)
    // The handler may have been cancelled while it ran for the first time.
    if (!this.open.has(callId)) return fiber.interruptUnsafe()
    this.open.set(callId, fiber)
    fiber.addObserver((exit) => this.settle(call, exit))
  }

  /** Stops the handler of a call that the server no longer waits for; an unknown call is none of ours (faults C10). */
  cancel(callId: string): void {
    const fiber = this.open.get(callId)
    if (this.open.delete(callId)) fiber?.interruptUnsafe()
  }

  /** Stops all handlers and takes no further call; gives their fibers, so that their end can be awaited. */
  stop(): ReadonlyArray<Fiber.Fiber<ToolAnswer.ToolAnswer>> {
    this.stopped = true
    const fibers = this.open.drain().filter((fiber) => fiber !== undefined)
    for (const fiber of fibers) fiber.interruptUnsafe()
    return fibers
  }

  private settle(call: ToolCall, exit: Exit.Exit<ToolAnswer.ToolAnswer>): void {
    if (!this.open.delete(call.callId)) return
    this.answered(call, Exit.isSuccess(exit) ? exit.value : ToolAnswer.unanswered(exit.cause))
  }
}
