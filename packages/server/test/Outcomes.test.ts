/**
 * How each end of a client call reads to the model, as one table: the outcome, the code, and whether the text says
 * plainly that the tool ran, did not run, or may have run.
 */
import { assert, describe, it } from "@effect/vitest"
import { HookRejected, type ToolHooksService } from "@errand/runtime"
import { SessionStore } from "@errand/server"
import { type Peer, TestServer } from "@errand/testing"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { assistant, root, user } from "./RecordStory.ts"

/** What a text may say of the call; exactly one of them. */
const says = {
  "it answered": /^The client's tool answered/,
  "it ran": /executed, but/,
  "it did not run": /not executed|not sent|nothing was executed/i,
  "it may have run": /may have executed/
}

interface Shown {
  readonly outcome: string
  readonly result: { readonly text?: string; readonly error?: { readonly code: string; readonly message: string } }
}

interface Row {
  readonly ids: string
  readonly title: string
  /** The calls of the step; what the last of them comes to is looked at. One of `client__a` when absent. */
  readonly calls?: ReadonlyArray<object>
  readonly options?: TestServer.TestServerOptions
  /** What the client does once the run has begun; it answers nothing by itself. */
  readonly act?: (peer: Peer, run: { readonly session_id: string; readonly run_id: string }) => Effect.Effect<unknown>
  readonly expected: readonly [outcome: string, code: string | undefined, keyof typeof says | undefined]
}

const call = (name = "client__a", args: unknown = {}) => ({ name, arguments: args })
const answer = (fields: object) => (peer: Peer) =>
  Effect.flatMap(peer.event("client.tool.call"), (one) => peer.ok("client.tool.result", peer.answer(one, fields)))
const hooks = (told: Partial<ToolHooksService>): TestServer.TestServerOptions => ({
  hooks: {
    before: () => Effect.succeed({ allow: true }),
    after: () => Effect.as(Effect.void, undefined),
    ...told
  }
})
const ask: TestServer.TestServerOptions = { permissions: [{ tool: "client__a", allow: "ask" }] }
const decide = (allow: boolean): NonNullable<Row["act"]> => (peer, run) =>
  Effect.flatMap(
    peer.event("approval.requested"),
    ({ data }) => peer.ok("approval.answer", { ...run, approval_id: data.approval_id, allow })
  )

const rows: ReadonlyArray<Row> = [
  {
    ids: "RES-2 CAL-8",
    title: "success",
    act: answer({ text: "fine" }),
    expected: ["success", undefined, undefined]
  },
  {
    ids: "RES-2 PRO-1 WIR-15",
    title: "an error that the client told",
    act: answer({ status: "error", text: "no such record" }),
    expected: ["failure", "client_tool_error", "it answered"]
  },
  {
    ids: "CAL-5 CAL-8",
    title: "busy",
    calls: Array.from({ length: 17 }, () => call()),
    act: (peer) => Effect.replicateEffect(answer({ text: "fine" })(peer), 16),
    expected: ["failure", "client_tool_busy", "it did not run"]
  },
  {
    ids: "CAL-4 faults E10",
    title: "arguments that are no object",
    calls: [call("client__a", [1])],
    expected: ["failure", "client_tool_invalid_arguments", "it did not run"]
  },
  {
    ids: "CAL-4 faults E10",
    title: "arguments that are no JSON",
    calls: [{ name: "client__a", arguments_text: "{broken" }],
    expected: ["failure", "client_tool_invalid_arguments", "it did not run"]
  },
  {
    ids: "CAL-4 CLT-6",
    title: "arguments beyond the limit",
    calls: [call("client__a", { a: "x".repeat(16_384) })],
    expected: ["failure", "client_tool_payload_limit", "it did not run"]
  },
  {
    ids: "PRM-4",
    title: "a client tool that is not registered",
    calls: [call("client__none")],
    expected: ["failure", "client_tool_unavailable", "it did not run"]
  },
  {
    ids: "PRM-4",
    title: "a name that nobody knows",
    calls: [call("constructor")],
    expected: ["failure", "unknown_tool", "it did not run"]
  },
  {
    ids: "PRM-4 HKS-1 faults C15",
    title: "denied by a rule",
    options: { permissions: [{ tool: "client__*", allow: false }] },
    expected: ["denied", "client_tool_denied", "it did not run"]
  },
  {
    ids: "TRN-8 faults C15",
    title: "denied by a person",
    options: ask,
    act: decide(false),
    expected: ["denied", "client_tool_denied", "it did not run"]
  },
  {
    ids: "TRN-8 faults C15",
    title: "a question that nobody answered",
    options: ask,
    act: (peer) => Effect.andThen(peer.event("approval.requested"), TestClock.adjust("60 seconds")),
    expected: ["denied", "client_tool_denied", "it did not run"]
  },
  {
    ids: "HKS-2",
    title: "refused by a hook",
    options: hooks({ before: () => Effect.succeed({ allow: false, reason: "not today" }) }),
    expected: ["denied", "client_tool_denied", "it did not run"]
  },
  {
    ids: "HKS-2",
    title: "a hook that fails before the call",
    options: hooks({ before: () => Effect.die("broken") }),
    expected: ["denied", "client_tool_denied", "it did not run"]
  },
  {
    ids: "HKS-2",
    title: "a result that a hook rejects",
    options: hooks({ after: () => Effect.fail(new HookRejected({ reason: "no" })) }),
    act: answer({ text: "fine" }),
    expected: ["failure", "client_tool_result_rejected", "it ran"]
  },
  {
    ids: "PRO-5 WIR-15",
    title: "a result that protection rejects",
    act: answer({ text: "fine", structured: { "a": 1, "a\u001b[0m": 2 } }),
    expected: ["failure", "client_tool_result_rejected", "it ran"]
  },
  {
    ids: "CAL-6 CAL-8 faults C1, C15",
    title: "timed out",
    act: (peer) => Effect.andThen(peer.event("client.tool.call"), TestClock.adjust("30 seconds")),
    expected: ["failure", "client_tool_timeout", "it may have run"]
  },
  {
    ids: "CAN-2 CAL-8",
    title: "cancelled",
    act: (peer, run) => Effect.andThen(peer.event("client.tool.call"), peer.ok("turn.cancel", run)),
    expected: ["cancelled", "client_tool_cancelled", "it may have run"]
  },
  {
    ids: "CAN-2 TRN-8",
    title: "cancelled while a person was asked",
    options: ask,
    act: (peer, run) => Effect.andThen(peer.event("approval.requested"), peer.ok("turn.cancel", run)),
    expected: ["cancelled", "client_tool_cancelled", "it did not run"]
  },
  {
    ids: "TRN-9 CAN-2",
    title: "a run that took too long",
    options: { runTimeoutMs: 5000 },
    act: (peer) => Effect.andThen(peer.event("client.tool.call"), TestClock.adjust("5 seconds")),
    expected: ["cancelled", "client_tool_cancelled", "it may have run"]
  }
]

/** The last result, and that its text says one of the things and no other. */
const check = (results: ReadonlyArray<Shown>, [outcome, code, word]: Row["expected"]) => {
  const last = results.at(-1)!
  assert.deepStrictEqual([last.outcome, last.result.error?.code], [outcome, code])
  const message = last.result.error?.message ?? ""
  const said = Object.entries(says).filter(([, text]) => text.test(message)).map(([word]) => word)
  assert.deepStrictEqual(said, word === undefined ? [] : [word], message)
}

const resultsOf = (peer: Peer): ReadonlyArray<Shown> => JSON.parse(peer.events("message.reconcile").at(-1)!.text)

describe("section 9: how a call ends for the model", () => {
  it.effect.each(rows)("$ids $title", ({ act, calls = [call()], expected, options }) =>
    Effect.gen(function*() {
      const { peer } = yield* TestServer.start({
        script: [{ tool_calls: calls }, { text: "{{results}}" }],
        ...options
      })
      const session_id = yield* TestServer.session(peer, [TestServer.tool("client__a")])
      const { run_id } = yield* peer.ok("turn.start", { session_id, prompt: "go" })
      if (act !== undefined) yield* act(peer, { session_id, run_id: run_id as string })
      const { data } = yield* peer.event("run.finished")
      if (data.status !== "completed") {
        // what the model reads of it, it reads in the next turn
        yield* peer.ok("turn.start", { session_id, prompt: "again" })
        yield* peer.event("run.finished")
      }
      check(resultsOf(peer), expected)
    }))

  it.effect("SES-10 lost in a crash", () =>
    Effect.gen(function*() {
      const store = yield* Effect.provide(SessionStore, SessionStore.layerMemory)
      const session = yield* store.create
      yield* session.history.append([user(root("r"), "go"), assistant(root("r"), "m", "", ["a"])])
      yield* session.close
      const { peer } = yield* TestServer.start({
        store: Layer.succeed(SessionStore, store),
        script: [{ text: "{{results}}" }]
      })
      yield* peer.ok("initialize", { required_capabilities: [] })
      yield* peer.ok("session.open", { session_id: session.sessionId })
      yield* peer.ok("turn.start", { session_id: session.sessionId, prompt: "again" })
      yield* peer.event("run.finished")
      check(resultsOf(peer), ["unknown", "interrupted", "it may have run"])
    }))
})
