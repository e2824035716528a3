import { assert, describe, it } from "@effect/vitest"
import type { Events } from "@errand/protocol"
import { Tasks } from "@errand/runtime"
import { type Peer, TestServer } from "@errand/testing"
import { Effect, Fiber } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as RunCode from "../../src/codemode/RunCode.ts"

const clientA = TestServer.tool("client__a")
const clientB = TestServer.tool("client__b")
const code = (text: string) => ({ tool_calls: [{ name: "run_code", arguments: { code: text } }] })

const start = Effect.fnUntraced(function*(
  script: NonNullable<TestServer.TestServerOptions["script"]>,
  options: TestServer.TestServerOptions = {}
) {
  const { tool: task } = yield* Effect.provide(Tasks, Tasks.layer)
  const server = yield* TestServer.start({ ...options, script, locals: [task, yield* RunCode.make({})] })
  const session_id = yield* TestServer.session(server.peer, [clientA, clientB])
  const turn = Effect.map(
    server.peer.ok("turn.start", { session_id, prompt: "go" }),
    (result) => result["run_id"] as string
  )
  return { ...server, session_id, turn }
})

const lastText = (peer: Peer) => peer.events("message.reconcile").at(-1)?.text ?? ""

describe("section 12: the pipeline from inside code", { timeout: 60_000 }, () => {
  it.effect("BLT-3 SES-6 WIR-36 a call by code has an activity under that of the code, an entry, and no result of its own", () =>
    Effect.gen(function*() {
      const { peer, session_id, turn } = yield* start([
        code("const r = await tools.call('client__a', {n: 1}); return r.text"),
        { text: "{{results}}" }
      ])
      yield* turn
      const call = yield* peer.event("client.tool.call")
      assert.deepStrictEqual([call.data.task_id, call.data.subagent_id], [null, null])
      yield* peer.ok("client.tool.result", peer.answer(call, { text: "ANSWER" }))
      const finished = yield* peer.event("run.finished")
      assert.strictEqual(finished.data.usage.tool_calls, 2)
      const [outer, ...rest] = peer.events("tool.activity")
      assert.deepStrictEqual(
        [outer!, ...rest].map(({ name, parent_id, status }) => [name, parent_id, status]),
        [
          ["run_code", null, "running"],
          ["client__a", outer!.activity_id, "running"],
          ["client__a", outer!.activity_id, "success"],
          ["run_code", null, "success"]
        ]
      )
      const results = JSON.parse(lastText(peer)) as ReadonlyArray<{ name: string; result: { text: string } }>
      assert.deepStrictEqual(results.map(({ name, result }) => [name, result.text]), [["run_code", "ANSWER"]])
      const { entries } = yield* peer.ok("history.page", { session_id })
      assert.deepStrictEqual(
        (entries as ReadonlyArray<{ kind: string; name?: string }>).flatMap((one) =>
          one.kind === "tool" ? [one.name] : []
        ),
        ["client__a", "run_code"]
      )
      assert.notInclude(JSON.stringify(entries), "ANSWER\"}")
    }))

  it.effect("PRM-1 HKS-1 a call by code is asked for where a rule for code says so, though the code itself is not", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start([
        code("try { await tools.call('client__a', {}) } catch (e) { return e.code }"),
        { text: "{{results}}" }
      ], { permissions: [{ tool: "client__a", surface: "code", allow: "ask" }] })
      yield* turn
      const asked = yield* peer.event("approval.requested")
      const nested = peer.events("tool.activity").find(({ name }) => name === "client__a")
      assert.strictEqual(asked.data.activity_id, nested?.activity_id)
      const { approval_id, run_id, session_id } = asked.data
      yield* peer.ok("approval.answer", { session_id, run_id, approval_id, allow: false })
      yield* peer.event("run.finished")
      assert.include(lastText(peer), "client_tool_denied")
      assert.strictEqual(peer.events("client.tool.call").length, 0)
      assert.deepStrictEqual(peer.events("tool.activity").map(({ status }) => status), [
        "running",
        "running",
        "denied",
        "success"
      ])
    }))

  it.effect("PRM-4 BLT-3 code does not run code, and has no tool that is not its agent's", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start([
        code(`const codes = []
              for (const name of ['run_code', 'client__none', 'nothing', '__proto__']) {
                await tools.call(name, {}).catch((e) => codes.push(e.code))
              }
              return codes.join(' ') + ' ' + (await tools.search('')).map((one) => one.name).join(' ')`),
        { text: "{{results}}" }
      ])
      yield* turn
      yield* peer.event("run.finished")
      assert.include(
        lastText(peer),
        "unknown_tool client_tool_unavailable unknown_tool unknown_tool task client__a client__b"
      )
    }))

  it.effect("DEL-1 PRM-2 BLT-3 code of a task finds, sees and calls what the task was given, and nothing else", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start({
        root: [
          {
            tool_calls: [{
              name: "task",
              arguments: { description: "sub", prompt: "go", profile: "general", tools: ["client__a"] }
            }]
          },
          { text: "{{results}}" }
        ],
        tasks: {
          sub: [
            code(`const refused = []
                  await tools.call('client__b', {}).catch((e) => refused.push(e.code))
                  await tools.describe('client__b').catch((e) => refused.push(e.code))
                  const names = (await tools.search('')).map((one) => one.name)
                  return [...refused, ...names, (await tools.call('client__a', {})).text].join(' ')`),
            { text: "{{results}}" }
          ]
        }
      })
      yield* turn
      const call = yield* peer.event("client.tool.call")
      assert.strictEqual(call.data.name, "client__a")
      yield* peer.ok("client.tool.result", peer.answer(call, { text: "ANSWER" }))
      yield* peer.event("run.finished")
      assert.include(lastText(peer), "client_tool_unavailable unknown_tool task client__a ANSWER")
    }))

  it.effect("BLT-2 BLT-3 code may delegate; the calls of the task are under the task's identities", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start({
        root: [
          code("return (await tools.call('task', {description: 'sub', prompt: 'go', profile: 'general'})).text"),
          { text: "{{results}}" }
        ],
        tasks: { sub: [{ tool_calls: [{ name: "client__a", arguments: {} }] }, { text: "SUB-DONE {{tools}}" }] }
      })
      yield* turn
      const call = yield* peer.event("client.tool.call")
      const task = peer.events("tool.activity").find(({ name }) => name === "task")
      assert.strictEqual(String(call.data.subagent_id), task?.activity_id)
      assert.isString(call.data.task_id)
      yield* peer.ok("client.tool.result", peer.answer(call))
      yield* peer.event("run.finished")
      // the delegated agent is a model of its own: it has the tools of the direct surface, code among them
      assert.match(lastText(peer), /SUB-DONE .*run_code/)
    }))

  it.effect("CAL-5 calls by code take the same sixteen slots as all others", () =>
    Effect.gen(function*() {
      const { peer, turn } = yield* start([
        {
          tool_calls: [
            ...Array.from({ length: 10 }, () => ({ name: "client__a", arguments: {} })),
            code(
              "const all = await Promise.allSettled(Array.from({length: 7}, () => tools.call('client__b', {}))); return all.map((one) => one.reason?.code ?? 'ok').join(' ')"
            )
              .tool_calls[0]!
          ]
        },
        { text: "{{results}}" }
      ])
      yield* turn
      const calls: Array<Effect.Success<ReturnType<typeof peer.event<"client.tool.call">>>> = []
      for (let i = 0; i < 16; i++) calls.push(yield* peer.event("client.tool.call"))
      while ((yield* peer.event("tool.activity")).data.status !== "failure") { /* the seventeenth is still to come */ }
      assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 16)
      for (const call of calls) yield* peer.ok("client.tool.result", peer.answer(call))
      yield* peer.event("run.finished")
      assert.include(lastText(peer), "ok ok ok ok ok ok client_tool_busy")
    }))
})

/** Code that the numbers tell: calls in every pattern, awaited, raced, dropped, and ends of every kind. */
const codeOf = (choices: ReadonlyArray<number>): string =>
  [
    "const open = []",
    "const one = (name) => tools.call(name, {}).catch(() => {})",
    ...choices.map((choice) =>
      [
        "open.push(one('client__a'))",
        "await one('client__b')",
        "await Promise.race(open)",
        "await Promise.all(open)",
        "await one('client__none')",
        "for (let i = 0; i < 9; i++) open.push(one('client__a'))",
        "open.push(tools.call('client__a', {}))",
        "if (open.length > 3) throw new Error('enough')",
        "if (open.length > 5) return open.length",
        "await tools.search('a')"
      ][choice % 10]
    )
  ].join("\n")

const choices = Arbitrary.array(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))),
  { maxLength: 8 }
)
const cancelAt = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })))

describe("section 12: code of any shape", { timeout: 60_000 }, () => {
  it.effect.prop(
    "CAN-1 CAN-2 CAL-5 whatever code does with calls, each ends once and no slot is lost",
    { choices, cancelAt },
    ({ cancelAt, choices }) =>
      Effect.gen(function*() {
        const { peer, session_id, turn } = yield* start([
          // an empty race waits for ever, and so does code that races nothing: then nothing is in flight, which ends it
          code(codeOf(choices)),
          { text: "after" },
          { tool_calls: Array.from({ length: 16 }, () => ({ name: "client__a", arguments: {} })) }
        ])
        const accepted = new Set<string>()
        const run_id = yield* turn
        const client = yield* Effect.forkChild(Effect.gen(function*() {
          for (let count = 1;; count++) {
            const call = yield* peer.event("client.tool.call")
            if (count === cancelAt) yield* peer.request("turn.cancel", { session_id, run_id })
            if (count >= cancelAt) continue
            const status = count % 3 === 0 ? "error" : "success"
            const response = yield* peer.request("client.tool.result", peer.answer(call, { status }))
            if (response.error === undefined) accepted.add(call.data.call_id)
          }
        }))
        yield* peer.event("run.finished")
        yield* Fiber.interrupt(client)
        assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 0)
        const ids = (calls: ReadonlyArray<Events.EventData<"client.tool.cancel"> | { readonly call_id: string }>) =>
          calls.map(({ call_id }) => call_id)
        const cancelled = ids(peer.events("client.tool.cancel"))
        const published = ids(peer.events("client.tool.call"))
        assert.deepStrictEqual([...accepted, ...cancelled].sort(), [...published].sort())
        const running = peer.events("tool.activity").filter(({ status }) => status === "running")
        assert.strictEqual(peer.events("tool.activity").length, 2 * running.length)

        if (published.length >= cancelAt) return
        yield* turn
        for (let i = 0; i < 16; i++) yield* peer.event("client.tool.call")
        assert.strictEqual((yield* peer.ok("status"))["pending_calls"], 16)
      }).pipe(Effect.scoped),
    { timeout: 120_000, arbitrary: { runs: 15 } }
  )
})
