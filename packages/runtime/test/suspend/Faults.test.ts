/** Faults of comparable systems that ours must not have, each by its row; those not here are named in the tests beside it. */
import { assert, describe, it } from "@effect/vitest"
import { HistoryCheck, type Message } from "@errand/runtime"
import {
  AgentDefinition,
  ClientTool,
  ClientToolset,
  HostTool,
  type Results,
  State,
  Suspension
} from "@errand/runtime/suspend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { failed, keysOf, ok } from "./Fixture.ts"
import {
  call,
  clientTools,
  completed,
  Counted,
  definition,
  failedRun,
  FakeModel,
  free,
  harnessOf,
  lookup,
  type Says,
  stored,
  suspended
} from "./Rig.ts"

const rig = Effect.fnUntraced(function*(...says: ReadonlyArray<Says>) {
  const tools = new Counted()
  const model = new FakeModel(says)
  const agent = definition([tools.tool("read_file"), tools.tool("write_file", "ask")])
  const harness = yield* harnessOf(agent, model)
  return { agent, tools, model, harness }
})

const told = (messages: ReadonlyArray<Message>) => {
  const last = messages.findLast((message) => message.role === "tool")
  return last?.role === "tool" ? last.results : []
}

const three = [
  call("a", "free_form", { n: 1 }),
  call("b", "lookup_record", { record_id: "2" }),
  call("c", "free_form", { n: 3 })
]
const success = (value: unknown): Results.Answer => ({ status: "success", value })
const answers = (calls: Record<string, Results.Answer>): Results.Results => ({ calls, approvals: {} })

describe("faults of order, coverage and correlation", () => {
  it.effect("faults A1 three calls to two tools, answered as 3, 1, 2: each gets its own value, history in call order", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: three }, { text: "ok" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      yield* harness.resume(
        stored(first),
        answers({ c: success("three"), a: success("one"), b: success({ title: "two" }) })
      )
      assert.deepStrictEqual(
        told(model.requests[1]!.messages).map(({ content, id }) => [id, JSON.parse(content).structured]),
        [
          ["a", "one"],
          ["b", { title: "two" }],
          ["c", "three"]
        ]
      )
    }))

  it.effect("faults A3 three fibers that answer at once: three answers are kept", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: three }, { text: "ok" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const pending = ok(harness.pending(first.suspension)).calls
      const given = yield* Effect.forEach(
        pending,
        (one) => Effect.andThen(Effect.yieldNow, Effect.sync(() => one.fail(`no ${one.callId}`))),
        { concurrency: "unbounded" }
      )
      yield* harness.resume(first.suspension, given)
      assert.strictEqual(told(model.requests[1]!.messages).length, 3)
    }))

  it.effect("faults A5 four client calls in one step are four pending items, without placeholder results", () =>
    Effect.gen(function*() {
      const { harness } = yield* rig({ calls: ["a", "b", "c", "d"].map((id) => call(id, "free_form")) })
      const { requests, state } = suspended(yield* harness.run({ prompt: "go" })).suspension
      assert.deepStrictEqual(requests.calls.map(({ call_id }) => call_id), ["a", "b", "c", "d"])
      assert.isTrue(state.calls.every(({ content, outcome }) => content === null && outcome === null))
      assert.deepStrictEqual(ok(State.messages(state)).map(({ role }) => role), ["user", "assistant"])
    }))

  it.effect("faults A6 B3 one of two answers, or an answer to another id: refused with the ids, and nothing runs", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig({ calls: [three[0]!, call("w", "write_file")] })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const half = yield* Effect.flip(
        harness.resume(first.suspension, { calls: {}, approvals: { w: { allow: true } } })
      )
      assert.deepInclude(half, { code: "deferred_results_incomplete" })
      assert.deepInclude(half.message, "missing: \"a\"")
      const other = yield* Effect.flip(
        harness.resume(first.suspension, { calls: { z: success(1), a: success(1) }, approvals: { w: { allow: true } } })
      )
      assert.deepInclude(other.message, "unexpected: \"z\"")
      assert.deepStrictEqual(tools.ran, [])
      assert.strictEqual(model.requests.length, 1)
    }))

  it.effect("faults A7 a local call with wrong arguments, a client call and an approval: the last two are pending", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig(
        { calls: [call("l", "read_file", { path: 7 }), three[0]!, call("w", "write_file")] },
        { text: "ok" }
      )
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const { approvals, calls } = first.suspension.requests
      assert.deepStrictEqual([...calls, ...approvals].map(({ call_id }) => call_id), ["a", "w"])
      completed(
        yield* harness.resume(first.suspension, { calls: { a: success(1) }, approvals: { w: { allow: true } } })
      )
      assert.deepStrictEqual(told(model.requests[1]!.messages).map(({ outcome }) => outcome), [
        "failure",
        "success",
        "success"
      ])
    }))

  it.effect("faults A11 answers that come while the suspension is being stored count", () =>
    Effect.gen(function*() {
      const { harness } = yield* rig({ calls: [three[0]!] }, { text: "ok" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const saved = yield* Deferred.make<void>()
      const saving = yield* Effect.forkChild(Deferred.await(saved), { startImmediately: true })
      completed(yield* harness.resume(first.suspension, answers({ a: success(1) })))
      yield* Deferred.succeed(saved, undefined)
      yield* Fiber.join(saving)
    }))

  it.effect("faults B1 an answer and a time-out at the same instant: one wins, the other is told so, one result", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [three[0]!] }, { text: "ok" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const late = answers({ a: { status: "error", message: "timed out" } })
      const [one, two] = yield* Effect.all([
        Effect.result(harness.resume(first.suspension, answers({ a: success(1) }))),
        Effect.result(harness.resume(first.suspension, late))
      ], { concurrency: "unbounded" })
      assert.isTrue(Result.isSuccess(one))
      assert.strictEqual(failed(two).code, "suspension_consumed")
      assert.deepStrictEqual(told(model.requests[1]!.messages).map(({ outcome }) => outcome), ["success"])
    }))
})

describe("faults of suspending, restarting and changed worlds", () => {
  it.effect("faults D1 a local call in flight is waited for and recorded, and does not run again", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      let ran = 0
      const slow = ok(HostTool.make({
        name: "slow",
        description: "Takes its time.",
        parameters: Schema.Struct({}),
        execute: () => Effect.andThen(Deferred.await(go), Effect.sync(() => `run ${++ran}`))
      }))
      const model = new FakeModel([{ calls: [call("s", "slow"), three[0]!] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools, tools: [slow] }), model)
      const running = yield* Effect.forkChild(harness.run({ prompt: "go" }), { startImmediately: true })
      yield* Deferred.succeed(go, undefined)
      const first = suspended(yield* Fiber.join(running))
      completed(yield* harness.resume(first.suspension, answers({ a: success(1) })))
      assert.strictEqual(ran, 1)
      assert.include(told(model.requests[1]!.messages)[0]!.content, "run 1")
    }))

  it.effect("faults D2 the model of a new process sees the same tools and instructions", () =>
    Effect.gen(function*() {
      const { agent, harness, model } = yield* rig({ calls: [three[0]!] })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const later = new FakeModel([{ text: "ok" }])
      yield* (yield* harnessOf(agent, later)).resume(stored(first), answers({ a: success(1) }))
      assert.deepStrictEqual(later.requests[0]!.tools, model.requests[0]!.tools)
      assert.strictEqual(later.requests[0]!.instructions, model.requests[0]!.instructions)
    }))

  it.effect("faults D5 a history of 5 MB is resumed at once, without a clock", () =>
    Effect.gen(function*() {
      const { harness } = yield* rig({ calls: [three[0]!] }, { text: "ok" })
      const messages = Array.from({ length: 500 }, (_, index): Message =>
        index % 2 === 0
          ? { role: "user", text: "x\"\n".repeat(3500) }
          : { role: "assistant", text: "ok", toolCalls: [] }).concat(
          Array.from({ length: 500 }, (): Message => ({ role: "user", text: "y".repeat(10_000) }))
        )
      const state = State.make({ threadId: "t", base: null, added: messages, calls: [], usage: State.noUsage })
      const first = suspended(yield* harness.run({ prompt: "go", state }))
      const text = Suspension.stringify(first.suspension)
      assert.isAbove(text.length, 5_000_000)
      completed(yield* harness.resume(text, answers({ a: success(1) })))
    }))

  it.effect("faults D14 a flipped byte, other arguments, another run's digest, an expired one: nothing runs", () =>
    Effect.gen(function*() {
      const tools = new Counted()
      const model = new FakeModel(() => ({ calls: [call("w", "write_file", { path: "b" })] }))
      const agent = definition([tools.tool("write_file", "ask")])
      const harness = yield* harnessOf(agent, model, { keys: keysOf("k") })
      const one = suspended(yield* harness.run({ prompt: "go", expiresInMs: 1000 }))
      const two = suspended(yield* harness.run({ prompt: "go" }))
      const results = { calls: {}, approvals: { w: { allow: true } } } as const
      const code = (suspension: unknown) =>
        Effect.map(Effect.flip(harness.resume(suspension, results)), (error) => error.code)
      const text = Suspension.stringify(one.suspension)
      const flipped = text.replace("\\\"path\\\":\\\"b\\\"", "\\\"path\\\":\\\"c\\\"")
      assert.notStrictEqual(flipped, text)
      assert.strictEqual(yield* code(flipped), "suspension_integrity_failed")
      assert.strictEqual(
        yield* code({ ...one.suspension, digest: two.suspension.digest }),
        "suspension_integrity_failed"
      )
      assert.strictEqual(
        yield* code({ ...one.suspension, run_id: two.suspension.run_id }),
        "suspension_integrity_failed"
      )
      yield* TestClock.adjust(1001)
      assert.strictEqual(yield* code(one.suspension), "suspension_expired")
      assert.deepStrictEqual(tools.ran, [])
    }))

  it.effect("faults H1 a process that dies after a call began leaves one result that says it may have executed", () =>
    Effect.gen(function*() {
      const { agent, harness } = yield* rig({ calls: [call("l", "read_file")] })
      let later: unknown
      const checkpoint = (state: State.State) =>
        Effect.suspend(() => {
          later ??= JSON.parse(JSON.stringify(state))
          return Effect.interrupt
        })
      yield* Effect.exit(harness.run({ prompt: "go", checkpoint }))
      const model = new FakeModel([{ text: "ok" }])
      completed(yield* (yield* harnessOf(agent, model)).abandon(later, "go on"))
      assert.deepStrictEqual(told(model.requests[0]!.messages).map(({ outcome }) => outcome), ["unknown"])
      assert.include(told(model.requests[0]!.messages)[0]!.content, "It may have executed")
      assert.deepStrictEqual(HistoryCheck.check(model.requests[0]!.messages), [])
    }))

  it.effect("faults H5 a history that was cut through a pair is not sent", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [call("l", "read_file")] }, { text: "ok" }, { text: "again" })
      const { state } = completed(yield* harness.run({ prompt: "go" }))
      const cut = (from: number) =>
        harness.run({ prompt: "more", state: { ...state, messages: state.messages.slice(from) } })
      assert.strictEqual(failedRun(yield* cut(2)).failure.code, "history_invalid")
      assert.strictEqual(model.requests.length, 2)
      completed(yield* cut(3))
    }))

  it.effect("RSM-8 HRN-D39, faults H5 a state that was cut through a pair is not abandoned into a request", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [call("a", "free_form")] }, { text: "no" })
      const { state } = suspended(yield* harness.run({ prompt: "go" })).suspension
      const orphan = JSON.stringify({
        role: "tool",
        results: [{ id: "z", name: "x", outcome: "success", content: "{}" }]
      })
      const cut = { ...state, messages: [orphan, ...state.messages] }
      const result = yield* harness.abandon(cut, "on")
      assert.strictEqual(result._tag === "Failed" && result.failure.code, "history_invalid")
      assert.strictEqual(model.requests.length, 1)
    }))

  it.effect("HRN-D39, faults H5 a history that was cut through a pair does not complete either", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [call("l", "read_file")] }, { text: "ok" })
      const { state } = completed(yield* harness.run({ prompt: "go" }))
      const goOn = (from: number, to?: number) =>
        harness.run({ prompt: null, state: { ...state, messages: state.messages.slice(from, to) } })
      assert.strictEqual(failedRun(yield* goOn(0, 2)).failure.code, "history_invalid")
      assert.strictEqual(failedRun(yield* goOn(1, 2)).failure.code, "history_invalid")
      assert.strictEqual(failedRun(yield* goOn(2)).failure.code, "history_invalid")
      assert.strictEqual((yield* Effect.flip(goOn(9))).code, "suspension_invalid")
      assert.strictEqual(completed(yield* goOn(0)).output, "ok")
      assert.strictEqual(model.requests.length, 2)
    }))
})

describe("faults of JSON and text", () => {
  it.effect("faults E1 half a surrogate pair is refused in answers, and in arguments goes back to the model", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig(
        { calls: [call("a", "free_form", "{\"n\":1,\"text\":\"\\udc00\"}")] },
        { calls: [three[0]!] },
        { text: "\ud83d" }
      )
      const first = suspended(yield* harness.run({ prompt: "go" }))
      assert.strictEqual(told(model.requests[1]!.messages)[0]!.outcome, "failure")
      const id = first.suspension.requests.calls[0]!.call_id
      const error = yield* Effect.flip(harness.resume(first.suspension, answers({ [id]: success({ text: "\ud83d" }) })))
      assert.strictEqual(error.code, "deferred_results_invalid")
      assert.include(error.message, "text")
    }))

  it.effect("faults E2 E7 E13 NUL, its escape as text, and numbers of any size survive store and reload", () =>
    Effect.gen(function*() {
      const args = "{\"a\":2512292042121000001,\"b\":9007199254740993,\"d\":-0,\"e\":\"\\\\u0000\",\"f\":\"\\u0000\"}"
      const { harness, model } = yield* rig(
        { calls: [call("i", "free_form", "{\"a\":1e400}")] },
        { calls: [call("a", "free_form", args)] },
        { text: "ok" }
      )
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const again = stored(first)
      assert.strictEqual(again.requests.calls[0]!.arguments, args)
      const [one] = ok(harness.pending(again)).calls
      assert.strictEqual(one!.argumentsText, args as never)
      assert.isTrue(Result.isFailure(one!.arguments), "a number that would round is refused")
      yield* harness.resume(again, answers({ a: success({ nul: "\u0000", text: "\\u0000", zero: -0 }) }))
      assert.include(told(model.requests[1]!.messages)[0]!.content, "not finite")
      const asked = model.requests[2]!.messages[3]!
      assert.strictEqual(asked.role === "assistant" ? asked.toolCalls[0]!.arguments : "", args)
      const content = JSON.parse(told(model.requests[2]!.messages)[0]!.content).structured
      assert.strictEqual(content.text, "\\u0000")
    }))
})

describe("faults of names, schemas and registration", () => {
  it("faults F1 a tool with an illegal name is refused by its name", () => {
    const names = ["a b", "1x", "café", "", "x".repeat(257)]
    for (const name of names) {
      const error = failed(ClientTool.raw({ name, description: "d", parameters: { type: "object" } }))
      assert.deepInclude(error, { field: "name", tool: name })
    }
    for (const name of ["a.b", "x".repeat(256)]) {
      ok(ClientTool.raw({ name, description: "d", parameters: { type: "object" } }))
    }
  })

  it.effect("DCL-10, faults F1 a declared name that providers do not know stays as it is in history and envelope", () =>
    Effect.gen(function*() {
      const dotted = ok(ClientTool.raw({ name: "crm.look:up", description: "d", parameters: { type: "object" } }))
      const spec = ok(ClientToolset.spec({ defaultToolsets: [ok(ClientToolset.make("crm", [dotted]))] }))
      const model = new FakeModel([{ calls: [call("a", "crm.look:up")] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools: spec }), model)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      assert.strictEqual(first.suspension.requests.calls[0]!.tool_name, "crm.look:up")
      completed(yield* harness.resume(first.suspension, answers({ a: success(1) })))
      assert.strictEqual(told(model.requests[1]!.messages)[0]!.name, "crm.look:up")
    }))

  it.effect("DCL-10 SUR-4 HRN-D30 the declared name of a tool that is denied stays as it is too; one of no tool is made legal", () =>
    Effect.gen(function*() {
      const dotted = ok(ClientTool.raw({
        name: "crm.look:up",
        description: "d",
        permission: "deny",
        parameters: { type: "object" }
      }))
      const spec = ok(ClientToolset.spec({ defaultToolsets: [ok(ClientToolset.make("crm", [dotted]))] }))
      const model = new FakeModel([{ calls: [call("a", "crm.look:up"), call("b", "crm.other")] }, { text: "ok" }])
      const harness = yield* harnessOf(AgentDefinition.make({ clientTools: spec }), model)
      const { messages } = completed(yield* harness.run({ prompt: "go" }))
      assert.deepStrictEqual(told(messages).map(({ name }) => name), ["crm.look:up", "crm_other"])
    }))

  it("faults F3 the same toolset twice, or one name in two of them, is refused when it is declared", () => {
    const one = ok(ClientToolset.make("crm", [lookup]))
    const other = ok(ClientToolset.make("other", [lookup, free]))
    assert.strictEqual(failed(ClientToolset.spec({ defaultToolsets: [one, one] })).code, "client_toolset_duplicate")
    assert.strictEqual(failed(ClientToolset.spec({ defaultToolsets: [one, other] })).code, "client_tool_duplicate")
  })

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["a root without type", { properties: {} }],
    ["a root of oneOf", { oneOf: [{ type: "object" }] }],
    ["a root of several types", { type: ["object", "null"] }],
    ["100 KB", { type: "object", description: "x".repeat(100_000) }]
  ])("faults F4 a schema with %s is refused by name", (_, parameters) => {
    assert.deepInclude(failed(ClientTool.raw({ name: "t", description: "d", parameters })), {
      code: "client_tool_invalid",
      tool: "t"
    })
  })
})
