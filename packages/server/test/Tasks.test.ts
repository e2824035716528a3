import { assert, describe, it } from "@effect/vitest"
import { Limits } from "@errand/protocol"
import { StorageFailed } from "@errand/runtime"
import { SessionStore } from "@errand/server"
import { TestServer } from "@errand/testing"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Rig from "./AgentRig.ts"

const { call, codeOf, inside, shown, task, taskIdOf, turn } = Rig
const a = TestServer.tool("client__a")

describe("program 3: task", () => {
  it.effect("BLT-2 DEL-1 WIR-25 the final text is the result, under an id, and usage counts into the run", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
          tasks: { one: [{ text: "found it" }] }
        }
      })
      const session = yield* TestServer.session(peer)
      const finished = yield* turn(peer, session)
      const [result] = shown(peer)
      assert.strictEqual(result?.outcome, "success")
      assert.strictEqual(result?.result.text, "found it")
      assert.strictEqual(finished.data.usage.model_requests, 3)
      assert.strictEqual(finished.data.usage.tool_calls, 1)
      assert.strictEqual(
        peer.events("message.delta").some(({ text }) => text.includes("found it") && !text.includes("task_id")),
        false
      )
    }))

  it.effect("SES-6 WIR-20 the texts of a task stand in history under its ids, its tools under its activity", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
          tasks: { one: [{ text: "looking", tool_calls: [call("look")] }, { text: "seen" }] }
        }
      })
      const session_id = yield* TestServer.session(peer, undefined, ["tool.cards"])
      yield* turn(peer, session_id)
      const task_id = taskIdOf(shown(peer)[0])
      const entries = yield* Rig.history(peer, session_id)
      const own = entries.filter((entry) => entry.task_id === task_id)
      const outer = entries.find(({ name }) => name === "task")?.tool_card
      assert.deepStrictEqual(own.map(({ kind, name, text }) => [kind, text ?? name]), [
        ["user", "Do one."],
        ["assistant", "looking"],
        ["tool", "look"],
        ["assistant", "seen"]
      ])
      assert.deepStrictEqual([...new Set(own.map(({ subagent_id }) => subagent_id))], [outer?.card_id])
      assert.strictEqual(own[2]?.tool_card?.parent_id, outer?.card_id)
      assert.strictEqual(outer?.kind, "task")
    }))

  const refusals: ReadonlyArray<readonly [string, unknown]> = [
    ["no description", { prompt: "p", profile: "general" }],
    ["a blank prompt", { description: "one", prompt: " ", profile: "general" }],
    ["another profile", { description: "one", prompt: "p", profile: "admin" }],
    ["an excess field", { description: "one", prompt: "p", profile: "general", depth: 0 }],
    ["names that are no strings", { description: "one", prompt: "p", profile: "general", tools: [1] }],
    ["resume null", { description: "one", prompt: "p", profile: "general", resume: null }]
  ]
  it.effect.each(refusals)(
    "BLT-2 WIR-24 arguments with %s are refused and nothing is started",
    ([, args]) =>
      Effect.gen(function*() {
        const { peer } = yield* Rig.start({
          script: {
            root: [{ tool_calls: [call("task", args)] }, { text: "{{results}}" }],
            tasks: { one: [{ text: "x" }] }
          }
        })
        const finished = yield* turn(peer, yield* TestServer.session(peer))
        assert.strictEqual(codeOf(shown(peer)[0]), "invalid_arguments")
        assert.strictEqual(finished.data.usage.model_requests, 2)
      })
  )

  it.effect("BLT-2 tasks of one message run side by side, and each is told its own answer", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("one"), task("two")] }, { text: "{{results}}" }],
          tasks: {
            one: [{ tool_calls: [call("client__a")] }, { text: "one" }],
            two: [{ tool_calls: [call("client__a")] }, { text: "two" }]
          }
        }
      })
      const session_id = yield* TestServer.session(peer, [a])
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const first = yield* peer.event("client.tool.call")
      const second = yield* peer.event("client.tool.call")
      assert.notStrictEqual(first.data.task_id, second.data.task_id)
      yield* peer.ok("client.tool.result", peer.answer(second))
      yield* peer.ok("client.tool.result", peer.answer(first))
      yield* peer.event("run.finished")
      assert.deepStrictEqual(shown(peer).map(({ result }) => result.text), ["one", "two"])
    }))

  it.effect("BLT-2 WIR-22 at depth 3 nobody is offered task, and calling it says so", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("d1")] }, { text: "{{results}}" }],
          tasks: {
            d1: [{ tool_calls: [task("d2")] }, { text: "{{results}}" }],
            d2: [{ tool_calls: [task("d3")] }, { text: "{{results}}" }],
            d3: [{ text: "{{tools}}", tool_calls: [task("d4")] }, { text: "{{results}}" }],
            d4: [{ text: "never" }]
          }
        }
      })
      const session_id = yield* TestServer.session(peer)
      const finished = yield* turn(peer, session_id)
      const d3 = inside(inside(inside(shown(peer)[0])[0])[0])
      assert.strictEqual(codeOf(d3[0]), "task_unavailable")
      assert.strictEqual(finished.data.usage.model_requests, 8)
      const entries = yield* Rig.history(peer, session_id)
      const offers = entries.filter(({ kind, text = "" }) => kind === "assistant" && text.startsWith("[\"look\""))
      assert.strictEqual(offers.length, 1)
      assert.notInclude(JSON.parse(offers[0]?.text ?? ""), "task")
    }))

  it.effect("DEL-1 TRN-7 WIR-21 a failing model is a failed call; the message is protected", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
          tasks: { one: [{ error: { message: "bad key password=hunter2" } }] }
        }
      })
      const finished = yield* turn(peer, yield* TestServer.session(peer))
      assert.strictEqual(finished.data.status, "completed")
      const [result] = shown(peer)
      assert.strictEqual(result?.outcome, "failure")
      assert.include(result?.result.text, "bad key password=[redacted]")
      assert.match(taskIdOf(result), /^[0-9a-f-]{36}$/)
    }))

  it.effect("TRN-6 the bound of model requests holds over all agents, and ends the run, not only the task", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        turnLimit: 3,
        script: {
          root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
          tasks: { one: [{ tool_calls: [call("look")], times: 10 }] }
        }
      })
      const finished = yield* turn(peer, yield* TestServer.session(peer))
      assert.strictEqual(finished.data.error?.code, "turn_limit")
      assert.strictEqual(finished.data.usage.model_requests, 3)
    }))

  const max = Limits.defaults.clientTools.result_bytes
  it.effect.each([[max - 512, false], [max - 511, true]] as const)(
    "PRO-5 WIR-21 of an answer of %i bytes the beginning is told where it is too long",
    ([bytes, cut]) =>
      Effect.gen(function*() {
        const { peer } = yield* Rig.start({
          script: {
            root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
            tasks: { one: [{ text: Rig.long(bytes) }] }
          }
        })
        yield* turn(peer, yield* TestServer.session(peer))
        const text = peer.events("message.reconcile").map((part) => part.text).join("")
        assert.strictEqual(text.includes("\"outcome\":\"success\""), true)
        assert.strictEqual(text.includes("more bytes of the answer left out"), cut)
      })
  )

  it.effect("PRO-3 PRO-5 an answer is protected before it is cut, and cut between characters", () =>
    Effect.gen(function*() {
      const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
      const results = yield* Effect.forEach(
        [`${Rig.long(max - 530)} ${secret} ${Rig.long(99)}`, "é".repeat(max)],
        (text) =>
          Effect.gen(function*() {
            const { peer } = yield* Rig.start({
              script: { root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }], tasks: { one: [{ text }] } }
            })
            yield* turn(peer, yield* TestServer.session(peer))
            return peer.events("message.reconcile").map((part) => part.text).join("")
          })
      )
      for (const text of results) assert.include(text, "more bytes of the answer left out")
      assert.notInclude(results[0], "ghp_")
      assert.notInclude(results[1], "\ufffd")
    }))

  it.effect("CAN-2 a task can be cancelled alone: its call gets a notice, its caller goes on", () =>
    Effect.gen(function*() {
      const { peer, tasks } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("one"), call("client__a")] }, { text: "{{results}}" }],
          tasks: { one: [{ tool_calls: [call("client__a")] }] }
        }
      })
      const session_id = yield* TestServer.session(peer, [a])
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const calls = [yield* peer.event("client.tool.call"), yield* peer.event("client.tool.call")]
      const inner = calls.find(({ data }) => data.task_id !== null)!
      assert.strictEqual(yield* tasks.cancel("unknown"), false)
      assert.strictEqual(yield* tasks.cancel(inner.data.task_id!), true)
      const cancel = yield* peer.event("client.tool.cancel")
      assert.deepStrictEqual([cancel.data.call_id, cancel.data.reason], [inner.data.call_id, "cancelled"])
      yield* peer.ok("client.tool.result", peer.answer(calls.find((one) => one !== inner)!))
      const finished = yield* peer.event("run.finished")
      assert.strictEqual(finished.data.status, "completed")
      assert.deepStrictEqual(shown(peer).map(({ outcome }) => outcome), ["failure", "success"])
      assert.include(shown(peer)[0]?.result.text, "cancelled")
    }))

  it.effect("CAL-6 faults I3 a client that answers only the root: the task's call times out and the run goes on", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: {
          root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
          tasks: { one: [{ tool_calls: [call("client__a")] }, { text: "{{results}}" }] }
        }
      })
      const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a", { timeout_ms: 1000 })])
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      yield* peer.event("client.tool.call")
      yield* TestClock.adjust("1 seconds")
      yield* peer.event("run.finished")
      assert.strictEqual(codeOf(inside(shown(peer)[0])[0]), "client_tool_timeout")
      assert.strictEqual((yield* peer.event("client.tool.cancel")).data.reason, "timeout")
    }))
})

describe("section 12: resumed tasks", () => {
  /** Two servers over one store: the second resumes what the first delegated. */
  const twice = Effect.fnUntraced(function*(
    first: TestServer.TestServerOptions["script"],
    second: (taskId: string) => TestServer.TestServerOptions,
    tools: readonly [ReadonlyArray<object>, ReadonlyArray<object>] = [[a], [a]]
  ) {
    const store = Layer.succeedContext(yield* Layer.build(SessionStore.layerMemory))
    const before = yield* Rig.start({ script: first!, store })
    const session_id = yield* TestServer.session(before.peer, tools[0])
    yield* turn(before.peer, session_id)
    const taskId = taskIdOf(shown(before.peer)[0])
    yield* before.peer.ok("shutdown")
    yield* before.closed
    const after = yield* Rig.start({ ...second(taskId), store })
    yield* after.peer.ok("initialize", { required_capabilities: ["client.tools"], client_tools: tools[1] })
    yield* after.peer.ok("session.open", { session_id })
    return { ...after, session_id, taskId }
  })

  const once = {
    root: [{ tool_calls: [task("job")] }, { text: "{{results}}" }],
    tasks: { job: [{ text: "first answer" }] }
  }

  it.effect("BLT-2 DEL-3 a resumed task goes on with its conversation under its id", () =>
    Effect.gen(function*() {
      const { peer, session_id, taskId } = yield* twice(once, (resume) => ({
        script: {
          root: [{ tool_calls: [task("job", { resume })] }, { text: "{{results}}" }],
          tasks: { job: [{ text: "{{roles}}" }] }
        }
      }))
      yield* turn(peer, session_id)
      assert.strictEqual(taskIdOf(shown(peer)[0]), taskId)
      assert.deepStrictEqual(
        (JSON.parse(shown(peer)[0]?.result.text ?? "") as Array<string>).filter((role) => role !== "system"),
        ["user", "assistant", "user"]
      )
    }))

  it.effect("DEL-2 DEL-3 the saved scope is the first one: a narrower resumption takes nothing for good", () =>
    Effect.gen(function*() {
      const { peer, session_id } = yield* twice(once, (resume) => ({
        script: {
          root: [
            { tool_calls: [task("none", { resume, tools: [] })] },
            { tool_calls: [task("all", { resume })] },
            { text: "{{results}}" }
          ],
          tasks: { none: [{ text: "{{tools}}" }], all: [{ text: "{{tools}}" }] }
        }
      }))
      yield* turn(peer, session_id)
      const entries = yield* Rig.history(peer, session_id)
      const offers = entries.filter(({ kind, task_id }) => kind === "assistant" && task_id !== null).slice(1)
      assert.deepStrictEqual(offers.map(({ text }) => text?.includes("client__a")), [false, true])
    }))

  const strangers: ReadonlyArray<readonly [string, (taskId: string) => string]> = [
    ["an id that nobody has", () => "00000000-0000-4000-8000-000000000000"],
    ["a name that objects have", () => "__proto__"],
    ["a task's id in other letters", (taskId) => taskId.toUpperCase()]
  ]
  it.effect.each(strangers)(
    "BLT-2 resuming %s is refused and nothing is recorded under it",
    ([, idOf]) =>
      Effect.gen(function*() {
        const { peer, session_id } = yield* twice(once, (taskId) => ({
          script: {
            root: [{ tool_calls: [task("job", { resume: idOf(taskId) })] }, { text: "{{results}}" }],
            tasks: { job: [{ text: "never" }] }
          }
        }))
        yield* turn(peer, session_id)
        assert.strictEqual(codeOf(shown(peer)[0]), "unknown_task")
        assert.strictEqual(peer.lines.some((line) => line.includes("never")), false)
      })
  )

  it.effect("BLT-2 a task of another session is unknown", () =>
    Effect.gen(function*() {
      const { peer } = yield* twice(once, (resume) => ({
        script: {
          root: [{ tool_calls: [task("job", { resume })] }, { text: "{{results}}" }],
          tasks: { job: [{ text: "never" }] }
        }
      }))
      const { session_id } = yield* peer.ok("session.create")
      yield* turn(peer, session_id as string)
      assert.strictEqual(codeOf(shown(peer)[0]), "unknown_task")
    }))

  it.effect("DEL-1 WIR-24 an agent resumes the tasks that it delegated itself, not its siblings' or its own", () =>
    Effect.gen(function*() {
      const { peer, session_id } = yield* twice(once, (resume) => ({
        script: {
          root: [{ tool_calls: [task("spy", {})] }, { tool_calls: [task("job", { resume })] }, { text: "{{results}}" }],
          tasks: {
            spy: [{ tool_calls: [task("job", { resume })] }, { text: "{{results}}" }],
            job: [{ tool_calls: [task("job", { resume })] }, { text: "{{results}}" }]
          }
        }
      }))
      yield* turn(peer, session_id)
      const entries = yield* Rig.history(peer, session_id)
      const spied = entries.find(({ kind, task_id, text = "" }) =>
        kind === "assistant" && task_id !== null && text.startsWith("[{")
      )
      assert.strictEqual(codeOf(JSON.parse(spied?.text ?? "[]")[0]), "unknown_task")
      assert.strictEqual(codeOf(inside(shown(peer)[0])[0]), "task_running")
    }))

  it.effect("BLT-2 WIR-24 a task that runs is not run twice at the same time", () =>
    Effect.gen(function*() {
      const { peer, session_id } = yield* twice(once, (resume) => ({
        script: {
          root: [{ tool_calls: [task("job", { resume }), task("job", { resume })] }, { text: "{{results}}" }],
          tasks: { job: [{ tool_calls: [call("client__a")] }, { text: "second answer" }] }
        }
      }))
      yield* peer.ok("turn.start", { session_id, prompt: "go" })
      yield* peer.ok("client.tool.result", peer.answer(yield* peer.event("client.tool.call")))
      yield* peer.event("run.finished")
      assert.deepStrictEqual(shown(peer).map((one) => codeOf(one) ?? one.result.text), [
        "second answer",
        "task_running"
      ])
    }))

  it.effect("SES-9 storage that refuses a task's record fails the run", () =>
    Effect.gen(function*() {
      const services = yield* Layer.build(SessionStore.layerMemory)
      const inner = Context.get(services, SessionStore)
      const refusing = SessionStore.of({
        ...inner,
        create: Effect.map(inner.create, (session) => ({
          ...session,
          taskHistory: (taskId, subagentId) =>
            Effect.map(session.taskHistory(taskId, subagentId), (history) => ({
              ...history,
              append: () => new StorageFailed({ message: "disk full" })
            }))
        }))
      })
      const { peer } = yield* Rig.start({ script: once, store: Layer.succeed(SessionStore, refusing) })
      const finished = yield* turn(peer, yield* TestServer.session(peer))
      assert.strictEqual(finished.data.error?.code, "storage_failed")
    }))
})
