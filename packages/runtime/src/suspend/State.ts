/**
 * The continuation of a run as data: its history, and how far the calls of its last response have come (SUS-3, SUS-4).
 *
 * Rule: a state holds data, never authority: no credentials, approvals, handles or executors. Its JSON form is its type.
 *
 * Versions: 1 (current, the only one).
 */
import type { JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import type { Message, ModelToolCall, Outcome } from "../ModelTurn.ts"
import * as MessageText from "./MessageText.ts"

/** What a call of the last response is: external, in need of a decision, or an ordinary one of this process. */
export type Category = "call" | "approval" | "local"

/** How far a call is: not begun, begun with its end not recorded (RSM-9), or ended. */
export type CallStatus = "pending" | "started" | "completed"

/**
 * One call of the last response, in the order of the model. `arguments` is the text as hooks left it; `outcome` and
 * `content` (a `ToolResult`'s) are null until the call is completed.
 */
export interface CallState {
  readonly call_id: string
  readonly tool_name: string
  readonly category: Category
  readonly arguments: string
  readonly status: CallStatus
  readonly outcome: Outcome | null
  readonly content: string | null
}

/** What the run has used, for resumes that go on counting (RUN-6). */
export interface UsageState {
  readonly model_requests: number
  readonly tool_calls: number
  readonly input_tokens: number
  readonly output_tokens: number
}

/** A state in its stored form; each message is the JSON text of `MessageText`. */
export interface State {
  readonly format: "errand.state"
  readonly version: 1
  readonly thread_id: string
  readonly messages: ReadonlyArray<string>
  /** Empty unless the last response has calls whose results are not all in `messages` yet. */
  readonly calls: ReadonlyArray<CallState>
  readonly usage: UsageState
}

const none: ReadonlyArray<string> = Object.freeze([])

/** Nothing used yet. */
export const noUsage: UsageState = { model_requests: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0 }

/** Quoted texts per list of messages: what lets a history be stored again without being written again. */
const quoted = new WeakMap<ReadonlyArray<string>, ReadonlyArray<string>>()

/** The members of the messages' JSON array in pieces; remembered for the list. */
export const quotedMessages = (messages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = quoted.get(messages)
  if (known !== undefined) return known
  const pieces = MessageText.quoteAll(messages)
  if (Object.isFrozen(messages)) quoted.set(messages, pieces)
  return pieces
}

/** Notes the quoted members of a list of messages where they are known from elsewhere; null forgets them. */
export const rememberQuoted = (messages: ReadonlyArray<string>, pieces: ReadonlyArray<string> | null): void => {
  if (pieces === null) quoted.delete(messages)
  else quoted.set(messages, pieces)
}

const noMessages: ReadonlyArray<Message> = []

/** Messages per list of texts, where they are known. */
const decoded = new WeakMap<ReadonlyArray<string>, ReadonlyArray<Message>>()

/** A state from what is known of a run: `base` is the state that it began with, `added` the messages since. */
export const make = (input: {
  readonly threadId: string
  readonly base: State | null
  readonly added: ReadonlyArray<Message>
  /** The texts of `added`, where they are written already. */
  readonly texts?: ReadonlyArray<string>
  readonly calls: ReadonlyArray<CallState>
  readonly usage: UsageState
}): State => {
  const before = input.base?.messages ?? none
  const texts = input.texts ?? input.added.map(MessageText.encode)
  // Frozen, because what is remembered about a list must stay true of it.
  const messages = texts.length === 0 ? before : Object.freeze([...before, ...texts])
  const known = quoted.get(before)
  if (known !== undefined && known.length > 0 && texts.length > 0) {
    quoted.set(messages, [...known, ",", ...MessageText.quoteAll(texts)])
  }
  const earlier = input.base === null ? noMessages : decoded.get(before)
  // whoever goes on from this state in this process need not read what it was made of
  if (earlier !== undefined && texts.length > 0) {
    decoded.set(messages, earlier.length === 0 ? input.added : [...earlier, ...input.added])
  }
  return {
    format: "errand.state",
    version: 1,
    thread_id: input.threadId,
    messages,
    calls: input.calls,
    usage: input.usage
  }
}

/** The messages of a state, read when they are first asked for; fails with the index of a text that is no message. */
export const messages = (state: State): Result.Result<ReadonlyArray<Message>, { readonly index: number }> => {
  const known = decoded.get(state.messages)
  if (known !== undefined) return Result.succeed(known)
  const read = MessageText.decodeAll(state.messages)
  if (Result.isSuccess(read) && Object.isFrozen(state.messages)) decoded.set(state.messages, read.success)
  return read
}

/**
 * The tool calls of the last model response, and the ids that are answered in `messages` already; null where the end of
 * the history cannot be read. Reads no more than the last two messages.
 */
export const lastResponse = (
  state: State
): { readonly calls: ReadonlyArray<ModelToolCall>; readonly answered: ReadonlySet<string> } | null => {
  const answered = new Set<string>()
  for (let index = state.messages.length - 1; index >= 0; index--) {
    const message = MessageText.decode(state.messages[index]!)
    if (message === null) return null
    if (message.role === "assistant") return { calls: message.toolCalls, answered }
    if (message.role === "tool") { for (const result of message.results) answered.add(result.id) }
    else break
  }
  return { calls: [], answered }
}

/**
 * A state whose open calls are ended as `end` says; the results of the last response then are one message of the history,
 * in call order, and no call is open.
 */
export const settle = (
  state: State,
  end: (call: CallState) => { readonly outcome: Outcome; readonly content: JsonText }
): State => {
  if (state.calls.length === 0) return state
  const results = state.calls.map((call) => {
    const ended = call.outcome !== null && call.content !== null
      ? { outcome: call.outcome, content: call.content as JsonText }
      : end(call)
    return { id: call.call_id, name: call.tool_name, ...ended }
  })
  return make({
    threadId: state.thread_id,
    base: state,
    added: [{ role: "tool", results }],
    calls: [],
    usage: state.usage
  })
}

const ended = (code: string, message: string): JsonText => JSON.stringify({ error: { code, message } }) as JsonText

/**
 * The history under a new thread id. In the fork only, pending approvals are denied and pending calls failed; a call
 * that was started ends as `unknown` (SUS-5).
 */
export const fork = (state: State, threadId: string): State => ({
  ...settle(state, (call) =>
    call.status === "started"
      ? {
        outcome: "unknown",
        content: ended("tool_unknown", "The call may have executed; its result stayed in the original thread.")
      }
      : call.category === "approval"
      ? {
        outcome: "denied",
        content: ended("tool_denied", "The thread was forked before this call was decided. It was not executed here.")
      }
      : {
        outcome: "failure",
        content: ended(
          "client_tool_unavailable",
          "The thread was forked before this call was answered. There is no answer here."
        )
      }),
  thread_id: threadId
})
