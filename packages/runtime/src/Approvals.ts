/**
 * Questions for permission, asked one at a time per run (TRN-8).
 *
 * Rule: silence is no. A question that expires, is cancelled or loses its client was never answered with yes.
 */
import { Ids, Limits } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import { emit, Outbox } from "./Outbox.ts"
import type { RunScope } from "./RunScope.ts"

/** What somebody is asked; `summary` is protected text for a person. */
export interface ApprovalQuestion {
  readonly run: RunScope
  readonly activityId: Ids.ActivityId
  readonly callId: string
  readonly name: string
  readonly summary: string
}

/** An answer, under the identity that the question went out with. */
export interface ApprovalAnswer {
  readonly session_id: string
  readonly run_id: string
  readonly approval_id: string
  readonly allow: boolean
}

/** What comes of a question that somebody is asked now. */
type Asked = "allowed" | "denied" | "expired"

/** What comes of a question. `deferred`: nobody is asked in this run; the question ends its step and a later run has the answer. */
export type Verdict = Asked | "deferred"

interface Open {
  readonly question: ApprovalQuestion
  readonly resume: (effect: Effect.Effect<Asked>) => void
}

/**
 * Asks for permission and takes the answers. An `ask` that throws, dies or interrupts itself is a no: the call is denied and
 * the run goes on.
 */
export class Approvals extends Context.Service<Approvals, {
  /** Waits for its turn, asks, and waits for the answer; interruption resolves the question as cancelled. */
  readonly ask: (question: ApprovalQuestion) => Effect.Effect<Verdict>
  /** Takes an answer; false when no such question is open (`stale_approval`). */
  readonly answer: (answer: ApprovalAnswer) => boolean
  /** Questions that are out now (LIF-9). */
  readonly pending: () => number
}>()("@errand/runtime/Approvals") {
  /** Nobody can be asked: every question is denied. For programs without a person. */
  static readonly layerDeny = Layer.succeed(Approvals, {
    ask: () => Effect.succeed("denied"),
    answer: () => false,
    pending: () => 0
  })

  /** Asks through the outbox. */
  static readonly layerNoDeps = Layer.effect(
    Approvals,
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const newId = yield* Ids.Generator
      const timeoutMs = (yield* Limits.Limits).base.approval_timeout_ms
      const open = new Map<string, Open>()
      const lines = new WeakMap<RunScope, Semaphore.Semaphore>()
      const lineOf = (run: RunScope): Semaphore.Semaphore => {
        let line = lines.get(run)
        if (line === undefined) lines.set(run, line = Semaphore.makeUnsafe(1))
        return line
      }

      const ask = (question: ApprovalQuestion): Effect.Effect<Verdict> =>
        lineOf(question.run).withPermit(Effect.suspend(() => {
          const approval_id = newId() as Ids.ApprovalId
          const identity = { session_id: question.run.sessionId, run_id: question.run.runId, approval_id }
          const resolved = (outcome: Asked | "cancelled") =>
            emit(outbox, { event: "approval.resolved", data: { ...identity, outcome } })
          const answered = Effect.callback<Asked>((resume) => {
            open.set(approval_id, { question, resume })
            outbox.enqueue({
              event: "approval.requested",
              data: {
                ...identity,
                activity_id: question.activityId,
                name: question.name,
                summary: question.summary,
                expires_in_ms: timeoutMs
              }
            })
            return Effect.sync(() => open.delete(approval_id))
          })
          return answered.pipe(
            Effect.timeoutOption(Duration.millis(timeoutMs)),
            Effect.map(Option.getOrElse((): Asked => "expired")),
            Effect.onInterrupt(() => resolved("cancelled")),
            Effect.tap(resolved)
          )
        }))

      const answer = (given: ApprovalAnswer): boolean => {
        const one = open.get(given.approval_id)
        if (
          one === undefined || one.question.run.sessionId !== given.session_id ||
          one.question.run.runId !== given.run_id
        ) return false
        open.delete(given.approval_id)
        one.resume(Effect.succeed(given.allow ? "allowed" : "denied"))
        return true
      }

      return Approvals.of({ ask, answer, pending: () => open.size })
    })
  )
}
