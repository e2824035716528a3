import { assert, describe, it } from "@effect/vitest"
import { HistoryCheck, type ModelRequest, ToolHooks } from "@errand/runtime"
import { AgentDefinition, Resumes, type State, Suspension } from "@errand/runtime/suspend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { keysOf, ok } from "./Fixture.ts"
import {
  call,
  clientTools,
  completed,
  Counted,
  definition,
  FakeModel,
  harnessOf,
  type Says,
  stored,
  suspended
} from "./Rig.ts"

const rig = Effect.fnUntraced(function*(...says: ReadonlyArray<Says>) {
  const tools = new Counted()
  const model = new FakeModel(says)
  const agent = definition([
    tools.tool("read_file"),
    tools.tool("write_file", "ask"),
    tools.tool("safe_write", "ask", { retrySafe: true })
  ])
  const harness = yield* harnessOf(agent, model)
  return { agent, tools, model, harness }
})

const lookup = call("c1", "lookup_record", { record_id: "7" })
const write = call("c2", "write_file", { path: "b" })
const answers = { calls: { c1: { status: "success", value: { title: "Seven" } } }, approvals: {} } as const
const both = { ...answers, approvals: { c2: { allow: true } } } as const

const outcomes = (request: { readonly messages: ModelRequest["messages"] } | undefined) => {
  const told = request?.messages.findLast((message) => message.role === "tool")
  return told?.role === "tool" ? told.results.map(({ id, outcome }) => `${id} ${outcome}`) : []
}

describe("harness 5: one run per suspension", () => {
  it.effect("RSM-6, faults B7 the same suspension twice starts one run, and the second gets the first's outcome", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig({ calls: [lookup, write] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const resume = harness.resume(stored(first), both)
      const [one, two] = yield* Effect.all([resume, resume], { concurrency: "unbounded" })
      const three = yield* resume
      assert.strictEqual(one, two)
      assert.strictEqual(one, three)
      assert.strictEqual(model.requests.length, 2)
      assert.deepStrictEqual(tools.ran, ["write_file b"])
    }))

  it.effect("RSM-6 a suspension that was resumed with other results is consumed, and so is one that was abandoned", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [lookup] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      yield* harness.resume(first.suspension, answers)
      const other = { ...answers, calls: { c1: { status: "error", message: "no" } } } as const
      assert.strictEqual((yield* Effect.flip(harness.resume(first.suspension, other))).code, "suspension_consumed")
      assert.strictEqual((yield* Effect.flip(harness.abandon(first.suspension, "x"))).code, "suspension_consumed")
      assert.strictEqual(model.requests.length, 2)
    }))

  it.effect("RSM-6 what the preflight refuses consumes nothing", () =>
    Effect.gen(function*() {
      const { harness } = yield* rig({ calls: [lookup] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const none = yield* Effect.flip(harness.resume(first.suspension, { calls: {}, approvals: {} }))
      assert.strictEqual(none.code, "deferred_results_incomplete")
      completed(yield* harness.resume(first.suspension, answers))
    }))

  it.effect("RSM-6 HRN-D37 the last 1,024 are remembered, the outcomes of the last 4", () =>
    Effect.gen(function*() {
      const ledger = new Resumes.Resumes()
      let ran = 0
      const consumed = () => new Resumes.SuspensionConsumed({ details: { threadId: "t", runId: "r" } })
      const enter = (key: number) => Effect.exit(ledger.once(`${key}`, "r", consumed, Effect.sync(() => ++ran)))
      for (let key = 0; key < 1024; key++) yield* enter(key)
      assert.strictEqual((yield* enter(0))._tag, "Failure")
      assert.strictEqual((yield* enter(1019))._tag, "Failure")
      assert.deepInclude(yield* enter(1020), { _tag: "Success", value: 1021 })
      assert.strictEqual(ran, 1024)
      yield* enter(1024)
      assert.deepInclude(yield* enter(0), { _tag: "Success", value: 1026 })
    }))

  it.effect("RSM-6 the last 1,024 are the last that ended: one that ran for long is as young as its end", () =>
    Effect.gen(function*() {
      const ledger = new Resumes.Resumes()
      const end = yield* Deferred.make<void>()
      const consumed = () => new Resumes.SuspensionConsumed({ details: { threadId: "t", runId: "r" } })
      const enter = (key: string, run: Effect.Effect<unknown>) => Effect.exit(ledger.once(key, "r", consumed, run))
      const long = yield* Effect.forkChild(enter("long", Deferred.await(end)), { startImmediately: true })
      for (let key = 0; key < 1100; key++) yield* enter(`${key}`, Effect.void)
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(long)
      for (let key = 0; key < 1000; key++) yield* enter(`more ${key}`, Effect.void)
      assert.strictEqual((yield* enter("long", Effect.void))._tag, "Failure")
      assert.strictEqual((yield* enter("0", Effect.void))._tag, "Success")
    }))

  it.effect("RSM-6 a run that is cancelled while another waits for its outcome is an outcome too", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [lookup] }, { never: true })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const cancel = yield* Deferred.make<void>()
      const resume = harness.resume(first.suspension, answers, { cancelled: Deferred.await(cancel) })
      const one = yield* Effect.forkChild(resume, { startImmediately: true })
      assert.strictEqual(model.requests.length, 2)
      const two = yield* Effect.forkChild(resume, { startImmediately: true })
      yield* Deferred.succeed(cancel, undefined)
      assert.strictEqual((yield* Fiber.join(one))._tag, "Cancelled")
      assert.strictEqual((yield* Fiber.join(two))._tag, "Cancelled")
    }))
})

describe("harness 5: rules at the time of the resume", () => {
  it.effect("RSM-2 a current deny wins over an old approval", () =>
    Effect.gen(function*() {
      const { agent, harness, tools } = yield* rig({ calls: [write] })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const later = new FakeModel([{ text: "done" }])
      const stricter = AgentDefinition.make({
        ...agent,
        instructions: "Be careful.",
        output: undefined as never,
        rename: undefined as never,
        clientTools,
        permissions: [{ tool: "write_file", allow: false }]
      })
      const again = yield* harnessOf(stricter, later)
      completed(yield* again.resume(first.suspension, { calls: {}, approvals: { c2: { allow: true } } }))
      assert.deepStrictEqual(outcomes(later.requests[0]), ["c2 denied"])
      assert.deepStrictEqual(tools.ran, [])
    }))

  it.effect("RSM-2 RSM-5 HRN-D36 hooks see allowed calls before and answers after; answers are protected", () =>
    Effect.gen(function*() {
      const { agent, tools } = yield* rig()
      const seen: Array<string> = []
      const hooks = {
        before: ({ arguments: args, tool }: { readonly tool: string; readonly arguments: string }) =>
          Effect.sync(() => {
            seen.push(`before ${tool} ${args}`)
            return { allow: true } as const
          }),
        after: ({ arguments: args, tool }: { readonly tool: string; readonly arguments: string }) =>
          Effect.sync(() => {
            seen.push(`after ${tool} ${args}`)
            return undefined
          })
      }
      const model = new FakeModel([{ calls: [call("c1", "free_form", { n: 1 }), write] }, { text: "done" }])
      const harness = yield* Effect.provideService(harnessOf(agent, model), ToolHooks, hooks)
      const first = suspended(yield* harness.run({ prompt: "go" }))
      assert.deepStrictEqual(seen.splice(0), ["before free_form {\"n\":1}", "before write_file {\"path\":\"b\"}"])
      yield* harness.resume(first.suspension, {
        calls: { c1: { status: "success", value: { api_key: "sk-live-0123456789abcdef0123456789" } } },
        approvals: { c2: { allow: true } }
      })
      assert.deepStrictEqual(seen, [
        "after free_form {\"n\":1}",
        "before write_file {\"path\":\"b\"}",
        "after write_file {\"path\":\"b\"}"
      ])
      const told = model.requests[1]!.messages.at(-1)!
      assert.notInclude(JSON.stringify(told), "sk-live-0123456789")
      assert.deepStrictEqual(tools.ran, ["write_file b"])
    }))

  it.effect("RSM-1 a failure for a tool that is gone is accepted, a success is not", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [lookup] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const gone = { clientToolsets: [] }
      const error = yield* Effect.flip(harness.resume(first.suspension, answers, gone))
      assert.strictEqual(error.code, "deferred_surface_mismatch")
      const failure = { calls: { c1: { status: "error", message: "it is gone" } }, approvals: {} } as const
      completed(yield* harness.resume(first.suspension, failure, gone))
      assert.deepStrictEqual(outcomes(model.requests[1]), ["c1 failure"])
    }))

  it.effect("SUS-2 HRN-D14 keys sign and verify; an unsigned suspension with approvals needs trustUnsigned", () =>
    Effect.gen(function*() {
      const { agent } = yield* rig()
      const model = new FakeModel([{ calls: [write] }, { text: "done" }])
      const unsigned = suspended(yield* (yield* harnessOf(agent, model, {})).run({ prompt: "go" }))
      const results = { calls: {}, approvals: { c2: { allow: true } } } as const
      const untrusting = yield* harnessOf(agent, model, {})
      assert.strictEqual(
        (yield* Effect.flip(untrusting.resume(unsigned.suspension, results))).code,
        "suspension_integrity_failed"
      )
      const signing = yield* harnessOf(agent, new FakeModel([{ calls: [write] }, { text: "done" }]), {
        keys: keysOf("k")
      })
      const signed = suspended(yield* signing.run({ prompt: "go" }))
      assert.match(signed.suspension.digest, /^hmac-sha256:k:/)
      completed(yield* signing.resume(Suspension.stringify(signed.suspension), results))
    }))
})

describe("harness 5: recovery and a new prompt", () => {
  it.effect("RSM-9 the state is stored before a call starts and after each result", () =>
    Effect.gen(function*() {
      const { harness, tools } = yield* rig({ calls: [call("c0", "read_file"), lookup, write] }, { text: "done" })
      const states: Array<string> = []
      const checkpoint = (state: State.State) =>
        Effect.sync(() => {
          states.push(`${tools.ran.length} ${state.calls.map(({ status }) => status).join(" ")}`)
        })
      const first = suspended(yield* harness.run({ prompt: "go", checkpoint }))
      assert.deepStrictEqual(states.splice(0), ["0 started pending pending", "1 completed pending pending"])
      yield* harness.resume(first.suspension, both, { checkpoint })
      assert.deepStrictEqual(states, ["1 completed completed pending", "1 completed completed started", "2 "])
    }))

  it.effect("RSM-9 a checkpoint that fails keeps the call from starting and ends the run", () =>
    Effect.gen(function*() {
      const { harness, tools } = yield* rig({ calls: [call("c0", "read_file")] })
      const result = yield* harness.run({ prompt: "go", checkpoint: () => Effect.fail("disk full") })
      assert.strictEqual(result._tag === "Failed" ? result.failure.code : result._tag, "storage_failed")
      assert.deepStrictEqual(tools.ran, [])
    }))

  it.effect("RSM-7, faults B9 a resume that crashed is recovered: nothing runs twice, each answer is told once", () =>
    Effect.gen(function*() {
      const { agent, harness, tools } = yield* rig({ calls: [lookup, write] })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      let later: unknown = null
      let crashed = false
      const checkpoint = (state: State.State) =>
        Effect.suspend(() => {
          if (crashed) return Effect.void
          later = JSON.parse(JSON.stringify(state))
          crashed = state.calls.some(({ status }) => status === "started")
          return crashed ? Effect.interrupt : Effect.void
        })
      yield* Effect.exit(harness.resume(first.suspension, both, { checkpoint }))
      assert.deepStrictEqual(tools.ran, [])
      const model = new FakeModel([{ text: "done" }])
      const fresh = yield* harnessOf(agent, model)
      completed(yield* fresh.recover(first.suspension, both, later))
      assert.deepStrictEqual(outcomes(model.requests[0]), ["c1 success", "c2 unknown"])
      assert.deepStrictEqual(tools.ran, [])
      assert.include(JSON.stringify(model.requests[0]!.messages), "It may have executed")
    }))

  it.effect("RSM-7 what may have executed is asked again where the tool is retry-safe", () =>
    Effect.gen(function*() {
      const { agent, harness, tools } = yield* rig({ calls: [call("c2", "safe_write", { path: "b" })] })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const results = { calls: {}, approvals: { c2: { allow: true } } } as const
      const model = new FakeModel([{ text: "done" }])
      const fresh = yield* harnessOf(agent, model)
      const again = suspended(yield* fresh.recover(first.suspension, results, null, { input: "and?" }))
      assert.strictEqual(again.input, "and?")
      assert.strictEqual(model.requests.length, 0)
      assert.deepStrictEqual(again.suspension.requests.approvals.map(({ call_id }) => call_id), ["c2"])
      completed(yield* fresh.resume(again.suspension, results))
      assert.deepStrictEqual(tools.ran, ["safe_write b"])
    }))

  it.effect("RSM-7 a recovery from a state that was answered already asks nobody again", () =>
    Effect.gen(function*() {
      const { agent, harness } = yield* rig({ calls: [lookup] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const ended = completed(yield* harness.resume(first.suspension, answers))
      const model = new FakeModel([])
      const fresh = yield* harnessOf(agent, model)
      assert.strictEqual(completed(yield* fresh.recover(first.suspension, answers, ended.state)).output, "done")
      assert.strictEqual(model.requests.length, 0)
    }))

  it.effect("RSM-8, faults D13 a prompt on a suspended thread is refused by name; abandoning closes each call as unknown", () =>
    Effect.gen(function*() {
      const { harness, model, tools } = yield* rig({ calls: [lookup, write] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const refused = yield* Effect.flip(harness.run({ prompt: "never mind", state: first.suspension.state }))
      assert.strictEqual(refused.code, "thread_suspended")
      completed(yield* harness.abandon(first.suspension, "never mind"))
      assert.deepStrictEqual(outcomes(model.requests[1]), ["c1 unknown", "c2 unknown"])
      assert.deepStrictEqual(model.requests[1]!.messages.at(-1), { role: "user", text: "never mind" })
      assert.deepStrictEqual(HistoryCheck.check(model.requests[1]!.messages), [])
      assert.deepStrictEqual(tools.ran, [])
    }))

  it.effect("RSM-8 HRN-D31 a retry-safe call stays pending under its id, and the prompt comes back", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [lookup, call("c9", "patient")] }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const again = suspended(yield* harness.abandon(first.suspension.state, "never mind"))
      assert.deepStrictEqual(again.suspension.requests.calls.map(({ call_id }) => call_id), ["c9"])
      assert.strictEqual(again.input, "never mind")
      assert.strictEqual(model.requests.length, 1)
      const results = { calls: { c9: { status: "success", value: 1 } }, approvals: {} } as const
      completed(yield* harness.resume(again.suspension, results, { input: again.input! }))
      assert.deepStrictEqual(outcomes(model.requests[1]), ["c1 unknown", "c9 success"])
    }))

  it.effect("SUS-5 a fork goes on by itself: what is pending is closed in it and stays open in the original", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [lookup, write] }, { text: "forked" }, { text: "done" })
      const first = suspended(yield* harness.run({ prompt: "go" }))
      const fork = ok(harness.fork(stored(first), "other"))
      const result = completed(yield* harness.run({ prompt: "instead", state: fork }))
      assert.strictEqual(result.threadId, "other")
      assert.deepStrictEqual(outcomes(model.requests[1]), ["c1 failure", "c2 denied"])
      completed(yield* harness.resume(first.suspension, both))
      assert.deepStrictEqual(outcomes(model.requests[2]), ["c1 success", "c2 success"])
    }))
})
