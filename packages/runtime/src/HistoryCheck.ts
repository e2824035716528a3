/**
 * SES-11 as one pure check, and the repairs that make what a model said pass it.
 *
 * Rule: a conversation without violations is acceptable to every provider; whatever a model calls, its call passes after
 * `legalName`, `legalId`, `Bounds.recorded` and `wellFormed`.
 */
import { Json } from "@errand/protocol"
import * as Result from "effect/Result"
import type { Message, ModelToolCall, ToolResult } from "./ModelTurn.ts"

/** What can be wrong with a conversation. */
export type Rule =
  | "missing_results"
  | "orphan_results"
  | "result_order"
  | "empty_results"
  | "illegal_name"
  | "illegal_id"
  | "repeated_id"
  | "arguments"
  | "content"
  | "provider"
  | "surrogate"

/** One place where a conversation breaks a rule; `index` is that of a call or result in its message, from 0. */
export interface Violation {
  readonly rule: Rule
  readonly message: number
  readonly index?: number
}

const legal = /^[a-zA-Z0-9_-]{1,64}$/

/** What a tool may be declared as; providers that allow less get an alias (DCL-10). */
const declared = /^[a-zA-Z0-9_.:-]{1,256}$/

type Calls = ReadonlyArray<ModelToolCall>

/**
 * Checks a conversation that grows: `advance` looks at each message once, until it finds a violation. From then on it looks
 * at all from there again, so that what is damaged stays so.
 *
 * With `texts` trusted, JSON is taken for what its type says and not read again: for messages that this process made.
 */
export class Checker {
  private violations: Array<Violation> = []
  private readonly ids = new Set<string>()
  /** The ids of all calls in the messages that were checked, for new calls to differ from. */
  readonly callIds: ReadonlySet<string> = this.ids
  private readonly messages: ReadonlyArray<Message>
  private readonly trusted: boolean
  private readonly legalNames: RegExp
  private from: number

  /** Begins at message `from`; those before are taken as checked. `names` accepts what tools may be declared as, too. */
  constructor(
    messages: ReadonlyArray<Message>,
    options: { readonly from?: number; readonly texts?: "trusted"; readonly names?: "declared" } = {}
  ) {
    this.messages = messages
    this.legalNames = options.names === "declared" ? declared : legal
    this.trusted = options.texts === "trusted"
    this.from = options.from ?? 0
    this.collect()
  }

  /** The violations in what came since the last time that there were none; all calls must have their results now. */
  advance(): ReadonlyArray<Violation> {
    if (this.violations.length > 0) this.collect()
    this.violations = []
    let open = callsOf(this.messages[this.from - 1])
    for (let at = this.from; at < this.messages.length; at++) {
      const message = this.messages[at]!
      if (message.role === "tool") this.results(at, message.results, open)
      else {
        if (open.length > 0) this.say("missing_results", at - 1)
        this.wellFormed(message.text, at)
      }
      if (message.role === "assistant") {
        if (message.provider !== undefined && !this.isJson(message.provider)) this.say("provider", at)
        for (const [index, call] of message.toolCalls.entries()) this.call(at, index, call)
      }
      open = callsOf(message)
    }
    if (open.length > 0) this.say("missing_results", this.messages.length - 1)
    if (this.violations.length === 0) this.from = this.messages.length
    return this.violations
  }

  /** Ids are unique over the whole conversation, so those of messages that are not checked again are collected. */
  private collect(): void {
    this.ids.clear()
    for (let at = 0; at < this.from; at++) for (const call of callsOf(this.messages[at])) this.ids.add(call.id)
  }

  private say(rule: Rule, message: number, index?: number): void {
    this.violations.push(index === undefined ? { rule, message } : { rule, message, index })
  }

  private isJson(text: string): boolean {
    return this.trusted || Result.isSuccess(Json.compact(text, { maxDepth: MOST_DEPTH }))
  }

  private isObject(text: string): boolean {
    if (this.trusted) return text.startsWith("{")
    const value = Json.compact(text, { maxDepth: MOST_DEPTH })
    return Result.isSuccess(value) && value.success.kind === "object"
  }

  private wellFormed(text: string, message: number, index?: number): void {
    if (!text.isWellFormed()) this.say("surrogate", message, index)
  }

  private call(message: number, index: number, call: ModelToolCall): void {
    if (!this.legalNames.test(call.name)) this.say("illegal_name", message, index)
    if (!legal.test(call.id)) this.say("illegal_id", message, index)
    if (this.ids.has(call.id)) this.say("repeated_id", message, index)
    this.ids.add(call.id)
    if (!this.isObject(call.arguments)) this.say("arguments", message, index)
  }

  private results(message: number, results: ReadonlyArray<ToolResult>, calls: Calls): void {
    if (results.length === 0) this.say("empty_results", message)
    if (results.length < calls.length) this.say("missing_results", message - 1)
    for (const [index, result] of results.entries()) {
      const call = calls[index]
      if (call === undefined) this.say("orphan_results", message, index)
      else if (call.id !== result.id || call.name !== result.name) this.say("result_order", message, index)
      if (!this.isJson(result.content)) this.say("content", message, index)
    }
  }
}

const callsOf = (message: Message | undefined): Calls => message?.role === "assistant" ? message.toolCalls : []

/** How deep JSON in a history may nest: the deepest value that a tool or an answer may hand over, with the content around it. */
const MOST_DEPTH = Json.deepest + 1

/**
 * Where a conversation breaks SES-11; empty when any provider accepts it.
 *
 * With `from` only the messages from that index on are checked, as the continuation of those before, which then must have
 * passed: a call of the last of them that has no results yet is expected to get them at `from`.
 */
export const check = (messages: ReadonlyArray<Message>, from = 0): ReadonlyArray<Violation> =>
  new Checker(messages, { from }).advance()

/** A name that every provider accepts: illegal characters become `_`, and it is cut at 64; an empty one becomes `_`. */
export const legalName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/gu, "_").slice(0, 64) || "_"

/** The id itself if it is legal and not taken, else the first fresh one that is; `fresh` must make legal ids. */
export const legalId = (id: string, taken: ReadonlySet<string>, fresh: () => string): string => {
  let chosen = id
  while (!legal.test(chosen) || taken.has(chosen)) chosen = fresh()
  return chosen
}

/** A text whose lone surrogates became U+FFFD (faults E1). */
export const wellFormed = (text: string): string => text.toWellFormed()
