/** What a positive approval covers: the call that it was given to, once, and nothing that such a call starts. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation, type LocalTools, TaskHistories, Tasks } from "@errand/runtime"
import { AgentDefinition, type State } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import { call, clientTools, completed, Counted, FakeModel, harnessOf, stored, suspended } from "./Rig.ts"

const answered = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const

/** Conversations of tasks that live as long as their run. */
const histories = {
  open: () => Effect.map(Conversation.memory("tasks"), (history) => ({ ...history, known: false, scope: undefined }))
}

const withTasks = <A, E>(run: Effect.Effect<A, E>) => Effect.provideService(run, TaskHistories, histories)

const taskTool: Effect.Effect<LocalTools.LocalTool> = Effect.map(Tasks, ({ tool }) => tool).pipe(Effect.provide(Tasks.layer))

const task = (id: string) => call(id, "task", { description: "sub", prompt: "do", profile: "general" })

describe("harness 5: what an approval covers", () => {
  it.effect("RSM-7 SUS-3 HKS-1 a recovery executes no call of a later response that somebody must be asked about", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const agent = AgentDefinition.make({ clientTools, tools: [tools.tool("read_file"), tools.tool("danger", "ask")] })
      const states: Array<State.State> = []
      const model = new FakeModel([
        { calls: [call("c1", "free_form")] },
        { calls: [call("d1", "read_file"), call("d2", "danger", { path: "b" })] }
      ])
      const harness = yield* harnessOf(agent, model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      yield* harness.resume(first.suspension, answered, {
        checkpoint: (state) => Effect.sync(() => states.push(state))
      })
      const crashed = states.find(({ calls }) => calls[0]?.call_id === "d1" && calls[0].status === "started")
      assert.deepStrictEqual(crashed?.calls.map(({ category, status }) => `${category} ${status}`), [
        "local started",
        "local pending"
      ])
      tools.ran.length = 0
      const recovering = yield* harnessOf(agent, new FakeModel([]))
      const again = suspended(yield* recovering.recover(stored(first), answered, crashed))
      assert.deepStrictEqual(again.suspension.requests.approvals.map((request) => request.call_id), ["d2"])
      assert.deepStrictEqual(tools.ran, [])

      const asked = yield* harnessOf(agent, new FakeModel([{ text: "done" }]))
      const decided = { calls: {}, approvals: { d2: { allow: true } } } as const
      completed(yield* asked.resume(stored(again), decided))
      assert.deepStrictEqual(tools.ran, ["danger b"])
    }))

  it.effect("SUS-3 RSM-2 an approval holds for the one call: not for a subagent's call of the same id", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const agent = AgentDefinition.make({ tools: [tools.tool("danger", "ask"), yield* taskTool] })
      const approved = call("w", "danger", { path: "approved" })
      const model = new FakeModel([
        { calls: [approved] },
        { calls: [task("t")] },
        { calls: [call("w", "danger", { path: "of a subagent" })] },
        { text: "the subagent ends" },
        { text: "done" }
      ])
      const harness = yield* harnessOf(agent, model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const resume = harness.resume(first.suspension, { calls: {}, approvals: { w: { allow: true } } })
      completed(yield* withTasks(resume))
      assert.strictEqual(model.requests.length, 5)
      assert.deepStrictEqual(tools.ran, ["danger approved"])
    }))
})
