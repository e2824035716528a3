/** Resumes that are interrupted: what is told of them, and who may go on. */
import { assert, describe, it } from "@effect/vitest"
import type { State } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import { call, completed, Counted, definition, FakeModel, harnessOf, suspended } from "./Rig.ts"

const answered = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const

describe("harness 5: input and recovery", () => {
  it.effect("RSM-7 the input of a resume is told once, however often it is recovered", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const agent = definition([tools.tool("read_file")])
      const states: Array<State.State> = []
      const checkpoint = (state: State.State) => Effect.sync(() => states.push(JSON.parse(JSON.stringify(state))))
      const harness = yield* harnessOf(
        agent,
        new FakeModel([{ calls: [call("c1", "free_form")] }, { calls: [call("r", "read_file")] }, { text: "done" }])
      )
      const first = suspended(yield* harness.run({ prompt: "go" }))
      yield* harness.resume(first.suspension, answered, { input: "and thanks", checkpoint })
      assert.strictEqual(states.length, 3)
      for (const [at, state] of [null, ...states].entries()) {
        const model = new FakeModel([{ text: "recovered" }])
        const fresh = yield* harnessOf(agent, model)
        completed(yield* fresh.recover(first.suspension, answered, state, { input: "and thanks" }))
        const said = model.requests[0]!.messages.filter((message) => message.role === "user")
        assert.deepStrictEqual(said.map(({ text }) => text), ["go", "and thanks"], `from checkpoint ${at}`)
      }
      const model = new FakeModel([{ text: "recovered" }])
      const fresh = yield* harnessOf(agent, model)
      completed(yield* fresh.recover(first.suspension, answered, states.at(-1), { input: "something else" }))
      assert.deepInclude(model.requests[0]!.messages.at(-1), { role: "user", text: "something else" })
    }))
})
