/** What a positive approval covers: the call that it was given to, once, and nothing that such a call starts. */
import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import { Conversation, type LocalTools, TaskHistories, Tasks, ToolHooks, type ToolHooksService } from "@errand/runtime"
import { AgentDefinition, HostTool, type Results, type RunResult, type State } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ok } from "./Fixture.ts"
import { call, clientTools, completed, Counted, FakeModel, harnessOf, stored, suspended } from "./Rig.ts"

const answered = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const

/** Conversations of tasks that live as long as their run. */
const histories = {
  open: () => Effect.map(Conversation.memory("tasks"), (history) => ({ ...history, known: false, scope: undefined }))
}

const withTasks = <A, E>(run: Effect.Effect<A, E>) => Effect.provideService(run, TaskHistories, histories)

const taskTool: Effect.Effect<LocalTools.LocalTool> = Effect.map(Tasks, ({ tool }) => tool).pipe(
  Effect.provide(Tasks.layer)
)

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

describe("harness 6: what an approved call starts", () => {
  it.effect("CHD-2 HRN-D40 a child inside of an approved call runs with deferral off, as in any other", () =>
    Effect.gen(function*() {
      const inner = new FakeModel([{ calls: [call("c1", "free_form")] }, { text: "could not ask" }])
      const child = yield* harnessOf(AgentDefinition.make({ clientTools }), inner)
      const delegate = ok(HostTool.make({
        name: "delegate",
        description: "Runs a child.",
        permission: "ask",
        parameters: Schema.Struct({}),
        execute: () =>
          child.run({ prompt: "go", deferredToolsSupported: true }).pipe(
            Effect.map((result) => completed(result).output),
            Effect.mapError(String)
          )
      }))
      const model = new FakeModel([{ calls: [call("d", "delegate")] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools, tools: [delegate] }), model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      completed(yield* harness.resume(first.suspension, { calls: {}, approvals: { d: { allow: true } } }))
      assert.deepStrictEqual(inner.requests.map(({ tools }) => tools), [[], []])
      assert.include(JSON.stringify(model.requests[1]!.messages), "could not ask")
    }))

  it.effect("BLT-2 RSM-2 an approved task finds the loop that it delegates to", () =>
    Effect.gen(function*() {
      const tool = yield* taskTool
      const agent = AgentDefinition.make({ tools: [tool], permissions: [{ tool: "task", allow: "ask" }] })
      const model = new FakeModel([{ calls: [task("t")] }, { text: "the subagent ends" }, { text: "done" }])
      const harness = yield* harnessOf(agent, model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const resume = harness.resume(first.suspension, { calls: {}, approvals: { t: { allow: true } } })
      assert.strictEqual(completed(yield* withTasks(resume)).output, "done")
      assert.include(JSON.stringify(model.requests[2]!.messages), "the subagent ends")
    }))
})

describe("harness 5: hooks and what was approved", () => {
  /** One approved call of `write` with the path `a` under hooks that change paths; what is asked and what runs. */
  const lived = Effect.fnUntraced(function*(
    before: (path: string) => string | null,
    after = before,
    decision: Results.Decision = { allow: true }
  ) {
    const seen: Array<string> = []
    const tools = new Counted()
    let change = before
    const hooks: ToolHooksService = {
      before: ({ arguments: args }) =>
        Effect.sync(() => {
          const { path } = JSON.parse(args) as { readonly path: string }
          seen.push(path)
          const changed = change(path)
          if (changed === null) return { allow: false, reason: "policy" }
          return { allow: true, arguments: JSON.stringify({ path: changed }) as JsonText }
        }),
      after: () => Effect.succeed(undefined)
    }
    const model = new FakeModel([{ calls: [call("w", "write", { path: "a" })] }, { text: "done" }])
    const agent = AgentDefinition.make({ tools: [tools.tool("write", "ask")] })
    const harness = yield* Effect.provideService(harnessOf(agent, model), ToolHooks, hooks)
    const first = suspended(yield* harness.run({ prompt: "go" }))
    const asked = (result: RunResult.Suspended) => result.suspension.requests.approvals.map((one) => one.arguments)
    const shown = asked(first)
    change = after
    seen.length = 0
    const second = yield* harness.resume(first.suspension, { calls: {}, approvals: { w: decision } })
    return { shown, again: second._tag === "Suspended" ? asked(second) : [], ran: tools.ran, seen, model }
  })

  const prefixed = (path: string) => `/root/${path}`

  it.effect("PRM-1 RSM-2 HRN-D36 the arguments that were approved run, though a hook would change them once more", () =>
    Effect.gen(function*() {
      const { again, ran, seen, shown } = yield* lived(prefixed)
      assert.deepStrictEqual(shown, ["{\"path\":\"/root/a\"}"])
      assert.deepStrictEqual(again, [])
      assert.deepStrictEqual(ran, ["write /root/a"])
      assert.deepStrictEqual(seen, ["/root/a", "a"])
    }))

  it.effect("PRM-1 RSM-2 a hook that leaves the approved arguments as they are is asked once", () =>
    Effect.gen(function*() {
      const { ran, seen } = yield* lived((path: string) => path.startsWith("/") ? path : prefixed(path))
      assert.deepStrictEqual(ran, ["write /root/a"])
      assert.deepStrictEqual(seen, ["/root/a"])
    }))

  it.effect("PRM-1 RSM-2 HRN-D36 what hooks of today make of the call is asked again before it runs, and their no is a no", () =>
    Effect.gen(function*() {
      const moved = yield* lived(prefixed, (path: string) => `/sandbox/${path.replace("/root/", "")}`)
      assert.deepStrictEqual(moved.again, ["{\"path\":\"/sandbox/a\"}"])
      assert.deepStrictEqual(moved.ran, [])
      const denied = yield* lived(prefixed, () => null)
      assert.deepStrictEqual(denied.ran, [])
      assert.include(JSON.stringify(denied.model.requests[1]!.messages), "A hook refused the call")
    }))

  it.effect("RSM-2 RSM-3 arguments that the host gives are in the place of the model's, so hooks see and change them", () =>
    Effect.gen(function*() {
      const { ran, seen } = yield* lived(prefixed, prefixed, { allow: true, arguments: { path: "b" } })
      assert.deepStrictEqual(seen, ["b"])
      assert.deepStrictEqual(ran, ["write /root/b"])
    }))

  it.effect("RSM-2 HRN-D28 hooks around a run are its own and no later one's; without any those of the harness hold", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const named = (name: string, allow: boolean): ToolHooksService => ({
        before: () =>
          Effect.sync(() => {
            seen.push(name)
            return allow ? { allow } : { allow, reason: name }
          }),
        after: () => Effect.succeed(undefined)
      })
      const tools = new Counted()
      const agent = AgentDefinition.make({ tools: [tools.tool("write", "ask")] })
      const model = new FakeModel((_, at) => at % 2 === 0 ? { calls: [call("w", "write")] } : { text: "done" })
      const harness = yield* Effect.provideService(harnessOf(agent, model), ToolHooks, named("harness", true))
      const approved = { calls: {}, approvals: { w: { allow: true } } } as const
      const first = suspended(
        yield* Effect.provideService(harness.run({ prompt: "go" }), ToolHooks, named("run", true))
      )
      const resume = harness.resume(first.suspension, approved)
      completed(yield* Effect.provideService(resume, ToolHooks, named("resume", false)))
      assert.deepStrictEqual(seen.splice(0), ["run", "resume"])
      assert.deepStrictEqual(tools.ran, [])
      const second = suspended(yield* harness.run({ prompt: "go" }))
      completed(yield* harness.resume(second.suspension, approved))
      assert.deepStrictEqual(seen, ["harness", "harness"])
      assert.deepStrictEqual(tools.ran, ["write"])
    }))
})
