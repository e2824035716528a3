import { assert, describe, it } from "@effect/vitest"
import { State } from "@errand/runtime/suspend"
import * as Schema from "effect/Schema"
import { quotedMessages } from "../../src/suspend/State.ts"

const Step = Schema.Struct({
  /** Which of the states so far is gone on from. */
  from: Schema.Int,
  added: Schema.Array(Schema.String),
  /** Whether the state is written before others go on from it. */
  written: Schema.Boolean
})

describe("section 4: states that go on from each other", () => {
  it.prop("SUS-1 a history that is written in parts, in any order, is written as it is at once", {
    steps: Schema.Array(Step)
  }, ({ steps }) => {
    const states: Array<State.State> = []
    for (const { added, from, written } of steps) {
      const base = states[Math.abs(from) % Math.max(1, states.length)] ?? null
      const messages = added.map((text) => ({ role: "user" as const, text: text.toWellFormed() }))
      const state = State.make({ threadId: "t", base, added: messages, calls: [], usage: State.noUsage })
      if (written) quotedMessages(state.messages)
      states.push(state)
    }
    for (const { messages } of states) {
      assert.strictEqual(`[${quotedMessages(messages).join("")}]`, JSON.stringify([...messages]))
    }
  }, { arbitrary: { runs: 500 } })
})
