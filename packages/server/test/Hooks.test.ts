import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import { type HookedCall, type HookedResult, HookRejected, type ToolHooksService } from "@errand/runtime"
import { type Peer, TestServer } from "@errand/testing"
import { Deferred, Effect } from "effect"
import * as Rig from "./AgentRig.ts"

const { call, codeOf, shown, task, turn } = Rig
const a = [TestServer.tool("client__a")]

/** Hooks that write down what they saw, and else do what they are told. */
const hooks = (told: Partial<ToolHooksService>) => {
  const before: Array<HookedCall> = []
  const after: Array<HookedResult> = []
  const service: ToolHooksService = {
    before: (call) => {
      before.push(call)
      return told.before?.(call) ?? Effect.succeed({ allow: true })
    },
    after: (call, result) => {
      after.push(result)
      return told.after?.(call, result) ?? Effect.as(Effect.void, undefined)
    }
  }
  return { before, after, service }
}

/** Runs a turn in which the client answers its one call. */
const answered = Effect.fnUntraced(function*(peer: Peer, session_id: string, fields: object = {}) {
  yield* peer.ok("turn.start", { session_id, prompt: "go" })
  const published = yield* peer.event("client.tool.call")
  yield* peer.ok("client.tool.result", peer.answer(published, fields))
  yield* peer.event("run.finished")
  return published
})

const script = [{ tool_calls: [call("client__a", { n: 1 })] }, { text: "{{results}}" }]

describe("program 4: hooks in process", () => {
  it.effect("PRM-1 WIR-28 a hook sees the call before it is bounded and may make it fit", () =>
    Effect.gen(function*() {
      const seen = hooks({
        before: () => Effect.succeed({ allow: true, arguments: "{\"n\":9007199254740993}" as JsonText })
      })
      const { peer } = yield* Rig.start({
        hooks: seen.service,
        script: [{ tool_calls: [call("client__a", { text: Rig.long(20_000) })] }, { text: "{{results}}" }]
      })
      yield* answered(peer, yield* TestServer.session(peer, a))
      assert.strictEqual(seen.before[0]?.tool, "client__a")
      assert.isAbove(seen.before[0]?.arguments.length ?? 0, 20_000)
      assert.isTrue(peer.lines.some((line) => line.includes("\"arguments\":{\"n\":9007199254740993}")))
    }))

  const bad: ReadonlyArray<readonly [string, string, string]> = [
    ["too many", JSON.stringify({ text: Rig.long(16_384) }), "client_tool_payload_limit"],
    ["a list", "[]", "client_tool_invalid_arguments"],
    ["no JSON", "{", "client_tool_invalid_arguments"]
  ]
  it.effect.each(bad)(
    "CAL-4 arguments that a hook made %s are checked like any others",
    ([, args, code]) =>
      Effect.gen(function*() {
        const { peer } = yield* Rig.start({
          script,
          hooks: hooks({ before: () => Effect.succeed({ allow: true, arguments: args as JsonText }) }).service
        })
        yield* turn(peer, yield* TestServer.session(peer, a))
        assert.strictEqual(codeOf(shown(peer)[0]), code)
        assert.deepStrictEqual(peer.events("client.tool.call"), [])
      })
  )

  it.effect("HKS-2 TRN-8 the person is asked about the arguments that a hook left", () =>
    Effect.gen(function*() {
      const { peer } = yield* Rig.start({
        script: [{ tool_calls: [call("act", { n: 1 })] }, { text: "{{results}}" }],
        hooks: hooks({
          before: () => Effect.succeed({ allow: true, arguments: "{\"changed\":2}" as JsonText })
        }).service
      })
      const session_id = yield* TestServer.session(peer)
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      const asked = yield* peer.event("approval.requested")
      assert.include(asked.data.summary, "{\"changed\":2}")
      yield* peer.ok("approval.answer", { session_id, run_id, approval_id: asked.data.approval_id, allow: false })
      yield* peer.event("run.finished")
    }))

  const denying: ReadonlyArray<readonly [string, ToolHooksService["before"], RegExp]> = [
    [
      "denies",
      () => Effect.succeed({ allow: false, reason: "password=hunter2" }),
      /password=\[redacted\].*not executed/
    ],
    ["fails", () => Effect.die("broken"), /it failed.*not executed/],
    ["says neither", () => Effect.succeed({ allow: "yes", reason: "x" } as never), /it failed.*not executed/]
  ]
  it.effect.each(denying)(
    "HKS-2 a hook that %s before: nothing is sent or asked",
    ([, before, says]) =>
      Effect.gen(function*() {
        const { peer, ran } = yield* Rig.start({
          hooks: hooks({ before }).service,
          script: [{ tool_calls: [call("client__a"), call("act")] }, { text: "{{results}}" }]
        })
        yield* turn(peer, yield* TestServer.session(peer, a))
        assert.deepStrictEqual(shown(peer).map(({ outcome }) => outcome), ["denied", "denied"])
        assert.deepStrictEqual(shown(peer).map(codeOf), ["client_tool_denied", "tool_denied"])
        assert.match(shown(peer)[0]?.result.error?.message ?? "", says)
        assert.deepStrictEqual([peer.events("client.tool.call"), peer.events("approval.requested"), ran], [[], [], []])
      })
  )

  it.effect("PRO-1 PRM-1 a hook after sees the protected result; what it puts in its place is protected again", () =>
    Effect.gen(function*() {
      const seen = hooks({ after: () => Effect.succeed({ status: "error", text: "token=abcdefgh12345678" }) })
      const { peer } = yield* Rig.start({ script, hooks: seen.service })
      yield* answered(peer, yield* TestServer.session(peer, a), {
        text: "password=hunter2",
        structured: { token: "x" }
      })
      assert.deepStrictEqual(seen.after, [
        { status: "success", text: "password=[redacted]", structured: "{\"token\":\"[redacted]\"}" as JsonText }
      ])
      assert.strictEqual(shown(peer)[0]?.outcome, "failure")
      assert.strictEqual(shown(peer)[0]?.result.text, "token=[redacted]")
    }))

  const rejecting: ReadonlyArray<readonly [string, ToolHooksService["after"], RegExp]> = [
    ["rejects", () => new HookRejected({ reason: "password=hunter2" }), /password=\[redacted\]/],
    ["fails", () => Effect.die("broken"), /it failed/],
    ["gives no result", () => Effect.succeed({ status: "fine", text: "x" } as never), /it failed/],
    ["makes it too long", () => Effect.succeed({ status: "success", text: Rig.long(32_769) }), /32768/]
  ]
  it.effect.each(rejecting)(
    "HKS-2 PRO-5 a hook that %s after: the model reads that the tool ran and no result",
    ([, after, says]) =>
      Effect.gen(function*() {
        const { peer } = yield* Rig.start({ script, hooks: hooks({ after }).service })
        yield* answered(peer, yield* TestServer.session(peer, a), { text: "SECRET-RESULT" })
        assert.strictEqual(codeOf(shown(peer)[0]), "client_tool_result_rejected")
        assert.match(shown(peer)[0]?.result.error?.message ?? "", /executed/)
        assert.match(shown(peer)[0]?.result.error?.message ?? "", says)
        assert.notInclude(Rig.lastText(peer), "SECRET-RESULT")
      })
  )

  it.effect("CAL-7 RES-3 WIR-30 an accepted answer is recorded when the run is cancelled while a hook looks at it", () =>
    Effect.gen(function*() {
      const looking = yield* Deferred.make<void>()
      const { peer } = yield* Rig.start({
        script: [...script, { text: "unused" }],
        hooks: hooks({ after: () => Effect.andThen(Deferred.succeed(looking, undefined), Effect.never) }).service
      })
      const session_id = yield* TestServer.session(peer, a)
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      yield* peer.ok(
        "client.tool.result",
        peer.answer(yield* peer.event("client.tool.call"), { text: "password=hunter2 done" })
      )
      yield* Deferred.await(looking)
      yield* peer.ok("turn.cancel", { session_id, run_id })
      const finished = yield* peer.event("run.finished")
      assert.strictEqual(finished.data.status, "cancelled")
      assert.deepStrictEqual(peer.events("client.tool.cancel"), [])
      yield* turn(peer, session_id)
      assert.deepStrictEqual(shown(peer).map(({ outcome, result }) => [outcome, result.text]), [
        ["success", "password=[redacted] done"]
      ])
    }))

  it.effect("HKS-2 a call in a task and a call inside another pass the hooks too, with the task's id", () =>
    Effect.gen(function*() {
      const seen = hooks({})
      const { peer } = yield* Rig.start({
        hooks: seen.service,
        script: {
          root: [{ tool_calls: [task("one")] }, { text: "{{results}}" }],
          tasks: {
            one: [{ tool_calls: [call("run_code", { calls: [{ name: "look", arguments: {} }] })] }, { text: "x" }]
          }
        }
      })
      yield* turn(peer, yield* TestServer.session(peer))
      assert.deepStrictEqual(seen.before.map(({ taskId, tool }) => [tool, taskId !== null]), [
        ["task", false],
        ["run_code", true],
        ["look", true]
      ])
    }))
})
