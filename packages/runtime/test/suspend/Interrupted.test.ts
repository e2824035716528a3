/** Resumes that are interrupted: what is told of them, and who may go on. */
import { assert, describe, it } from "@effect/vitest"
import { HostTool, type State } from "@errand/runtime/suspend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { ok } from "./Fixture.ts"
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

/** A local tool that waits, and a run that comes to it after its suspension. */
const rig = Effect.gen(function*() {
  const gate = yield* Deferred.make<void>()
  const ran: Array<string> = []
  const slow = ok(HostTool.make({
    name: "slow",
    description: "Takes its time.",
    parameters: Schema.Struct({}),
    execute: (_, { callId }) =>
      Effect.suspend(() => {
        ran.push(callId)
        return Effect.as(Deferred.await(gate), "ran")
      })
  }))
  const model = new FakeModel([
    { calls: [call("c1", "free_form")] },
    { calls: [call("x", "slow"), call("y", "slow")] },
    { text: "done" }
  ])
  const harness = yield* harnessOf(definition([slow]), model)
  const first = suspended(yield* harness.run({ prompt: "go" }))
  const states: Array<State.State> = []
  const checkpoint = (state: State.State) => Effect.sync(() => states.push(state))
  return { gate, ran, model, harness, states, checkpoint, suspension: first.suspension }
})

const codeOf = <A, E extends { readonly code: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => error.code)

describe("harness 5: recovery of a response with many calls", () => {
  it.effect("RUN-2 HRN-D34 128 calls wait, those that waited before included, so that it can be resumed", () =>
    Effect.gen(function*() {
      const ids = Array.from({ length: 131 }, (_, index) => `d${index}`)
      const says = [{ calls: [call("c1", "free_form")] }, { calls: ids.map((id) => call(id, "free_form")) }]
      const harness = yield* harnessOf(definition([]), new FakeModel(says))
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const states: Array<State.State> = []
      const checkpoint = (state: State.State) => Effect.sync(() => states.push(state))
      yield* harness.resume(first.suspension, answered, { checkpoint })
      assert.strictEqual(states.length, 4)
      for (const later of states.slice(1)) {
        const fresh = yield* harnessOf(definition([]), new FakeModel([{ text: "done" }]))
        const again = suspended(yield* fresh.recover(first.suspension, answered, later))
        const { calls } = again.suspension.requests
        assert.deepStrictEqual(calls.map(({ call_id }) => call_id), ids.slice(0, 128))
        const values = Object.fromEntries(ids.slice(0, 128).map((id) => [id, answered.calls.c1]))
        completed(yield* fresh.resume(again.suspension, { calls: values, approvals: {} }))
      }
    }))
})

describe("harness 5: recovery without a tool", () => {
  it.effect("RSM-1 RSM-7 an approval of a tool that is gone is asked again as it was, and can be denied", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const harness = yield* harnessOf(
        definition([tools.tool("write_file", "ask")]),
        new FakeModel([{ calls: [call("w", "write_file", { path: "b" })] }])
      )
      const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
      const decided = (allow: boolean) => ({ calls: {}, approvals: { w: { allow } } }) as const
      const fresh = yield* harnessOf(definition([]), new FakeModel([{ text: "done" }]))
      const again = suspended(yield* fresh.recover(suspension, decided(true), suspension.state))
      assert.deepStrictEqual(again.suspension.requests, suspension.requests)
      assert.strictEqual(yield* codeOf(fresh.resume(again.suspension, decided(true))), "deferred_surface_mismatch")
      completed(yield* fresh.resume(again.suspension, decided(false)))
      assert.deepStrictEqual(tools.ran, [])
    }))
})

describe("harness 5: one run, interrupted or not", () => {
  it.effect("RSM-6 RSM-7 what still runs in this process is not recovered beside itself, nor after its end", () =>
    Effect.gen(function*() {
      const { checkpoint, gate, harness, model, ran, states, suspension } = yield* rig
      const running = yield* Effect.forkChild(harness.resume(suspension, answered, { checkpoint }), {
        startImmediately: true
      })
      assert.deepStrictEqual(ran, ["x", "y"])
      assert.strictEqual(yield* codeOf(harness.recover(suspension, answered, states[1])), "suspension_consumed")
      assert.strictEqual(yield* codeOf(harness.recover(suspension, answered, null)), "suspension_consumed")
      yield* Deferred.succeed(gate, undefined)
      const result = completed(yield* Fiber.join(running))
      assert.strictEqual(yield* codeOf(harness.recover(suspension, answered, states.at(-1))), "suspension_consumed")
      assert.strictEqual(yield* harness.resume(suspension, answered), result)
      assert.deepStrictEqual(ran, ["x", "y"])
      assert.strictEqual(model.requests.length, 3)
    }))

  it.effect("RSM-6 who waits for a resume that is interrupted is told that it was consumed, and so is who comes later", () =>
    Effect.gen(function*() {
      const { harness, ran, suspension } = yield* rig
      const resume = harness.resume(suspension, answered)
      const running = yield* Effect.forkChild(resume, { startImmediately: true })
      const waiting = yield* Effect.forkChild(codeOf(resume), { startImmediately: true })
      yield* Fiber.interrupt(running)
      assert.strictEqual(yield* Fiber.join(waiting), "suspension_consumed")
      assert.strictEqual(yield* codeOf(resume), "suspension_consumed")
      assert.deepStrictEqual(ran, ["x", "y"])
    }))

  it.effect("RSM-7 HRN-D37 a resume that was interrupted is recovered in the same process, by one run", () =>
    Effect.gen(function*() {
      const { checkpoint, gate, harness, ran, states, suspension } = yield* rig
      const running = yield* Effect.forkChild(harness.resume(suspension, answered, { checkpoint }), {
        startImmediately: true
      })
      const later = states.at(-1)
      yield* Fiber.interrupt(running)
      yield* Deferred.succeed(gate, undefined)
      const recover = harness.recover(suspension, answered, later)
      const [one, two] = yield* Effect.all([recover, recover], { concurrency: "unbounded" })
      assert.strictEqual(completed(one).output, "done")
      assert.strictEqual(one, two)
      assert.strictEqual(yield* codeOf(harness.recover(suspension, answered, states[0])), "suspension_consumed")
      assert.strictEqual(yield* codeOf(harness.resume(suspension, answered)), "suspension_consumed")
      assert.deepStrictEqual(ran, ["x", "y"])
    }))
})
