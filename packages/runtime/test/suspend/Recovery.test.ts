import { assert, describe, it } from "@effect/vitest"
import type { Message } from "@errand/runtime"
import { ClientTool, ClientToolset, Recovery, Results, State, Suspension } from "@errand/runtime/suspend"
import * as Schema from "effect/Schema"
import { calls, contents, failed, history, input, now, ok, raw, results, stateOf, surfaceOf } from "./Fixture.ts"

const recover = (overrides: Partial<Recovery.Input> = {}) =>
  Recovery.check({ ...input(), laterState: null, retrySafe: () => false, ...overrides })

const tags = (result: ReturnType<typeof recover>) => ok(result).steps.map(({ _tag, callId }) => `${callId} ${_tag}`)

const later = (change: (call: State.CallState) => Partial<State.CallState>) =>
  stateOf({ calls: calls.map((call) => ({ ...call, ...change(call) })) })

const done = { status: "completed", outcome: "success", content: "{\"text\":\"done\"}" } as const

const nextResponse: ReadonlyArray<Message> = [
  ...history,
  { role: "tool", results: [] },
  {
    role: "assistant",
    text: "",
    toolCalls: ["n0", "n1", "n2", "n3"].map((id) => ({ id, name: "read_file", arguments: "{}" }))
  }
]

describe("harness 5: recovery", () => {
  it("RSM-9 without a checkpoint every approved call may have executed; values and denials are applied", () => {
    assert.deepStrictEqual(tags(recover()), ["c0 Completed", "c1 Answered", "c2 Unknown", "c3 Answered"])
    const denied = { ...results, approvals: { c2: { allow: false } } }
    assert.strictEqual(tags(recover({ results: denied }))[2], "c2 Denied")
  })

  it("RSM-7 what may have executed is pending again where its tool is retry-safe", () => {
    const retrySafe = (name: string) => name === "write_file"
    assert.strictEqual(tags(recover({ retrySafe }))[2], "c2 SuspendAgain")
    const laterState = later(({ call_id }) => call_id === "c2" ? { status: "started" } : {})
    assert.strictEqual(tags(recover({ laterState, retrySafe }))[2], "c2 SuspendAgain")
    assert.strictEqual(tags(recover({ laterState }))[2], "c2 Unknown")
  })

  it("RSM-7 a positive approval is never used again, also when the call certainly did not begin", () => {
    assert.deepStrictEqual(tags(recover({ laterState: later(() => ({})) })), [
      "c0 Completed",
      "c1 Answered",
      "c2 SuspendAgain",
      "c3 Answered"
    ])
  })

  it("RSM-7, faults B9 what the later state holds already is kept and not applied twice", () => {
    const laterState = later(({ call_id }) => call_id === "c1" || call_id === "c2" ? done : {})
    const plan = ok(recover({ laterState }))
    assert.deepStrictEqual(plan.steps.map(({ _tag }) => _tag), ["Completed", "Completed", "Completed", "Answered"])
    assert.deepStrictEqual(plan.steps[1], {
      _tag: "Completed",
      callId: "c1",
      toolName: "lookup_record",
      result: { id: "c1", name: "lookup_record", outcome: "success", content: "{\"text\":\"done\"}" }
    } as never)
    assert.deepStrictEqual(plan.state, laterState)
  })

  it("RSM-7 a run that came to a later response goes on there", () => {
    const open = (call_id: string, category: State.Category, status: State.CallStatus): State.CallState => ({
      call_id,
      tool_name: "read_file",
      category,
      arguments: "{}",
      status,
      outcome: null,
      content: null
    })
    const laterState = stateOf({
      messages: nextResponse,
      calls: [
        { ...open("n0", "local", "completed"), ...done },
        open("n1", "local", "started"),
        open("n2", "local", "pending"),
        open("n3", "approval", "pending")
      ]
    })
    assert.deepStrictEqual(tags(recover({ laterState })), [
      "n0 Completed",
      "n1 Unknown",
      "n2 Begin",
      "n3 SuspendAgain"
    ])
    assert.deepStrictEqual(tags(recover({ laterState: stateOf({ messages: nextResponse, calls: [] }) })), [])
  })

  it("RSM-7 HRN-D17 the results are checked like those of a resume, but expiry no longer counts", () => {
    assert.strictEqual(failed(recover({ results: { calls: {} } })).code, "deferred_results_incomplete")
    assert.strictEqual(
      failed(recover({ suspension: { ...Suspension.seal(contents(), null), run_id: "x" } })).code,
      "suspension_integrity_failed"
    )
    assert.strictEqual(tags(recover({ now: now * 2 })).length, 4)
  })

  it.each<[string, unknown, string]>([
    ["no state", {}, "suspension_invalid"],
    ["another thread", State.fork(stateOf(), "other"), "deferred_request_mismatch"],
    ["an earlier history", stateOf({ messages: history.slice(0, 1) }), "deferred_request_mismatch"],
    [
      "another history",
      stateOf({ messages: [{ role: "user", text: "" }, ...history.slice(1)] }),
      "deferred_request_mismatch"
    ],
    ["other calls", stateOf({ calls: calls.slice(1) }), "deferred_request_mismatch"]
  ])("RSM-7 a later state that does not continue the suspension is refused: %s", (_, laterState, code) => {
    assert.strictEqual(failed(recover({ laterState })).code, code)
  })

  it("RSM-7 HRN-D26 the tools of today judge only answers that are still to be applied", () => {
    const nothing = surfaceOf({ clientToolsets: [], others: [] })
    const stricter = ok(ClientTool.make({
      name: "lookup_record",
      description: "Looks a record up.",
      parameters: Schema.Struct({ record_id: Schema.String }),
      success: Schema.Struct({ title: Schema.Int })
    }))
    const other = surfaceOf({ clientToolsets: [ok(ClientToolset.make("crm", [stricter, raw]))] })
    const answered = later(({ call_id }) => call_id === "c1" ? done : {})
    const overridden = { ...results, approvals: { c2: { allow: true, arguments: { path: 1 } } } }
    for (const surface of [nothing, other]) {
      assert.deepStrictEqual(tags(recover({ surface, laterState: answered, results: overridden })), [
        "c0 Completed",
        "c1 Completed",
        "c2 SuspendAgain",
        "c3 Answered"
      ])
      const moved = stateOf({ messages: nextResponse, calls: [] })
      assert.deepStrictEqual(tags(recover({ surface, laterState: moved })), [])
    }
    assert.strictEqual(failed(recover({ surface: nothing })).code, "deferred_surface_mismatch")
    assert.strictEqual(
      failed(recover({ surface: nothing, laterState: later(() => ({})) })).code,
      "deferred_surface_mismatch"
    )
    assert.strictEqual(failed(recover({ surface: other })).code, "deferred_results_invalid")
  })

  it("RSM-8 a new prompt closes pending calls as unknown, or leaves them pending under the same id", () => {
    const steps = ok(Recovery.abandon(stateOf(), (name) => name === "free_form"))
    assert.deepStrictEqual(steps.map(({ _tag, callId }) => `${callId} ${_tag}`), [
      "c0 Completed",
      "c1 Unknown",
      "c2 Unknown",
      "c3 SuspendAgain"
    ])
    assert.deepStrictEqual(ok(Recovery.abandon(stateOf({ calls: [] }), () => true)), [])
  })

  it("RSM-8 HRN-D34 of more than 128 calls that may be repeated the first 128 wait again, so that they can be resumed", () => {
    const toolCalls = Array.from(
      { length: 130 },
      (_, index) => ({ id: `n${index}`, name: "read_file", arguments: "{}" })
    )
    const open = toolCalls.map(({ id }): State.CallState => ({
      ...calls[0]!,
      call_id: id,
      arguments: "{}",
      status: "started",
      outcome: null,
      content: null
    }))
    const state = stateOf({ messages: [history[0]!, { role: "assistant", text: "", toolCalls }], calls: open })
    const steps = ok(Recovery.abandon(state, () => true)).map(({ _tag }) => _tag)
    assert.deepStrictEqual(steps, [...Array.from({ length: 128 }, () => "SuspendAgain"), "Unknown", "Unknown"])
  })

  it("RSM-7 a failed external call stays failed", () => {
    const given = { ...results, calls: { ...results.calls, c1: Results.failure("no") } }
    assert.deepInclude(ok(recover({ results: given })).steps[1], { outcome: { _tag: "Failure", text: "no" } } as never)
  })
})
