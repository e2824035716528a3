/**
 * Records into messages: what the model must see again of one agent (SES-8, SES-11).
 *
 * Rule: messages only grow at the end. Results wait until all of their message are in, and then follow it in call order as
 * one `tool` message.
 */
import { Ids } from "@errand/protocol"
import * as Effect from "effect/Effect"
import type { History, Record } from "./History.ts"
import type { Message, ToolResult } from "./ModelTurn.ts"

/** The messages of one agent, growing as its records come. */
export class Conversation {
  readonly messages: Array<Message> = []
  /** What was saved with the task of this conversation; undefined for the root's (DEL-2). */
  scope: unknown
  private results: Array<ToolResult> = []
  private missing = 0

  /** Takes the next record; those of other agents must not come here. */
  take(record: Record): void {
    switch (record.kind) {
      case "user":
        this.messages.push({ role: "user", text: record.text })
        return
      case "assistant": {
        const { provider, text, toolCalls } = record
        const message: Message = { role: "assistant", text, toolCalls }
        this.messages.push(provider === undefined ? message : { ...message, provider })
        this.results = Array.from({ length: toolCalls.length })
        this.missing = toolCalls.length
        return
      }
      case "result": {
        const { content, id, index, name, outcome } = record
        this.results[index] = { id, name, outcome, content }
        this.missing--
        if (this.missing === 0) this.messages.push({ role: "tool", results: this.results })
        return
      }
      case "scope":
        this.scope ??= record.scope
    }
  }
}

/** A conversation that lives as long as the program keeps it: for programs without a server. */
export const memory = (sessionId?: string): Effect.Effect<History> =>
  Effect.map(Ids.Generator, (newId) => {
    const conversation = new Conversation()
    let revision = 0
    return {
      sessionId: sessionId ?? newId(),
      messages: conversation.messages,
      revision: () => String(revision),
      append: (records) =>
        Effect.sync(() => {
          for (const record of records) conversation.take(record)
          revision += records.length
        })
    }
  })
