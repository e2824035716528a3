/**
 * Questions for permission, answered by the program (TRN-8).
 *
 * Rule: only an explicit yes allows. Without a handler, and when the handler fails, the answer is no.
 */
import type { EventData } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type { RequestError } from "./ClientError.ts"
import { type Connection, leastIds } from "./Connection.ts"
import type { RunFork } from "./ToolHandlers.ts"
import type { ApprovalRequested } from "./TurnEvent.ts"

/** Decides one question; interrupted when the question is closed otherwise. */
export type Approve<R> = (request: ApprovalRequested) => Effect.Effect<boolean, unknown, R>

/** The open questions of one connection. */
export class Approvals<R> {
  private readonly open = new Map<string, Fiber.Fiber<unknown, unknown>>()
  private readonly connection: Connection
  private readonly approve: Approve<R> | undefined
  private readonly runFork: RunFork<R>
  /** Called when an answer cannot be sent for want of ids or of a connection. */
  private readonly unsent: (request: ApprovalRequested, why: RequestError) => void

  constructor(
    connection: Connection,
    approve: Approve<R> | undefined,
    runFork: RunFork<R>,
    unsent: (request: ApprovalRequested, why: RequestError) => void
  ) {
    this.connection = connection
    this.approve = approve
    this.runFork = runFork
    this.unsent = unsent
  }

  /** Asks the program. */
  requested(request: ApprovalRequested): void {
    const { approvalId } = request
    const { approve } = this
    if (approve === undefined) return this.answer(request, false)
    const fiber = this.runFork(Effect.suspend(() => approve(request)))
    this.open.set(approvalId, fiber)
    fiber.addObserver((exit) => {
      if (this.open.delete(approvalId)) this.answer(request, Exit.isSuccess(exit) && exit.value === true)
    })
  }

  /** Stops asking, because the question is answered, expired or cancelled. */
  resolved({ approval_id }: EventData<"approval.resolved">): void {
    const fiber = this.open.get(approval_id)
    if (this.open.delete(approval_id)) fiber?.interruptUnsafe()
  }

  /** Stops asking anything. */
  stop(): void {
    const fibers = [...this.open.values()]
    this.open.clear()
    for (const fiber of fibers) fiber.interruptUnsafe()
  }

  private answer(request: ApprovalRequested, allow: boolean): void {
    const { approvalId, runId, sessionId } = request
    const params = { session_id: sessionId, run_id: runId, approval_id: approvalId, allow }
    this.connection.send("approval.answer", params, leastIds.approval, (outcome) => {
      // A refusal says that the question was closed meanwhile.
      if (Result.isFailure(outcome) && outcome.failure._tag !== "RequestRefused") this.unsent(request, outcome.failure)
    })
  }
}
