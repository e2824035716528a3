/** What a host gives is looked at before anything runs: times, texts, values and results of another shape. */
import { assert, describe, it } from "@effect/vitest"
import { AgentDefinition, ClientTool, ClientToolset, HostTool, RunInput, Suspension } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { failed, ok } from "./Fixture.ts"
import { call, completed, Counted, definition, FakeModel, harnessOf, type Says, suspended } from "./Rig.ts"

const rig = Effect.fnUntraced(function*(...says: ReadonlyArray<Says>) {
  const tools = new Counted()
  const model = new FakeModel(says)
  const harness = yield* harnessOf(definition([tools.tool("read_file")]), model)
  return { tools, model, harness }
})

const codeOf = <A, E extends { readonly code: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => error.code)

const step = { calls: [call("r", "read_file"), call("c1", "free_form")] }
const answered = { calls: { c1: { status: "success", value: 1 } }, approvals: {} } as const

describe("harness 4: how long a suspension can be resumed", () => {
  it.effect.each([Infinity, -Infinity, NaN, 1e18, Number.MAX_SAFE_INTEGER, 8e14, -5, "5" as never])(
    "SUS-1 an end that no suspension can hold is refused before anything runs: %s",
    (expiresInMs) =>
      Effect.gen(function*() {
        const { harness, model, tools } = yield* rig(step, { text: "done" })
        assert.strictEqual(yield* codeOf(harness.run({ prompt: "go", expiresInMs })), "run_input_invalid")
        assert.strictEqual(model.requests.length, 0)
        const first = suspended(yield* harness.run({ prompt: "go" }))
        const { suspension } = first
        assert.strictEqual(yield* codeOf(harness.resume(suspension, answered, { expiresInMs })), "run_input_invalid")
        assert.strictEqual(yield* codeOf(harness.abandon(suspension, "no", { expiresInMs })), "run_input_invalid")
        assert.deepStrictEqual(tools.ran, ["read_file"])
        assert.strictEqual((yield* harness.resume(suspension, answered))._tag, "Completed")
      })
  )

  it.effect.each([0, 0.5, RunInput.longestMs])(
    "SUS-1 an end that our own reader takes is sealed: %s",
    (expiresInMs) =>
      Effect.gen(function*() {
        const { harness } = yield* rig(step)
        const { suspension } = suspended(yield* harness.run({ prompt: "go", expiresInMs }))
        assert.strictEqual(
          ok(Suspension.open(Suspension.stringify(suspension), null)).expires_at,
          suspension.expires_at
        )
      })
  )
})

describe("harness 5: the order of the checks, whatever form the results have", () => {
  it.effect("5 what is wrong with the suspension is told before what is wrong with a list of replies", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig(step)
      const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
      const [one] = ok(harness.pending(suspension)).calls
      const reply = { _tag: "Answer", callId: one!.callId, answer: { status: "success", value: 1 } } as const
      const twice = [reply, reply]
      assert.strictEqual(yield* codeOf(harness.resume(null, twice)), "suspension_invalid")
      const newer = { ...suspension, version: 2 }
      assert.strictEqual(yield* codeOf(harness.resume(newer, twice)), "suspension_version_unsupported")
      const changed = { ...suspension, run_id: "x" }
      assert.strictEqual(yield* codeOf(harness.resume(changed, twice)), "suspension_integrity_failed")
      assert.strictEqual(yield* codeOf(harness.recover(changed, twice, null)), "suspension_integrity_failed")
      assert.strictEqual(yield* codeOf(harness.resume(suspension, twice)), "deferred_results_invalid")
      assert.strictEqual(model.requests.length, 1)
    }))

  it.effect.each([null, undefined, 1, "x", {}, [], { _tag: "Answer" }, { _tag: "Other", callId: "c1" }])(
    "HRN-D18 a list that holds no reply is told with its path: %j",
    (reply) =>
      Effect.gen(function*() {
        const { harness } = yield* rig(step)
        const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
        const error = yield* Effect.flip(harness.resume(suspension, [reply as never]))
        assert.deepInclude(error, { code: "deferred_results_invalid" })
        assert.deepInclude(error.details, { path: "results[0]" })
        assert.strictEqual(yield* codeOf(harness.resume(suspension, [])), "deferred_results_incomplete")
      })
  )
})

describe("harness 3: texts of a host", () => {
  it.effect("faults E1 half a surrogate pair is refused at the door, and the thread goes on", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig(step, { text: "done" }, { text: "again" })
      const half = "a\ud83db"
      const error = yield* Effect.flip(harness.run({ prompt: half }))
      assert.deepInclude(error, { code: "run_input_invalid" })
      assert.deepInclude(error.details, { path: "prompt" })
      assert.strictEqual(yield* codeOf(harness.run({ prompt: "go", threadId: half })), "run_input_invalid")
      assert.strictEqual(yield* codeOf(harness.run({ prompt: "go", parentRunId: half })), "run_input_invalid")
      assert.strictEqual(yield* codeOf(harness.run({ prompt: 5 as never })), "run_input_invalid")
      assert.strictEqual(yield* codeOf(harness.run({ prompt: undefined as never })), "suspension_invalid")
      assert.strictEqual(model.requests.length, 0)
      const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
      const refused = "run_input_invalid"
      assert.strictEqual(yield* codeOf(harness.resume(suspension, answered, { input: half })), refused)
      assert.strictEqual(yield* codeOf(harness.recover(suspension, answered, null, { input: half })), refused)
      assert.strictEqual(yield* codeOf(harness.abandon(suspension, half)), refused)
      assert.strictEqual(failed(harness.fork(suspension, half)).code, refused)
      const ended = completed(yield* harness.resume(suspension, answered, { input: "fine" }))
      completed(yield* harness.run({ prompt: "again", state: ended.state }))
    }))

  it.effect("faults E1 half a surrogate pair in instructions is mended, since a definition refuses nothing", () =>
    Effect.gen(function*() {
      const model = new FakeModel([{ text: "done" }])
      const harness = yield* harnessOf(AgentDefinition.make({ instructions: "x\ud83d" }), model)
      yield* harness.run({ prompt: "go" })
      assert.strictEqual(model.requests[0]!.instructions, "x\ufffd")
    }))
})

describe("harness 1: numbers are finite", () => {
  const numbers = Schema.Struct({ n: Schema.optionalKey(Schema.Number) })
  const measure = ok(ClientTool.make({ name: "measure", description: "d", parameters: numbers, success: numbers }))
  const clientTools = ok(ClientToolset.spec({ defaultToolsets: [ok(ClientToolset.make("sizes", [measure]))] }))
  const agent = AgentDefinition.make({ clientTools })

  it.effect.each([NaN, Infinity, -Infinity])(
    "DCL-8 HRN-D4 check 9 an answer with %s is refused, also as the text of it",
    (n) =>
      Effect.gen(function*() {
        const harness = yield* harnessOf(agent, new FakeModel([{ calls: [call("c1", "measure", { n: 1 })] }]))
        const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
        const [one] = ok(harness.pending(suspension)).calls
        const results = (value: unknown) => ({ calls: { c1: { status: "success", value } }, approvals: {} }) as const
        const refused = "deferred_results_invalid"
        assert.strictEqual(yield* codeOf(harness.resume(suspension, [one!.succeed({ n })])), refused)
        assert.strictEqual(yield* codeOf(harness.resume(suspension, results({ n }))), refused)
        assert.strictEqual(yield* codeOf(harness.resume(suspension, results({ n: String(n) }))), refused)
      })
  )

  it.effect("RUN-4 arguments in which a text stands for a number go back to the model", () =>
    Effect.gen(function*() {
      const model = new FakeModel([{ calls: [call("c1", "measure", { n: "NaN" })] }, { text: "done" }])
      const harness = yield* harnessOf(agent, model)
      assert.strictEqual((yield* harness.run({ prompt: "go" }))._tag, "Completed")
      assert.include(JSON.stringify(model.requests[1]!.messages), "arguments do not fit")
    }))

  it.effect("RUN-7 an output in which a text stands for a number goes back to the model", () =>
    Effect.gen(function*() {
      const model = new FakeModel([{ text: "{\"n\":\"Infinity\"}" }, { text: "{\"n\":2}" }])
      const harness = yield* harnessOf(AgentDefinition.make({ output: numbers }), model)
      assert.deepInclude(yield* harness.run({ prompt: "go" }), { _tag: "Completed", output: { n: 2 } })
    }))

  it.effect("DCL-8 a tool of the process whose result is not finite has failed", () =>
    Effect.gen(function*() {
      const tool = ok(HostTool.make({
        name: "broken",
        description: "d",
        parameters: numbers,
        success: numbers,
        execute: () => Effect.succeed({ n: NaN })
      }))
      const model = new FakeModel([{ calls: [call("b", "broken")] }, { text: "done" }])
      const harness = yield* harnessOf(AgentDefinition.make({ tools: [tool] }), model)
      yield* harness.run({ prompt: "go" })
      const told = JSON.stringify(model.requests[1]!.messages)
      assert.include(told, "It may have executed")
      assert.notInclude(told, "NaN")
    }))
})

describe("harness 1: the content of a failure", () => {
  it.effect("DCL-2 it fits the failure schema of its tool, or is left out", () =>
    Effect.gen(function*() {
      const { harness, model } = yield* rig({ calls: [call("c1", "lookup_record", { record_id: "7" })] }, {
        text: "done"
      })
      const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
      const failing = (more: object) =>
        ({ calls: { c1: { status: "error", message: "no", ...more } }, approvals: {} }) as const
      for (const content of [{ why: 7 }, { why: "gone", more: 1 }, "gone", null]) {
        const error = yield* Effect.flip(harness.resume(suspension, failing({ content })))
        assert.strictEqual(error.code, "deferred_results_invalid")
        assert.match((error.details as { readonly path: string }).path, /^results\.calls\.c1\.content/)
      }
      completed(yield* harness.resume(suspension, failing({ content: { why: "gone" } })))
      assert.include(JSON.stringify(model.requests[1]!.messages), "gone")
    }))
})

describe("harness 5: overriding arguments", () => {
  const approved = Effect.fnUntraced(function*(validateArguments: "schema" | "object", args: Record<string, unknown>) {
    const parameters = Schema.Struct({ path: Schema.optionalKey(Schema.Unknown), n: Schema.optionalKey(Schema.Int) })
    const tool = ok(HostTool.make({
      name: "write",
      description: "d",
      permission: "ask",
      parameters,
      execute: () => Effect.succeed("written")
    }))
    const agent = AgentDefinition.make({ tools: [tool], validateArguments })
    const harness = yield* harnessOf(agent, new FakeModel([{ calls: [call("w", "write")] }, { text: "done" }]))
    const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
    return harness.resume(suspension, { calls: {}, approvals: { w: { allow: true, arguments: args } } })
  })

  it.effect("RSM-3 RUN-4 HRN-D19 they are looked at as the definition says, which is how the model's are", () =>
    Effect.gen(function*() {
      const misfit = { n: "no integer" }
      assert.strictEqual(yield* codeOf(yield* approved("schema", misfit)), "deferred_approval_invalid")
      const result = completed(yield* yield* approved("object", misfit))
      assert.include(JSON.stringify(result.messages), "invalid_arguments")
    }))

  it.effect("RSM-3 HRN-D19 they nest no deeper than the model's may, which is told at check 8", () =>
    Effect.gen(function*() {
      const nested = (depth: number) => {
        let path: unknown = 1
        for (let at = 1; at < depth; at++) path = [path]
        return { path }
      }
      completed(yield* yield* approved("schema", nested(256)))
      const error = yield* Effect.flip(yield* approved("schema", nested(257)))
      assert.strictEqual(error.code, "deferred_approval_invalid")
      assert.deepInclude(error.details, { callId: "w", path: "results.approvals.w.arguments" })
    }))
})

describe("harness 1 and 5: values with more to them than JSON", () => {
  const hidden = Object.defineProperty({ a: 1 }, "authorization", { value: 1, enumerable: false })
  const throwing = {
    get a(): never {
      throw new Error("no access")
    }
  }
  const inherited = Object.create(Object.create(null, { allow: { value: true, enumerable: true } }) as object) as object
  const opened = Effect.fnUntraced(function*() {
    const tools = new Counted()
    const model = new FakeModel([{ calls: [call("c1", "free_form"), call("w", "write_file")] }, { text: "done" }])
    const harness = yield* harnessOf(definition([tools.tool("write_file", "ask")]), model)
    const { suspension } = suspended(yield* harness.run({ prompt: "go" }))
    const refusal = (value: unknown, more: object = {}, decision: unknown = { allow: true }) =>
      Effect.flip(harness.resume(suspension, {
        calls: { c1: { status: "success", value } },
        approvals: { w: decision as never },
        ...more
      }))
    return { tools, refusal }
  })

  it.effect.each<[string, unknown, string]>([
    ["a symbol", { b: { [Symbol("s")]: 1 } }, "value.b[\"Symbol(s)\"]"],
    ["a hidden member", { b: [hidden] }, "value.b[0].authorization"],
    ["a member of an array that is no item", Object.assign([1], { k: 2 }), "value.k"],
    ["a symbol of an array", Object.assign([1], { [Symbol("s")]: 2 }), "value[\"Symbol(s)\"]"]
  ])(
    "DCL-8 HRN-D2 nothing is dropped: %s is refused with its path, in answers, metadata and arguments",
    ([, value, path]) =>
      Effect.gen(function*() {
        const { refusal, tools } = yield* opened()
        const answer = yield* refusal(value)
        assert.strictEqual(answer.code, "deferred_results_invalid")
        assert.deepInclude(answer.details, { path: `results.calls.c1.${path}` })
        const metadata = yield* refusal(1, { metadata: { c1: { value } } })
        assert.strictEqual(metadata.code, "deferred_metadata_invalid")
        assert.deepInclude(metadata.details, { path: `results.metadata.c1.${path}` })
        const args = yield* refusal(1, {}, { allow: true, arguments: { value } })
        assert.strictEqual(args.code, "deferred_approval_invalid")
        assert.deepInclude(args.details, { path: `results.approvals.w.arguments.${path}` })
        assert.deepStrictEqual(tools.ran, [])
      })
  )

  it.effect("HRN-D18 what throws when it is looked at is invalid and no fault of ours", () =>
    Effect.gen(function*() {
      const { refusal } = yield* opened()
      assert.strictEqual((yield* refusal(throwing)).code, "deferred_results_invalid")
      assert.strictEqual((yield* refusal(1, {}, throwing)).code, "deferred_approval_invalid")
      const error = yield* refusal(1, {}, Object.defineProperty({}, "allow", { get: () => throwing.a }))
      assert.include(error.message, "no access")
    }))

  it.effect("HRN-D18 a suspension or a state that throws when it is read is none, wherever it is given", () =>
    Effect.gen(function*() {
      const { harness } = yield* rig({ text: "done" })
      const closed = new Proxy({}, {
        getPrototypeOf: () => {
          throw new Error("no access")
        }
      })
      const format = (format: string) => ({
        format,
        get version(): number {
          throw new Error("no access")
        }
      })
      for (const given of [closed, format("errand.suspension"), format("errand.state")]) {
        assert.strictEqual(yield* codeOf(harness.resume(given, answered)), "suspension_invalid")
        assert.strictEqual(yield* codeOf(harness.recover(given, answered, null)), "suspension_invalid")
        assert.strictEqual(yield* codeOf(harness.abandon(given, "go")), "suspension_invalid")
        assert.strictEqual(yield* codeOf(harness.run({ prompt: "go", state: given })), "suspension_invalid")
        assert.strictEqual(failed(harness.pending(given)).code, "suspension_invalid")
        assert.strictEqual(failed(harness.fork(given)).code, "suspension_invalid")
      }
    }))

  it.effect("5 a decision allows by a member of its own, not by one of its prototype", () =>
    Effect.gen(function*() {
      const { refusal, tools } = yield* opened()
      assert.strictEqual((yield* refusal(1, {}, inherited)).code, "deferred_approval_invalid")
      assert.deepStrictEqual(tools.ran, [])
    }))
})
