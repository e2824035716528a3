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

/** Nothing used yet. */
export const noUsage: UsageState = { model_requests: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0 }

/** The quoted members of a list's first messages, once they are written: lists that begin alike share it. */
interface Quoted {
  readonly count: number
  pieces: ReadonlyArray<string> | null
}

/**
 * What is known of a list of messages: its quoted members, so that a history is stored again without being written again,
 * those of the list that it goes on from, and the messages, so that they are read once.
 */
interface Known {
  readonly quoted: Quoted
  readonly before: Quoted | null
  messages: ReadonlyArray<Message> | null
}

// On the list itself: in a `WeakMap`, lists that die young still had to be visited by each collection.
const known = Symbol("known")

const knownOf = (list: ReadonlyArray<string>): Known | undefined => (list as { readonly [known]?: Known })[known]

/** A list that nobody changes any more: what is known of it stays true. The array itself, frozen. */
export const frozenList = (
  texts: Array<string>,
  messages: ReadonlyArray<Message> | null = null,
  before: Quoted | null = null
): ReadonlyArray<string> => {
  const value: Known = { quoted: { count: texts.length, pieces: null }, before, messages }
  return Object.freeze(Object.defineProperty(texts, known, { value }))
}

/** Whether a list was made by `frozenList`. */
export const isFrozenList = (list: ReadonlyArray<unknown>): list is ReadonlyArray<string> => Object.hasOwn(list, known)

/** The members of the messages' JSON array in pieces; remembered for the list and for the one that it goes on from. */
export const quotedMessages = (messages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const note = knownOf(messages)
  if (note === undefined) return MessageText.quoteAll(messages)
  const { before, quoted } = note
  if (quoted.pieces !== null) return quoted.pieces
  if (before === null) return quoted.pieces = MessageText.quoteAll(messages)
  before.pieces ??= MessageText.quoteAll(messages.slice(0, before.count))
  if (before.count === quoted.count) return quoted.pieces = before.pieces
  return quoted.pieces = [...before.pieces, ",", ...MessageText.quoteAll(messages.slice(before.count))]
}

/** Notes the quoted members of a list of messages where they are known from elsewhere; null forgets them. */
export const rememberQuoted = (messages: ReadonlyArray<string>, pieces: ReadonlyArray<string> | null): void => {
  const note = knownOf(messages)
  if (note !== undefined) note.quoted.pieces = pieces
}

const none = frozenList([], [])

/** A longer list, with what is known of the shorter one: whoever goes on from it in this process need not read it. */
const extended = (
  before: ReadonlyArray<string>,
  texts: ReadonlyArray<string>,
  added: ReadonlyArray<Message>
): ReadonlyArray<string> => {
  if (before.length === 0) return frozenList(texts.slice(), knownOf(before)?.messages === null ? null : added)
  const note = knownOf(before)
  const earlier = note?.messages ?? null
  // no chain: what is not written yet is written with the list that is
  const quoted = note === undefined ? null : note.quoted.pieces === null ? note.before ?? note.quoted : note.quoted
  return frozenList(before.concat(texts), earlier === null ? null : earlier.concat(added), quoted)
}

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
  const messages = texts.length === 0 ? before : extended(before, texts, input.added)
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
  const note = knownOf(state.messages)
  if (note !== undefined && note.messages !== null) return Result.succeed(note.messages)
  const read = MessageText.decodeAll(state.messages)
  if (Result.isSuccess(read) && note !== undefined) note.messages = read.success
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
