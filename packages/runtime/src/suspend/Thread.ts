/**
 * One thread while a run works on it: the messages, how far the calls of the last response are, and the state at every
 * moment (SUS-3, RSM-9).
 *
 * Rule: messages only grow at the end. What is checkpointed is checkpointed in order, each time with the state of that
 * moment, so that a later write never holds less than an earlier one.
 */
import type { JsonText } from "@errand/protocol"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import { type History, type Record, StorageFailed } from "../History.ts"
import type * as HistoryCheck from "../HistoryCheck.ts"
import type { Message, ToolResult } from "../ModelTurn.ts"
import * as OwnFault from "../OwnFault.ts"
import type { Usage } from "../UsageBounds.ts"
import * as MessageText from "./MessageText.ts"
import * as State from "./State.ts"

/** Stores a state for recovery; whatever it ends with but success ends the run with `storage_failed`. */
export type Checkpoint = (state: State.State) => Effect.Effect<void, unknown>

const noResults: ReadonlyArray<State.CallState> = []

/** The history of the root agent of one run. */
export class Thread implements History {
  readonly sessionId: string
  readonly messages: Array<Message>
  readonly checked: number
  checker: HistoryCheck.Checker | undefined
  readonly usage: Usage
  private readonly base: State.State | null
  private readonly checkpoint: Checkpoint | null
  private readonly writing = Semaphore.makeUnsafe(1)
  private calls: Array<State.CallState>
  private records = 0
  /** The texts of what was added, each written once. */
  private readonly texts: Array<string> = []

  private constructor(
    threadId: string,
    base: State.State | null,
    messages: ReadonlyArray<Message>,
    usage: Usage,
    checkpoint: Checkpoint | null,
    sealed: boolean
  ) {
    this.sessionId = threadId
    this.base = base
    this.messages = messages.slice()
    this.calls = base === null ? [] : base.calls.slice()
    this.checked = sealed ? messages.length : 0
    this.usage = usage
    this.checkpoint = checkpoint
    this.complete()
  }

  /**
   * A thread that goes on from a state, or a new one; null when a text of the state is no message (HRN-D16). A history that
   * was not sealed is checked before it is sent: a host may have cut it (faults H5).
   */
  static open(
    threadId: string,
    base: State.State | null,
    usage: Usage,
    checkpoint: Checkpoint | null,
    sealed: boolean
  ): Thread | null {
    if (base === null) return new Thread(threadId, null, [], usage, checkpoint, sealed)
    const messages = State.messages(base)
    return Result.isFailure(messages) ? null : new Thread(threadId, base, messages.success, usage, checkpoint, sealed)
  }

  /** The calls of the last response that are not all answered yet, in the order of the model. */
  get open(): ReadonlyArray<State.CallState> {
    return this.calls
  }

  /** What this run added. */
  added(): ReadonlyArray<Message> {
    return this.messages.slice(this.base?.messages.length ?? 0)
  }

  state(): State.State {
    const { inputTokens, modelRequests, outputTokens, toolCalls } = this.usage
    const added = this.added()
    while (this.texts.length < added.length) this.texts.push(MessageText.encode(added[this.texts.length]!))
    return State.make({
      threadId: this.sessionId,
      base: this.base,
      added,
      texts: this.texts,
      calls: this.calls.length === 0 ? noResults : this.calls.slice(),
      usage: {
        model_requests: modelRequests,
        tool_calls: toolCalls,
        input_tokens: inputTokens,
        output_tokens: outputTokens
      }
    })
  }

  revision(): string {
    return String(this.records)
  }

  append(records: ReadonlyArray<Record>): Effect.Effect<void, StorageFailed> {
    return Effect.suspend(() => {
      let ended = false
      for (const record of records) ended = this.take(record) || ended
      return ended ? this.save() : Effect.void
    })
  }

  /** Notes that a call of the last response starts; what it gives is to be awaited before it does (RSM-9). */
  start(callId: string, args: JsonText): Effect.Effect<void, StorageFailed> {
    const index = this.calls.findIndex((call) => call.call_id === callId)
    if (index < 0) return Effect.void
    this.calls[index] = { ...this.calls[index]!, status: "started", arguments: args }
    return this.save()
  }

  /** Notes that a call waits for the host. */
  defer(callId: string, category: "call" | "approval", args: string): void {
    const index = this.calls.findIndex((call) => call.call_id === callId)
    this.calls[index] = { ...this.calls[index]!, category, status: "pending", arguments: args }
  }

  private save(): Effect.Effect<void, StorageFailed> {
    const { checkpoint } = this
    if (checkpoint === null) return Effect.void
    return this.writing.withPermit(Effect.suspend(() => OwnFault.effectOf(checkpoint(this.state())))).pipe(
      Effect.catchCause((cause) =>
        Effect.fail(new StorageFailed({ message: `the checkpoint failed: ${String(Cause.squash(cause))}` }))
      ),
      Effect.uninterruptible
    )
  }

  /** Takes one record; tells whether a call has ended. */
  private take(record: Record): boolean {
    this.records++
    switch (record.kind) {
      case "user":
        this.messages.push({ role: "user", text: record.text })
        return false
      case "assistant": {
        const { provider, text, toolCalls } = record
        this.messages.push({ role: "assistant", text, toolCalls, ...(provider === undefined ? {} : { provider }) })
        this.calls = toolCalls.map((call) => ({
          call_id: call.id,
          tool_name: call.name,
          category: "local",
          arguments: call.arguments,
          status: "pending",
          outcome: null,
          content: null
        }))
        return false
      }
      case "result": {
        const { content, id, index, outcome } = record
        // a result stays the one that it was when only its checkpoint failed and it is told again
        if (this.calls[index]?.call_id !== id || this.calls[index].status === "completed") return false
        this.calls[index] = { ...this.calls[index]!, status: "completed", outcome, content }
        this.complete()
        return true
      }
      default:
        return false
    }
  }

  /** Results become a message when the last of them is there (SES-11). */
  private complete(): void {
    if (this.calls.length === 0 || this.calls.some((call) => call.status !== "completed")) return
    const results = this.calls.map((call): ToolResult => ({
      id: call.call_id,
      name: call.tool_name,
      outcome: call.outcome!,
      content: call.content as JsonText
    }))
    this.messages.push({ role: "tool", results })
    this.calls = []
  }
}
