import { assert, describe, it } from "@effect/vitest"
import { HistoryCheck } from "@errand/runtime"
import { AgentDefinition, AskUser, ClientToolset, HostTool, RunResult, State } from "@errand/runtime/suspend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import { failed, ok } from "./Fixture.ts"
import {
  type Call,
  call,
  clientTools,
  completed,
  Counted,
  definition,
  failedRun,
  FakeModel,
  free,
  harnessOf,
  type Says,
  stored,
  suspended
} from "./Rig.ts"

const runOf = Effect.fnUntraced(function*(
  says: ReadonlyArray<Says>,
  options: Parameters<typeof AgentDefinition.make>[0] = {}
) {
  const tools = new Counted()
  const model = new FakeModel(says)
  const agent = AgentDefinition.make({ clientTools, tools: [tools.tool("read_file")], ...options })
  const harness = yield* harnessOf(agent, model)
  return { tools, model, harness, result: yield* harness.run({ prompt: "go" }) }
})

const toldBy = (model: FakeModel, request: number) => {
  const told = model.requests[request]?.messages.findLast((message) => message.role === "tool")
  return told?.role === "tool" ? told.results : []
}

describe("harness 3: arguments and bounds", () => {
  it.effect.each<[string, string, string]>([
    ["text that is no JSON", "{\"record_id\":", "client_tool_invalid_arguments"],
    ["an array", "[1]", "client_tool_invalid_arguments"],
    ["what does not fit the declared schema", "{\"record_id\":7}", "client_tool_invalid_arguments"],
    ["what the schema does not know", "{\"record_id\":\"7\",\"x\":1}", "client_tool_invalid_arguments"]
  ])("RUN-4, faults E10 %s goes back to the model and never to the host", ([, args, code]) =>
    Effect.gen(function*() {
      const { model, result } = yield* runOf([{ calls: [call("c1", "lookup_record", args)] }, { text: "sorry" }])
      completed(result)
      assert.include(toldBy(model, 1)[0]!.content, code)
      assert.strictEqual(toldBy(model, 1)[0]!.outcome, "failure")
      assert.deepStrictEqual(HistoryCheck.check(model.requests[1]!.messages), [])
    }))

  it.effect("RUN-4 arguments are only looked at as objects where the definition says so", () =>
    Effect.gen(function*() {
      const { result } = yield* runOf([{ calls: [call("c1", "lookup_record", { record_id: 7 })] }], {
        validateArguments: "object"
      })
      assert.strictEqual(suspended(result).suspension.requests.calls[0]!.arguments, "{\"record_id\":7}")
    }))

  it.effect("RUN-4 HRN-D32 the model is asked again three times in a row, not four", () =>
    Effect.gen(function*() {
      const wrong = { calls: [call("c1", "lookup_record", "nonsense")] }
      const enough = yield* runOf([wrong, wrong, wrong, { text: "sorry" }])
      completed(enough.result)
      const { model, result } = yield* runOf([wrong, wrong, wrong, wrong, { text: "sorry" }])
      assert.strictEqual(failedRun(result).failure.code, "retry_limit_exceeded")
      assert.strictEqual(model.requests.length, 4)
    }))

  it.effect("RUN-2, faults A9 calls with one id all get fresh ones, and answers are never bound to two", () =>
    Effect.gen(function*() {
      const numbers = ["1", "2", "3"]
      const calls: ReadonlyArray<Call> = [
        ...numbers.map((record_id) => call("call_1", "lookup_record", { record_id })),
        call("call_2", "lookup_record", { record_id: "4" })
      ]
      const { harness, model, result } = yield* runOf([{ calls }, { text: "ok" }])
      const pending = ok(harness.pending(suspended(result).suspension)).calls
      const ids = pending.map(({ callId }) => callId)
      assert.strictEqual(new Set(ids).size, 4)
      assert.notInclude(ids, "call_1")
      assert.strictEqual(ids[3], "call_2")
      const replies = pending.map((one) => one.succeed({ title: one.argumentsText } as never))
      yield* harness.resume(suspended(result).suspension, replies.reverse())
      assert.deepStrictEqual(
        toldBy(model, 1).map(({ content, id }) => [id, JSON.parse(content).structured.title]),
        ids.map((id, at) => [id, `{"record_id":"${at + 1}"}`])
      )
    }))

  it.effect("RSM-4 HRN-D30 an id that comes again in a later response gets its own result", () =>
    Effect.gen(function*() {
      const same = { calls: [call("c1", "free_form", { n: 1 })] }
      const { harness, model, result } = yield* runOf([same, same, { text: "ok" }])
      const answer = (id: string, value: number) => ({
        calls: { [id]: { status: "success", value } as const },
        approvals: {}
      })
      const again = suspended(yield* harness.resume(suspended(result).suspension, answer("c1", 1)))
      const id = again.suspension.requests.calls[0]!.call_id
      completed(yield* harness.resume(again.suspension, answer(id, 2)))
      assert.deepStrictEqual(HistoryCheck.check(model.requests[2]!.messages), [])
      assert.include(toldBy(model, 2)[0]!.content, "2")
    }))

  it.effect("RUN-2 more calls than a suspension holds are refused, the first 128 wait", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 130 }, (_, index) => call(`m${index}`, "free_form"))
      const { result } = yield* runOf([{ calls: many }])
      const { requests, state } = suspended(result).suspension
      assert.strictEqual(requests.calls.length, 128)
      assert.deepStrictEqual(state.calls.slice(127).map(({ outcome }) => outcome), [null, "failure", "failure"])
    }))

  it.effect("RUN-6 model requests are bounded, and the state is kept", () =>
    Effect.gen(function*() {
      const again = { calls: [call("", "read_file")] }
      const { model, result } = yield* runOf([again, again, again], { bounds: { modelRequests: 2 } })
      assert.deepInclude(failedRun(result).failure, {
        code: "usage_limit_exceeded",
        details: { bound: "modelRequests", limit: 2 }
      })
      assert.strictEqual(model.requests.length, 2)
      assert.strictEqual(ok(State.messages(failedRun(result).state!)).length, 5)
    }))

  it.effect("RUN-6 HRN-D33 tool calls beyond the bound are not executed, and history stays valid", () =>
    Effect.gen(function*() {
      const calls = [call("a", "read_file"), call("b", "read_file")]
      const exact = yield* runOf([{ calls }, { text: "ok" }], { bounds: { toolCalls: 2 } })
      completed(exact.result)
      const { result, tools } = yield* runOf([{ calls }], { bounds: { toolCalls: 1 } })
      assert.strictEqual(failedRun(result).failure.code, "usage_limit_exceeded")
      assert.deepStrictEqual(tools.ran, [])
      assert.deepStrictEqual(HistoryCheck.check(ok(State.messages(failedRun(result).state!))), [])
    }))

  it.effect("RUN-6 tokens are bounded; a resume counts anew unless it is told to go on", () =>
    Effect.gen(function*() {
      const usage = { inputTokens: 6, outputTokens: 4 }
      const says: ReadonlyArray<Says> = [{ calls: [call("c1", "free_form")], usage }, {
        calls: [call("c2", "read_file")],
        usage
      }, {
        text: "ok"
      }]
      const answers = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const
      const first = yield* runOf(says, { bounds: { tokens: 19 } })
      const anew = completed(yield* first.harness.resume(suspended(first.result).suspension, answers))
      assert.deepInclude(anew.usage, { inputTokens: 7, modelRequests: 2 })
      const second = yield* runOf(says, { bounds: { tokens: 19 } })
      const on = yield* second.harness.resume(suspended(second.result).suspension, answers, { resumeUsage: true })
      assert.strictEqual(failedRun(on).failure.code, "usage_limit_exceeded")
      assert.deepInclude(failedRun(on).usage, { inputTokens: 6, modelRequests: 1 })
      assert.deepInclude(failedRun(on).state!.usage, { input_tokens: 12, model_requests: 2 })
    }))

  it.effect("RUN-6 so does a run on a state, a recovery, and a prompt without answers", () =>
    Effect.gen(function*() {
      const usage = { inputTokens: 6, outputTokens: 4 }
      const answers = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const
      for (const resumeUsage of [false, true]) {
        const next = Effect.map(
          runOf([{ calls: [call("c1", "free_form")], usage }, { text: "ok" }], { bounds: { tokens: 9 } }),
          ({ harness, result }) => ({ harness, ...suspended(result) })
        )
        const recovered = yield* Effect.flatMap(next, ({ harness, suspension }) =>
          harness.recover(suspension, answers, null, { resumeUsage }))
        const abandoned = yield* Effect.flatMap(next, ({ harness, suspension }) =>
          harness.abandon(suspension, "on", { resumeUsage }))
        const forked = yield* Effect.flatMap(next, ({ harness, suspension }) =>
          harness.run({ prompt: "on", state: ok(harness.fork(suspension)), resumeUsage }))
        const tags = [recovered._tag, abandoned._tag, forked._tag]
        assert.deepStrictEqual(new Set(tags), new Set([resumeUsage ? "Failed" : "Completed"]))
      }
    }))
})

describe("harness 3: output", () => {
  const output = Schema.Struct({ answer: Schema.Int })

  it.effect("RUN-7 HRN-D32 the output is decoded; an answer that does not fit goes back, a bounded number of times", () =>
    Effect.gen(function*() {
      const { model, result } = yield* runOf([{ text: "forty-two" }, { text: "```json\n{\"answer\":42}\n```" }], {
        output
      })
      assert.deepStrictEqual(completed(result).output, { answer: 42 })
      assert.include(model.requests[0]!.instructions!, "\"answer\"")
      const told = model.requests[1]!.messages.at(-1)!
      assert.include(told.role === "user" ? told.text : "", "does not fit the output schema")
      const wrong = { text: "{\"answer\":\"no\"}" }
      const never = yield* runOf([wrong, wrong, wrong, wrong, { text: "{\"answer\":1}" }], { output })
      assert.strictEqual(failedRun(never.result).failure.code, "output_invalid")
      assert.strictEqual(never.model.requests.length, 4)
    }))

  it.effect("RUN-7 outputOrFail gives the output or the typed reason", () =>
    Effect.gen(function*() {
      const ended = yield* runOf([{ text: "hello" }])
      assert.strictEqual(yield* RunResult.outputOrFail(ended.result), "hello" as never)
      const waits = yield* runOf([{ calls: [call("c1", "free_form")] }])
      const reason = yield* Effect.flip(RunResult.outputOrFail(waits.result))
      assert.deepInclude(reason, { _tag: "NoOutput", code: "run_suspended" })
      assert.strictEqual(reason.result._tag, "Suspended")
    }))
})

describe("harness 2: bindings", () => {
  const bring = ok(ClientToolset.make("brought", [free]))

  it.effect("SUR-1 bindings replace the client tools of the run; an empty list clears them", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* runOf([{ text: "1" }, { text: "2" }, { text: "3" }])
      yield* harness.run({ prompt: "go", clientToolsets: [bring] })
      yield* harness.run({ prompt: "go", clientToolsets: [] })
      assert.deepStrictEqual(model.requests.map(({ tools }) => tools), [
        ["read_file", "lookup_record", "free_form", "patient"],
        ["read_file", "free_form"],
        ["read_file"]
      ])
      assert.isNull(model.requests[2]!.instructions)
    }))

  it.effect("SUR-1 SUR-6 what one run brings or leaves out, the next one does not have", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* runOf([])
      for (const bindings of [{ clientToolsets: [] }, {}, { deferredToolsSupported: false }, {}]) {
        yield* harness.run({ prompt: "go", ...bindings })
      }
      const all = ["read_file", "lookup_record", "free_form", "patient"]
      assert.deepStrictEqual(model.requests.map(({ tools }) => tools), [all, ["read_file"], all, ["read_file"], all])
    }))

  it.effect("SUR-2 SUR-5 what a run may not bring is refused before the first model request", () =>
    Effect.gen(function*() {
      const model = new FakeModel([])
      const closed = ok(ClientToolset.spec({ defaultToolsets: [] }))
      const forbidden = yield* harnessOf(AgentDefinition.make({ clientTools: closed }), model)
      const missing = yield* harnessOf(AgentDefinition.make({}), model)
      const code = (harness: typeof missing) =>
        Effect.map(Effect.flip(harness.run({ prompt: "go", clientToolsets: [bring] })), (error) => error.code)
      assert.strictEqual(yield* code(forbidden as never), "client_tools_override_forbidden")
      assert.strictEqual(yield* code(missing), "client_tools_owner_missing")
      const asks = yield* harnessOf(
        AgentDefinition.make({ clientTools, permissions: [{ tool: "free_form", allow: "ask" }] }),
        model
      )
      assert.strictEqual((yield* Effect.flip(asks.run({ prompt: "go" }))).code, "tool_permission_unsupported")
      assert.strictEqual(model.requests.length, 0)
    }))

  it.effect("SUR-4 HRN-D7 a denied tool is not offered, and a call to it is told so without suspending", () =>
    Effect.gen(function*() {
      const { model, result } = yield* runOf([{ calls: [call("c1", "free_form")] }, { text: "ok" }], {
        permissions: [{ tool: "free_form", allow: false }]
      })
      completed(result)
      assert.notInclude(model.requests[0]!.tools, "free_form")
      assert.deepInclude(toldBy(model, 1)[0]!, { outcome: "denied" })
    }))

  it.effect("SUR-6 without deferral its tools and instructions are left out, and a call is denied in the loop", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* runOf([{ text: "1" }, { calls: [call("c1", "free_form")] }, { text: "ok" }])
      completed(yield* harness.run({ prompt: "go", deferredToolsSupported: false }))
      assert.deepStrictEqual(model.requests[1]!.tools, ["read_file"])
      assert.isNull(model.requests[1]!.instructions)
      assert.include(toldBy(model, 2)[0]!.content, "Deferred tool interaction is unavailable for this run.")
      assert.strictEqual(toldBy(model, 2)[0]!.outcome, "denied")
    }))

  it.effect("SUR-6 a run that ends with something pending all the same fails and keeps its state", () =>
    Effect.gen(function*() {
      const { harness, result } = yield* runOf([{ calls: [call("c1", "patient")] }])
      const ended = failedRun(
        yield* harness.abandon(suspended(result).suspension, "go on", { deferredToolsSupported: false })
      )
      assert.strictEqual(ended.failure.code, "deferred_tools_unsupported")
      assert.strictEqual(ended.state?.calls[0]?.status, "pending")
    }))
})

describe("harness 6: children", () => {
  it.effect("CHD-1 a child that the host starts may suspend, and knows its parent", () =>
    Effect.gen(function*() {
      const { harness } = yield* runOf([{ text: "1" }, { calls: [call("c1", "free_form")] }])
      const child = suspended(yield* harness.run({ prompt: "go", parentRunId: "parent" }))
      assert.strictEqual(child.parentRunId, "parent")
    }))

  it.effect("CHD-2 HRN-D40 a child inside a tool call runs with deferral off, whatever its bindings say", () =>
    Effect.gen(function*() {
      const inner = new FakeModel([{ calls: [call("c1", "free_form")] }, { text: "could not ask" }])
      const child = yield* harnessOf(AgentDefinition.make({ clientTools }), inner)
      const delegate = ok(HostTool.make({
        name: "delegate",
        description: "Runs a child.",
        parameters: Schema.Struct({ note: Schema.optionalKey(Schema.String) }),
        execute: () =>
          child.run({ prompt: "go", deferredToolsSupported: true }).pipe(
            Effect.map((result) => completed(result).output),
            Effect.mapError(String)
          )
      }))
      const { model, result } = yield* runOf([{ calls: [call("d", "delegate")] }, { text: "ok" }], {
        tools: [delegate]
      })
      completed(result)
      assert.deepStrictEqual(inner.requests[0]!.tools, [])
      assert.include(toldBy(model, 1)[0]!.content, "could not ask")
    }))

  it.effect("CHD-3 a call inside another one cannot be deferred, and is told so", () =>
    Effect.gen(function*() {
      const code = {
        ...ok(HostTool.make({
          name: "run_code",
          description: "Calls a tool from code.",
          parameters: Schema.Struct({ note: Schema.optionalKey(Schema.String) }),
          execute: (_, call) =>
            Effect.map(
              call.nested({ ...call.agent, view: { surface: "code", permits: () => true } }, "free_form", "{}"),
              (outcome) => JSON.stringify(outcome)
            )
        })),
        kind: "code" as const
      }
      const { model, result } = yield* runOf([{ calls: [call("k", "run_code")] }, { text: "ok" }], { tools: [code] })
      completed(result)
      assert.include(toldBy(model, 1)[0]!.content, "cannot be answered later")
    }))
})

describe("harness 3: what is left of a run", () => {
  it.live("RUN-3 a suspended run leaves no fiber and no handle", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const agent = definition([tools.tool("read_file"), tools.tool("write_file", "ask")])
      const says = { calls: [call("", "read_file"), call("", "free_form"), call("", "write_file")] }
      const harness = yield* harnessOf(agent, new FakeModel(() => says))
      let started = 0
      let active = 0
      const counting = Effect.provideService(Metric.FiberRuntimeMetrics, {
        recordFiberStart: () => {
          started++
          active++
        },
        recordFiberEnd: () => active--
      })
      const handles = process.getActiveResourcesInfo().length
      for (let run = 0; run < 20; run++) {
        suspended(yield* counting(Effect.forkChild(harness.run({ prompt: "go" })).pipe(Effect.flatMap(Fiber.join))))
      }
      assert.isAbove(started, 20)
      assert.strictEqual(active, 0)
      assert.isAtMost(process.getActiveResourcesInfo().length, handles)
    }))

  it.effect("RUN-1, faults D6 a cancelled run closes what is open, and the next prompt works", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const slow = ok(HostTool.make({
        name: "slow",
        description: "Takes for ever.",
        parameters: Schema.Struct({ note: Schema.optionalKey(Schema.String) }),
        execute: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      }))
      const model = new FakeModel([{ calls: [call("s", "slow"), call("c1", "free_form")] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools, tools: [slow] }), model)
      const result = yield* harness.run({ prompt: "go", cancelled: Deferred.await(started) })
      assert.strictEqual(result._tag, "Cancelled")
      if (result._tag !== "Cancelled") return
      completed(yield* harness.run({ prompt: "again", state: result.state }))
      assert.deepStrictEqual(toldBy(model, 1).map(({ outcome }) => outcome), ["cancelled", "cancelled"])
      assert.include(toldBy(model, 1)[0]!.content, "may have executed")
      assert.include(toldBy(model, 1)[1]!.content, "It was not executed")
      assert.deepStrictEqual(HistoryCheck.check(model.requests[1]!.messages), [])
    }))
})

describe("ask_user", () => {
  const spec = ok(ClientToolset.spec({ defaultToolsets: [ok(ClientToolset.make("people", [AskUser.tool]))] }))
  const questions = [{ header: "Colour", question: "Which one?", options: [{ label: "red" }, { label: "blue" }] }]

  it.effect("ask_user is deferred and answered with what was asked; a person may decline", () =>
    Effect.gen(function*() {
      const model = new FakeModel([{ calls: [call("q", "ask_user", { questions })] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools: spec }), model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const [asked] = ok(harness.pending(stored(first))).calls
      assert.strictEqual(ok(asked!.arguments).questions[0]!.header, "Colour")
      const wrong = asked!.succeed({ answers: [{ header: "Colour", selected: ["green"] }] })
      assert.strictEqual(
        (yield* Effect.flip(harness.resume(first.suspension, [wrong]))).code,
        "deferred_results_invalid"
      )
      const answers = [{ header: "Colour", selected: ["blue"] }]
      assert.strictEqual(failed(AskUser.answer(asked!, [])).path, "value.answers")
      const answer = ok(AskUser.answer(asked!, answers))
      completed(yield* harness.resume(first.suspension, { calls: { q: answer }, approvals: {} }))
      assert.deepStrictEqual(JSON.parse(toldBy(model, 1)[0]!.content).structured, { answers })
    }))

  it.effect("ask_user that is declined is a failure with words", () =>
    Effect.gen(function*() {
      const model = new FakeModel([{ calls: [call("q", "ask_user", { questions })] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools: spec }), model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      completed(yield* harness.resume(first.suspension, { calls: { q: AskUser.decline() }, approvals: {} }))
      assert.deepInclude(toldBy(model, 1)[0]!, { outcome: "failure" })
      assert.include(toldBy(model, 1)[0]!.content, "declined")
    }))
})
