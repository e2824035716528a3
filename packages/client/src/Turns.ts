/**
 * The turn that runs right now, from its request to its end (section 5).
 *
 * Rule: a connection has at most one turn, and its place is only free again when the server ended it. What waits to be
 * taken is bounded: above `deltaRoom` provisional events are dropped (TRN-4), above `room` the turn is given up.
 */
import type { EventData, Ids, ServerEvent } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ConnectionLost, RequestRefused, type TurnError, TurnEventsOverflowed } from "./ClientError.ts"
import { type Connection, leastIds } from "./Connection.ts"
import type { TurnEvent } from "./TurnEvent.ts"

const deltaRoom = 256
const room = 16_384

/** How long the end of a cancelled turn is awaited, in milliseconds; the server's own bound is 2,000 (CLS-3). */
const cancelMs = 5000

/** Which events a stream carries; all of them when it does not say. */
export type Wanted = ReadonlySet<TurnEvent["_tag"]>

/** One turn. `Asked` waits for admission, `Running` has a run, `Ended` needs nothing more. */
interface Turn {
  readonly sessionId: Ids.SessionId
  readonly queue: Queue.Queue<TurnEvent, TurnError | Cause.Done>
  readonly ended: Deferred.Deferred<void>
  readonly parts: Map<string, Array<string>>
  readonly wanted: Wanted | undefined
  state: "New" | "Asked" | "Running" | "Ended"
  runId: Ids.RunId | null
  abandoned: boolean
}

/** The turns of one connection. */
export class Turns {
  private readonly connection: Connection
  private active: Turn | undefined

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** The events of a new turn; interrupting the stream cancels the turn and waits for its end, within a bound. */
  stream(sessionId: Ids.SessionId, prompt: string, wanted?: Wanted): Stream.Stream<TurnEvent, TurnError> {
    return Stream.unwrap(Effect.gen({ self: this }, function*() {
      const turn = yield* Effect.acquireRelease(this.begin(sessionId, wanted), (turn) => this.finish(turn))
      yield* this.connection.request("turn.start", { session_id: sessionId, prompt }, {
        asked: () => {
          turn.state = "Asked"
        },
        // The run may be admitted after nobody waits for it any more; then it must be cancelled all the same.
        responded: (outcome) => Result.isSuccess(outcome) ? this.running(turn, outcome.success.run_id) : this.end(turn)
      })
      return Stream.fromQueue(turn.queue)
    }))
  }

  /** Takes an event of the server; those of other runs concern nobody. */
  event(event: ServerEvent): void {
    const turn = this.active
    if (turn === undefined || event.event === "connection.closing") return
    if (turn.runId === null && event.event === "run.started" && event.data.session_id === turn.sessionId) {
      this.running(turn, event.data.run_id)
    }
    if (event.data.run_id === turn.runId) this.observe(turn, event)
  }

  /** Adds what this client itself did to the turn it belongs to. */
  add(runId: Ids.RunId, event: TurnEvent): void {
    if (this.active !== undefined && this.active.runId === runId) this.offer(this.active, event)
  }

  /** Fails the turn that a run belongs to, and cancels it at once: nobody may be taking its events. */
  fail(runId: Ids.RunId, error: TurnError): void {
    if (this.active !== undefined && this.active.runId === runId) this.giveUp(this.active, error)
  }

  /** Ends the turn, because there is no server any more. */
  lost(why: ConnectionLost): void {
    if (this.active === undefined) return
    Queue.failCauseUnsafe(this.active.queue, Cause.fail(why))
    this.end(this.active)
  }

  private begin(sessionId: Ids.SessionId, wanted: Wanted | undefined): Effect.Effect<Turn, TurnError, Scope.Scope> {
    return Effect.gen({ self: this }, function*() {
      const queue = yield* Queue.unbounded<TurnEvent, TurnError | Cause.Done>()
      const ended = yield* Deferred.make<void>()
      if (this.active !== undefined) {
        return yield* new RequestRefused({ method: "turn.start", code: "run_active", detail: "another turn runs" })
      }
      const fresh = { parts: new Map(), state: "New", runId: null, abandoned: false } as const
      this.active = { ...fresh, sessionId, queue, ended, wanted }
      return this.active
    })
  }

  private finish(turn: Turn): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (turn.state === "New" || turn.state === "Ended") return Effect.void
      turn.abandoned = true
      this.cancel(turn)
      return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Deferred.await(turn.ended)), cancelMs))
    }).pipe(Effect.ensuring(Effect.sync(() => {
      if (this.active === turn) this.active = undefined
    })))
  }

  private running(turn: Turn, runId: Ids.RunId): void {
    if (turn.state !== "Asked") return
    turn.state = "Running"
    turn.runId = runId
    if (turn.abandoned) this.cancel(turn)
  }

  private cancel(turn: Turn): void {
    if (turn.state !== "Running" || turn.runId === null) return
    // A refusal says that the run has just ended.
    const params = { session_id: turn.sessionId, run_id: turn.runId }
    this.connection.send("turn.cancel", params, leastIds.cancel, () => {})
  }

  private end(turn: Turn): void {
    turn.state = "Ended"
    turn.parts.clear()
    Deferred.doneUnsafe(turn.ended, Exit.void)
    Queue.endUnsafe(turn.queue)
  }

  private observe(turn: Turn, { data, event }: Exclude<ServerEvent, { readonly event: "connection.closing" }>): void {
    switch (event) {
      case "run.started":
        return this.offer(turn, { _tag: "Started", runId: data.run_id })
      case "message.delta":
        if (Queue.sizeUnsafe(turn.queue) < deltaRoom) {
          this.offer(turn, { _tag: "Delta", messageId: data.message_id, text: data.text })
        }
        return
      case "message.reconcile":
        return this.part(turn, data)
      case "tool.activity":
        return this.offer(turn, {
          _tag: "ToolActivity",
          activityId: data.activity_id,
          parentId: data.parent_id,
          taskId: data.task_id,
          subagentId: data.subagent_id,
          name: data.name,
          status: data.status
        })
      case "tool.card":
        return this.offer(turn, { _tag: "ToolCard", card: data.card })
      case "approval.requested":
        return this.offer(turn, approvalOf(data))
      case "approval.resolved":
        return this.offer(turn, { _tag: "ApprovalResolved", approvalId: data.approval_id, outcome: data.outcome })
      case "client.tool.cancel":
        return this.offer(turn, { _tag: "ToolCancelled", callId: data.call_id, reason: data.reason })
      case "run.finished":
        this.offer(turn, finishedOf(data))
        return this.end(turn)
      case "client.tool.call":
    }
  }

  private part(turn: Turn, { message_id, part, parts, text }: EventData<"message.reconcile">): void {
    if (parts <= 1) return this.offer(turn, { _tag: "Message", messageId: message_id, text })
    const known = turn.parts.get(message_id) ?? []
    known.push(text)
    turn.parts.set(message_id, known)
    if (part < parts) return
    turn.parts.delete(message_id)
    this.offer(turn, { _tag: "Message", messageId: message_id, text: known.join("") })
  }

  private offer(turn: Turn, event: TurnEvent): void {
    if (turn.wanted?.has(event._tag) === false) return
    const waiting = Queue.sizeUnsafe(turn.queue)
    if (waiting < room) return void Queue.offerUnsafe(turn.queue, event)
    this.giveUp(turn, new TurnEventsOverflowed({ waiting }))
  }

  private giveUp(turn: Turn, error: TurnError): void {
    if (Queue.failCauseUnsafe(turn.queue, Cause.fail(error))) this.cancel(turn)
  }
}

/** The question that an event asks. */
export const approvalOf = (
  data: EventData<"approval.requested">
): Extract<TurnEvent, { _tag: "ApprovalRequested" }> => ({
  _tag: "ApprovalRequested",
  sessionId: data.session_id,
  runId: data.run_id,
  approvalId: data.approval_id,
  activityId: data.activity_id,
  name: data.name,
  summary: data.summary,
  expiresInMs: data.expires_in_ms
})

const finishedOf = (data: EventData<"run.finished">): TurnEvent => ({
  _tag: "Finished",
  runId: data.run_id,
  status: data.status,
  error: data.error,
  historyRevision: data.history_revision,
  usage: {
    inputTokens: data.usage.input_tokens,
    outputTokens: data.usage.output_tokens,
    modelRequests: data.usage.model_requests,
    toolCalls: data.usage.tool_calls
  }
})
