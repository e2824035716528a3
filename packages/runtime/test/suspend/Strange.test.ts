/** States whose calls are not those of their last response: only who can seal, or keeps a state unsealed, makes them. */
import { assert, describe, it } from "@effect/vitest"
import type { Message } from "@errand/runtime"
import type { State } from "@errand/runtime/suspend"
import { Recovery, Suspension } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import { calls, failed, history, input, ok, requests, stateOf } from "./Fixture.ts"
import { call, completed, Counted, definition, failedRun, FakeModel, harnessOf, stored, suspended } from "./Rig.ts"

const tool = (ids: ReadonlyArray<string>): Message => ({
  role: "tool",
  results: ids.map((id) => ({ id, name: "read_file", outcome: "success", content: "{}" as never }))
})

const [first, second, third, fourth] = calls as [State.CallState, State.CallState, State.CallState, State.CallState]
const done = { ...first, call_id: "c9" }
const asked = calls.map(({ arguments: args, call_id, tool_name }) => call(call_id, tool_name, args))
const twice: Message = { role: "assistant", text: "", toolCalls: [...asked, call("c2", "write_file")] }

/** What is wrong, the state, the call that is told, and the field in which it differs. */
const strange: ReadonlyArray<readonly [string, State.State, string, string]> = [
  ["an ended call that the model did not make", stateOf({ calls: [...calls, done] }), "c9", "request"],
  ["a pending one", stateOf({ calls: [...calls, { ...third, call_id: "c9" }] }), "c9", "request"],
  ["a call twice", stateOf({ calls: [...calls, third] }), "c2", "request"],
  ["a call twice, in its place", stateOf({ calls: [first, second, third, third, fourth] }), "c3", "request"],
  ["another order", stateOf({ calls: [second, first, third, fourth] }), "c0", "request"],
  ["an ended call that is missing", stateOf({ calls: calls.slice(1) }), "c0", "request"],
  [
    "an ended call of another tool",
    stateOf({ calls: [{ ...first, tool_name: "x" }, ...calls.slice(1)] }),
    "c0",
    "tool_name"
  ],
  [
    "a call that has its result in the history as well",
    stateOf({ messages: [...history, tool(["c0"])] }),
    "c0",
    "request"
  ],
  [
    "a response with an id twice",
    stateOf({ messages: [history[0]!, twice], calls: [...calls, third] }),
    "c2",
    "request"
  ]
]

/** The same under a right digest, with another state. */
const toState = (suspension: Suspension.Suspension, state: Partial<State.State>) =>
  Suspension.seal({
    runId: suspension.run_id,
    state: { ...suspension.state, ...state },
    requests: suspension.requests,
    surface: new Map(Object.entries(suspension.surface)),
    createdAt: 0,
    expiresAt: null
  }, null)

describe("harness 5: the calls of a state", () => {
  it.each(strange)("5 HRN-D25 a resume refuses %s under a right digest", (_, state, callId, field) => {
    const suspension = Suspension.seal({
      runId: "run",
      state,
      requests,
      surface: new Map(),
      createdAt: 0,
      expiresAt: null
    }, null)
    const error = failed(Recovery.check({ ...input({ suspension }), laterState: null, retrySafe: () => false }))
    assert.deepInclude(error, { code: "deferred_request_mismatch" } as never)
    assert.deepInclude(error.details, { callId, field } as never)
  })

  it.each(strange)("RSM-8 HRN-D25 a new prompt does not go on from %s", (_, state, callId) => {
    const error = failed(Recovery.abandon(state, () => true))
    assert.deepInclude(error.details, { callId } as never)
  })

  it("RSM-7 HRN-D25 a recovery does not go on from calls of a later response that the model did not make", () => {
    const calls: ReadonlyArray<State.CallState> = ["n0", "n1"].map((call_id) => ({
      ...third,
      call_id,
      tool_name: "read_file",
      category: "local"
    }))
    const laterState = (...ids: ReadonlyArray<string>) =>
      stateOf({
        messages: [...history, tool(["c0", "c1", "c2", "c3"]), {
          role: "assistant",
          text: "",
          toolCalls: ids.map((id) => ({ id, name: "read_file", arguments: "{}" }))
        }],
        calls
      })
    const check = (laterState: State.State) => Recovery.check({ ...input(), laterState, retrySafe: () => false })
    assert.strictEqual(ok(check(laterState("n0", "n1"))).steps.length, 2)
    assert.strictEqual(failed(check(laterState("n0"))).code, "deferred_request_mismatch")
    const unreadable = { ...laterState("n0", "n1"), messages: [...stateOf().messages, "{}"] }
    assert.deepStrictEqual(failed(check(unreadable)).details, { path: "state.messages[2]", rule: "is no message" })
  })

  it.effect("RSM-2 HRN-D25 one approval runs one call, also where a state names it twice under a right digest", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const model = new FakeModel([{ calls: [call("c1", "write_file", { path: "a" })] }, { text: "done" }])
      const harness = yield* harnessOf(definition([tools.tool("write_file", "ask")]), model)
      const { run, resume } = harness
      const suspension = stored(suspended(yield* run({ prompt: "go" })))
      const results = { calls: {}, approvals: { c1: { allow: true } } } as const
      const [one] = suspension.state.calls
      const doubled = toState(suspension, { calls: [one!, one!] })
      assert.strictEqual((yield* Effect.flip(resume(doubled, results))).code, "deferred_request_mismatch")
      assert.deepStrictEqual(tools.ran, [])
      completed(yield* resume(toState(suspension, {}), results))
      assert.deepStrictEqual(tools.ran, ["write_file a"])
    }))

  it.effect("HRN-D16 a text before the last response that is no message fails the run before anything executes", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const model = new FakeModel([{ calls: [call("c1", "write_file", { path: "a" })] }, { text: "done" }])
      const harness = yield* harnessOf(definition([tools.tool("write_file", "ask")]), model)
      const suspension = stored(suspended(yield* harness.run({ prompt: "go" })))
      const [, response] = suspension.state.messages
      const broken = toState(suspension, { messages: ["{}", response!] })
      const result = failedRun(yield* harness.resume(broken, { calls: {}, approvals: { c1: { allow: true } } }))
      assert.deepInclude(result.failure, { code: "suspension_invalid", details: { path: "state.messages[0]" } })
      assert.deepStrictEqual(tools.ran, [])
      assert.strictEqual(model.requests.length, 1)
    }))
})
