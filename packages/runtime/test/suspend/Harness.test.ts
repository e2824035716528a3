import { assert, describe, it } from "@effect/vitest"
import { HistoryCheck, ModelFailed } from "@errand/runtime"
import { State } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ok } from "./Fixture.ts"
import {
  call,
  completed,
  Counted,
  definition,
  failedRun,
  FakeModel,
  harnessOf,
  type Says,
  stored,
  suspended
} from "./Rig.ts"

const mixed = [
  call("c0", "read_file", { path: "a" }),
  call("c1", "lookup_record", { record_id: "7" }),
  call("c2", "write_file", { path: "b" }),
  call("c3", "free_form", "{\"n\":9007199254740993}")
]

const rig = Effect.fnUntraced(function*(...says: ReadonlyArray<Says>) {
  const tools = new Counted()
  const model = new FakeModel(says)
  const harness = yield* harnessOf(definition([tools.tool("read_file"), tools.tool("write_file", "ask")]), model)
  return { tools, model, harness }
})

describe("harness 3: what a run returns", () => {
  it.effect("RUN-1 a run without calls completes, with usage and the messages it added", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ text: "hello", usage: { inputTokens: 3, outputTokens: 4 } })
      const result = completed(yield* harness.run({ prompt: "hi", threadId: "t" }))
      assert.deepInclude(result, { output: "hello", threadId: "t", parentRunId: null })
      assert.deepStrictEqual(result.usage, { inputTokens: 3, outputTokens: 4, modelRequests: 1, toolCalls: 0 })
      assert.deepStrictEqual(result.messages, [
        { role: "user", text: "hi" },
        { role: "assistant", text: "hello", toolCalls: [] }
      ])
      assert.deepStrictEqual(ok(State.messages(result.state)), result.messages)
      assert.strictEqual(
        model.requests[0]!.instructions,
        "Be careful.\n\nTool lookup_record:\nLook records up by number."
      )
    }))

  it.effect("RUN-2 HRN-D35 ordinary calls run in the step of deferred ones, and their results are kept", () =>
    Effect.gen(function*() {
      const { harness, tools } = yield* rig({ text: "wait", calls: mixed })
      const result = suspended(yield* harness.run({ prompt: "go" }))
      assert.deepStrictEqual(tools.ran, ["read_file a"])
      const { requests, state } = result.suspension
      assert.deepStrictEqual(requests.calls.map((one) => [one.call_id, one.tool_name, one.arguments]), [
        ["c1", "lookup_record", "{\"record_id\":\"7\"}"],
        ["c3", "free_form", "{\"n\":9007199254740993}"]
      ])
      assert.deepStrictEqual(requests.approvals.map((one) => [one.call_id, one.tool_name]), [["c2", "write_file"]])
      assert.deepStrictEqual(requests.metadata, { c1: "{\"row\":1}" })
      assert.deepStrictEqual(state.calls.map(({ category, status }) => `${category} ${status}`), [
        "local completed",
        "call pending",
        "approval pending",
        "call pending"
      ])
    }))

  it.effect("RSM-2 a resume gives each call its result in call order and sends the earlier history unchanged", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig({ text: "wait", calls: mixed }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const pending = ok(harness.pending(stored(first)))
      const [one, two] = pending.calls
      assert.strictEqual(one!.toolName, "lookup_record")
      if (one!.toolName !== "lookup_record") return
      assert.deepStrictEqual(ok(one!.arguments), { record_id: "7" })
      assert.isTrue(Result.isFailure(two!.arguments))
      const result = completed(
        yield* harness.resume(stored(first), [
          two!.fail("no such thing"),
          pending.approvals[0]!.allow(),
          one!.succeed({ title: "Seven" })
        ], { input: "and?" })
      )
      assert.strictEqual(result.output, "done")
      assert.deepStrictEqual(tools.ran, ["read_file a", "write_file b"])
      const seen = model.requests[1]!.messages
      assert.deepStrictEqual(seen.slice(0, 2), ok(State.messages(first.suspension.state)))
      const told = seen[2]!
      assert.strictEqual(told.role, "tool")
      if (told.role !== "tool") return
      assert.deepStrictEqual(told.results.map(({ id, outcome }) => `${id} ${outcome}`), [
        "c0 success",
        "c1 success",
        "c2 success",
        "c3 failure"
      ])
      assert.strictEqual(told.results[1]!.content, "{\"text\":\"\",\"structured\":{\"title\":\"Seven\"}}")
      assert.deepStrictEqual(seen[3], { role: "user", text: "and?" })
      assert.deepStrictEqual(HistoryCheck.check(seen), [])
      assert.notStrictEqual(result.runId, first.runId)
      assert.strictEqual(result.threadId, first.threadId)
    }))

  it.effect("RSM-2, faults C15 a denied call says so, with the reason, and does not run", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig({ calls: [mixed[2]!] }, { text: "ok" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      yield* harness.resume(first.suspension, { calls: {}, approvals: { c2: { allow: false, message: "not today" } } })
      const told = model.requests[1]!.messages.at(-1)!
      assert.deepInclude(told.role === "tool" ? told.results[0] : {}, {
        outcome: "denied",
        content:
          "{\"error\":{\"code\":\"tool_denied\",\"message\":\"Permission for this call was denied. It was not executed. "
          + "The reason given: not today\"}}"
      })
      assert.deepStrictEqual(tools.ran, [])
    }))

  it.effect("5 RSM-2 RSM-3 decisions made from their requests say what they were told, and no more", () =>
    Effect.gen(function*() {
      const calls = ["a", "b", "c", "d"].map((id) => call(id, "write_file", { path: id }))
      const { harness, tools } = yield* rig({ calls }, { text: "ok" })
      const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
      const [a, b, c, d] = ok(harness.pending(suspension)).approvals
      const given = [a!.allow(), b!.allow({ path: "other" }), c!.deny(), d!.deny("not today")]
      assert.deepStrictEqual(given.map((one) => one._tag === "Decision" ? one.decision : null), [
        { allow: true },
        { allow: true, arguments: { path: "other" } },
        { allow: false },
        { allow: false, message: "not today" }
      ])
      completed(yield* harness.resume(suspension, given))
      assert.deepStrictEqual(tools.ran, ["write_file a", "write_file other"])
    }))

  it.effect("RSM-3 overriding arguments replace the model's, in the tool and not in the history", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig({ calls: [mixed[2]!] }, { text: "ok" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const wrong = yield* Effect.flip(
        harness.resume(first.suspension, { calls: {}, approvals: { c2: { allow: true, arguments: { path: 7 } } } })
      )
      assert.strictEqual(wrong.code, "deferred_approval_invalid")
      yield* harness.resume(first.suspension, {
        calls: {},
        approvals: { c2: { allow: true, arguments: { path: "other" } } }
      })
      assert.deepStrictEqual(tools.ran, ["write_file other"])
      const asked = model.requests[1]!.messages[1]!
      assert.strictEqual(asked.role === "assistant" ? asked.toolCalls[0]!.arguments : "", "{\"path\":\"b\"}")
    }))

  it.effect("RUN-1, faults D7 a model that fails after results were applied leaves a state that holds them", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig(
        { calls: [mixed[2]!] },
        { fails: new ModelFailed({ code: "model_failed", message: "overloaded", retryable: true, retryAfterMs: 5 }) },
        { text: "done" }
      )
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const result = failedRun(
        yield* harness.resume(first.suspension, { calls: {}, approvals: { c2: { allow: true } } })
      )
      assert.deepStrictEqual(result.failure, {
        code: "model_failed",
        message: "overloaded",
        details: {},
        retryHint: { afterMs: 5 }
      })
      const again = completed(yield* harness.run({ prompt: null, state: result.state }))
      assert.strictEqual(again.output, "done")
      assert.deepStrictEqual(tools.ran, ["write_file b"])
      assert.deepStrictEqual(model.requests[2]!.messages, model.requests[1]!.messages)
    }))
})
