import { assert, describe, it } from "@effect/vitest"
import type { State } from "@errand/runtime/suspend"
import { ClientTool, ClientToolset, Preflight, Results, type ResumeError, Suspension } from "@errand/runtime/suspend"
import * as Result from "effect/Result"
import {
  builtin,
  calls,
  contents,
  failed,
  history,
  input,
  keysOf,
  now,
  ok,
  raw,
  requestOf,
  requests,
  results,
  stateOf,
  surface,
  surfaceOf,
  toolset
} from "./Fixture.ts"

type Code = ResumeError.ResumeError["code"]

const sealed = (overrides: Partial<Suspension.Contents>) => Suspension.seal(contents(overrides), null)
const withRequests = (more: Partial<Suspension.Requests>) => sealed({ requests: { ...requests, ...more } })
const withResults = (more: Record<string, unknown>): Partial<Preflight.Input> => ({ results: { ...results, ...more } })
const withCalls = (more: Record<string, unknown>) => withResults({ calls: { ...results.calls, ...more } })
const withDecision = (c2: unknown) => withResults({ approvals: { c2 } })
const withMetadata = (metadata: unknown) => withResults({ metadata })
const withState = (change: (call: State.CallState) => Partial<State.CallState>) =>
  sealed({ state: stateOf({ calls: calls.map((call) => ({ ...call, ...change(call) })) }) })
const only = (id: string, change: Partial<State.CallState>) => withState((call) => call.call_id === id ? change : {})

/** A suspension of `count` external calls and nothing else. */
const many = (count: number): Partial<Preflight.Input> => {
  const ids = Array.from({ length: count }, (_, index) => `m${index}`)
  const call = (call_id: string): State.CallState => ({ ...calls[3]!, call_id, arguments: "{}" })
  const toolCalls = ids.map((id) => ({ id, name: "free_form", arguments: "{}" }))
  return {
    suspension: sealed({
      state: stateOf({ messages: [{ role: "assistant", text: "", toolCalls }], calls: ids.map(call) }),
      requests: { calls: ids.map((id) => requestOf(id, "free_form", "{}")), approvals: [], metadata: {} }
    }),
    results: { calls: Object.fromEntries(ids.map((id) => [id, Results.failure("no")])) }
  }
}

const cyclic: Array<unknown> = []
cyclic.push(cyclic)
const answerOf = (bytes: number) => ({ status: "success", value: "x".repeat(bytes - 2) })
const metadataOf = (bytes: number) => ({ k: "x".repeat(bytes - 8) })

const gone = surfaceOf({ clientToolsets: [] })
const withoutApproved = surfaceOf({ others: [builtin("read_file", "allow")] })
const moved = surfaceOf({
  clientToolsets: [ok(ClientToolset.make("other", toolset.tools))]
})
const otherKind = surfaceOf({
  clientToolsets: [ok(ClientToolset.make("crm", [raw]))],
  others: [builtin("write_file"), builtin("read_file", "allow"), builtin("lookup_record", "allow")]
})

/** One row per side of each check: what is passed, and the code with which it is refused, or null. */
const table: ReadonlyArray<readonly [row: string, what: string, input: Partial<Preflight.Input>, code: Code | null]> = [
  ["1", "a suspension", {}, null],
  ["1", "another value", { suspension: { format: "x" } }, "suspension_invalid"],
  ["1", "a text that is no JSON", { suspension: "{" }, "suspension_invalid"],
  ["1", "the text of a suspension", { suspension: Suspension.stringify(sealed({})) }, null],
  ["1", "another version", { suspension: { ...sealed({}), version: 2 } }, "suspension_version_unsupported"],
  ["2", "a changed value", { suspension: { ...sealed({}), run_id: "other" } }, "suspension_integrity_failed"],
  ["2", "an unkeyed one where keys are required", { keys: keysOf("k") }, "suspension_integrity_failed"],
  ["2", "a keyed one", {
    keys: keysOf("k"),
    suspension: Suspension.seal(contents(), keysOf("k")),
    trustUnsigned: false
  }, null],
  ["2 HRN-D14", "approvals of an unsigned one", { trustUnsigned: false }, "suspension_integrity_failed"],
  [
    "2 HRN-D14",
    "denials of an unsigned one",
    { ...withDecision({ allow: false }), trustUnsigned: undefined },
    "suspension_integrity_failed"
  ],
  ["2", "calls alone of an unsigned one", { ...many(1), trustUnsigned: false }, null],
  ["3 HRN-D17", "the last millisecond", { now: now + 60_000 }, null],
  ["3", "past its end", { now: now + 60_001 }, "suspension_expired"],
  ["3", "no end", { suspension: sealed({ expiresAt: null }), now: now * 2 }, null],
  [
    "4",
    "a blank id",
    { suspension: withRequests({ calls: [requestOf(" ", "free_form", "{}")] }) },
    "deferred_request_duplicate"
  ],
  [
    "4",
    "an id twice",
    { suspension: withRequests({ approvals: [requests.approvals[0]!, requests.approvals[0]!] }) },
    "deferred_request_duplicate"
  ],
  [
    "5",
    "an id in both",
    { suspension: withRequests({ approvals: [requests.calls[0]!] }) },
    "deferred_request_category_overlap"
  ],
  ["6", "none", { suspension: withRequests({ calls: [], approvals: [], metadata: {} }) }, "deferred_requests_empty"],
  ["6", "128", many(128), null],
  ["6", "129", many(129), "deferred_requests_too_large"],
  ["7", "a missing answer", withResults({ calls: { c1: results.calls.c1 } }), "deferred_results_incomplete"],
  ["7", "an unknown id", withCalls({ c9: results.calls.c1 }), "deferred_results_incomplete"],
  ["7", "the wrong category", withCalls({ c2: results.calls.c1 }), "deferred_results_incomplete"],
  ["7", "no results", { results: null }, "deferred_results_invalid"],
  ["7", "an unknown member of the results", withResults({ call: {} }), "deferred_results_invalid"],
  ["7", "calls of another shape", withResults({ calls: [] }), "deferred_results_invalid"],
  ["8", "a denial", withDecision({ allow: false }), null],
  ["8", "a denial with a message", withDecision({ allow: false, message: "no" }), null],
  ["8", "overriding arguments", withDecision({ allow: true, arguments: { path: "c" } }), null],
  ["8", "true", withDecision(true), "deferred_approval_invalid"],
  ["8", "an answer", withDecision({ status: "success", value: 1 }), "deferred_approval_invalid"],
  ["8", "null", withDecision(null), "deferred_approval_invalid"],
  ["8", "a list", withDecision([]), "deferred_approval_invalid"],
  ["8", "a word for true", withDecision({ allow: "true" }), "deferred_approval_invalid"],
  ["8", "arguments of a denial", withDecision({ allow: false, arguments: {} }), "deferred_approval_invalid"],
  ["8", "a message of an approval", withDecision({ allow: true, message: "yes" }), "deferred_approval_invalid"],
  ["8", "arguments that are no object", withDecision({ allow: true, arguments: [] }), "deferred_approval_invalid"],
  [
    "8",
    "arguments that are no JSON",
    withDecision({ allow: true, arguments: { a: NaN } }),
    "deferred_approval_invalid"
  ],
  ["8", "a broken message", withDecision({ allow: false, message: "\ud800" }), "deferred_approval_invalid"],
  ["9", "null as a value", withCalls({ c3: { status: "success", value: null } }), null],
  ["9", "no value", withCalls({ c3: { status: "success" } }), "deferred_results_invalid"],
  ["9", "undefined", withCalls({ c3: { status: "success", value: undefined } }), "deferred_results_invalid"],
  [
    "9",
    "no finite number",
    withCalls({ c3: { status: "success", value: { a: [Infinity] } } }),
    "deferred_results_invalid"
  ],
  ["9", "a cycle", withCalls({ c3: { status: "success", value: cyclic } }), "deferred_results_invalid"],
  ["9", "a bigint", withCalls({ c3: { status: "success", value: 1n } }), "deferred_results_invalid"],
  ["9", "a bare value", withCalls({ c3: "done" }), "deferred_results_invalid"],
  ["9", "another status", withCalls({ c3: { status: "ok", value: 1 } }), "deferred_results_invalid"],
  ["9", "both", withCalls({ c3: { status: "error", message: "", value: 1 } }), "deferred_results_invalid"],
  ["9", "null", withCalls({ c3: null }), "deferred_results_invalid"],
  [
    "9",
    "a success with words",
    withCalls({ c3: { status: "success", value: 1, message: "" } }),
    "deferred_results_invalid"
  ],
  ["9", "a broken message", withCalls({ c3: { status: "error", message: "\ud800" } }), "deferred_results_invalid"],
  ["9", "an error without a message", withCalls({ c3: { status: "error" } }), "deferred_results_invalid"],
  ["9", "the largest value", withCalls({ c3: answerOf(262_144) }), null],
  ["9", "one byte more", withCalls({ c3: answerOf(262_145) }), "deferred_results_invalid"],
  ["9 HRN-D20", "the largest error", {
    ...withCalls({ c3: { status: "error", message: "é", content: "x".repeat(15) } }),
    answerBytes: 19
  }, null],
  ["9", "a larger error", {
    ...withCalls({ c3: { status: "error", message: "é", content: "x".repeat(16) } }),
    answerBytes: 19
  }, "deferred_results_invalid"],
  [
    "9",
    "a success that does not decode",
    withCalls({ c1: { status: "success", value: { title: 7 } } }),
    "deferred_results_invalid"
  ],
  ["9", "a failure of a typed tool", withCalls({ c1: Results.failure("no") }), null],
  ["10", "metadata for a call and an approval", withMetadata({ c1: { a: 1 }, c2: {} }), null],
  ["10", "metadata for an unknown id", withMetadata({ c0: {} }), "deferred_metadata_invalid"],
  ["10", "metadata that is no JSON", withMetadata({ c1: { a: undefined } }), "deferred_metadata_invalid"],
  ["10", "metadata that is no object", withMetadata({ c1: 1 }), "deferred_metadata_invalid"],
  ["10 HRN-D21", "a list of metadata", withMetadata([]), "deferred_metadata_invalid"],
  [
    "10 HRN-D21",
    "metadata with a reserved key",
    withMetadata({ c1: { a: { Policy: 1 } } }),
    "deferred_metadata_invalid"
  ],
  ["10", "the largest metadata", withMetadata({ c1: metadataOf(65_536) }), null],
  ["10", "one byte more", withMetadata({ c1: metadataOf(65_537) }), "deferred_metadata_invalid"],
  [
    "10",
    "request metadata for an unknown id",
    { suspension: withRequests({ metadata: { c0: "{}" } }) },
    "deferred_metadata_invalid"
  ],
  [
    "10",
    "request metadata that is no JSON",
    { suspension: withRequests({ metadata: { c1: "{" } }) },
    "deferred_metadata_invalid"
  ],
  ["10", "request metadata that is too large", {
    suspension: withRequests({ metadata: { c1: JSON.stringify(metadataOf(65_537)) } })
  }, "deferred_metadata_invalid"],
  ["11", "an id that is in an earlier response only", {
    suspension: sealed({
      state: stateOf({
        messages: [...history, { role: "tool", results: [] }, { role: "assistant", text: "", toolCalls: [] }]
      })
    })
  }, "deferred_request_missing"],
  [
    "11",
    "a history whose end is no message",
    { suspension: sealed({ state: { ...stateOf(), messages: ["{}"] } }) },
    "suspension_invalid"
  ],
  ["12", "completed in the state", {
    suspension: only("c1", { status: "completed", outcome: "success", content: "{}" })
  }, "deferred_request_completed"],
  ["12", "answered in the history", {
    suspension: sealed({
      state: stateOf({
        messages: [...history, {
          role: "tool",
          results: [{ id: "c1", name: "lookup_record", outcome: "success", content: "{}" as never }]
        }]
      })
    })
  }, "deferred_request_completed"],
  ["13", "another name of the request alone", {
    suspension: withRequests({ calls: [requestOf("c1", "free_form", "{\"record_id\":\"7\"}"), requests.calls[1]!] }),
    ...withCalls({ c1: { status: "success", value: 1 } })
  }, "deferred_request_mismatch"],
  ["13", "a request that is in the response and not in the state", {
    suspension: sealed({ state: stateOf({ calls: calls.slice(0, 3) }) })
  }, "deferred_request_mismatch"],
  ["13", "another name", { suspension: only("c1", { tool_name: "free_form" }) }, "deferred_request_mismatch"],
  [
    "13",
    "other arguments",
    { suspension: only("c1", { arguments: "{\"record_id\":\"8\"}" }) },
    "deferred_request_mismatch"
  ],
  ["13", "another category", { suspension: only("c1", { category: "approval" }) }, "deferred_request_mismatch"],
  ["13", "arguments as hooks left them, in both", {
    suspension: sealed({
      state: stateOf({
        calls: calls.map((call) => call.call_id === "c1" ? { ...call, arguments: "{\"record_id\":\"h\"}" } : call)
      }),
      requests: { ...requests, calls: [requestOf("c1", "lookup_record", "{\"record_id\":\"h\"}"), requests.calls[1]!] }
    })
  }, null],
  ["13", "an open call without a request", {
    suspension: only("c0", { status: "started", outcome: null, content: null })
  }, "deferred_request_mismatch"],
  ["14", "the tool is gone", { surface: gone }, "deferred_surface_mismatch"],
  ["14", "the approved tool is gone", { surface: withoutApproved }, "deferred_surface_mismatch"],
  ["14", "another kind of the name", { surface: otherKind }, "deferred_surface_mismatch"],
  ["14", "another fingerprint", { surface: moved }, "deferred_surface_mismatch"],
  ["14", "a tool that is denied now", { surface: surfaceOf({ rules: [{ tool: "write_file", allow: false }] }) }, null],
  ["RSM-1 HRN-D24", "failures and denials for tools that are gone", {
    surface: { tools: new Map() },
    results: {
      calls: { c1: Results.failure("gone"), c3: Results.failure("gone") },
      approvals: { c2: { allow: false } }
    }
  }, null],
  ["RSM-1 HRN-D24", "a failure for a tool that has changed", {
    surface: moved,
    results: { ...results, calls: { c1: Results.failure("no"), c3: Results.failure("no") } }
  }, "deferred_surface_mismatch"]
]

const codeOf = (result: ReturnType<typeof Preflight.check>): Code | null =>
  Result.isFailure(result) ? result.failure.code : null

describe("harness 5: the preflight", () => {
  it.each(table)("check %s: %s", (_row, _what, overrides, code) => {
    assert.strictEqual(codeOf(Preflight.check(input(overrides))), code)
  })

  /** One fault per check, in their order; suspensions are merged from the parts that each fault needs. */
  const faults: ReadonlyArray<
    readonly [
      Code,
      {
        readonly contents?: Partial<Suspension.Contents>
        readonly value?: object
        readonly input?: Partial<Preflight.Input>
        readonly requests?: Partial<Suspension.Requests>
        readonly results?: object
      }
    ]
  > = [
    ["suspension_version_unsupported", { value: { version: 2 } }],
    ["suspension_integrity_failed", { value: { digest: "sha256:0" } }],
    ["suspension_expired", { input: { now: now * 2 } }],
    ["deferred_request_duplicate", { requests: { calls: [...requests.calls, requests.calls[0]!] } }],
    ["deferred_request_category_overlap", { requests: { approvals: [...requests.approvals, requests.calls[0]!] } }],
    ["deferred_requests_too_large", {
      requests: { approvals: Array.from({ length: 128 }, (_, index) => requestOf(`a${index}`, "write_file", "{}")) }
    }],
    ["deferred_results_incomplete", { results: { calls: {} } }],
    ["deferred_approval_invalid", { results: { approvals: { c2: 1 } } }],
    ["deferred_results_invalid", { results: { calls: { ...results.calls, c3: 1 } } }],
    ["deferred_metadata_invalid", { results: { metadata: { c9: {} } } }],
    ["deferred_request_missing", { contents: { state: stateOf({ messages: [] }) } }],
    ["deferred_request_completed", {
      contents: {
        state: stateOf({
          calls: calls.map((call) =>
            call.call_id === "c3" ? { ...call, status: "completed", outcome: "success", content: "{}" } : call
          )
        })
      }
    }],
    ["deferred_request_mismatch", {
      contents: { state: stateOf({ calls: calls.map((call) => ({ ...call, arguments: "{}" })) }) }
    }],
    ["deferred_surface_mismatch", { input: { surface: gone } }]
  ]
  type Fault = (typeof faults)[number][1]

  const combine = (a: Fault, b: Fault): Preflight.Input =>
    input({
      ...a.input,
      ...b.input,
      results: { ...results, ...a.results, ...b.results },
      suspension: {
        ...sealed({ ...b.contents, ...a.contents, requests: { ...requests, ...b.requests, ...a.requests } }),
        ...a.value,
        ...b.value
      }
    })

  const exclusive = new Set([
    "deferred_results_incomplete,deferred_results_invalid",
    "deferred_request_missing,deferred_request_completed",
    "deferred_request_missing,deferred_request_mismatch",
    "deferred_request_completed,deferred_request_mismatch"
  ])

  it.each(faults)("each fault alone is told as %s", (code, fault) => {
    assert.strictEqual(codeOf(Preflight.check(combine(fault, {}))), code)
  })

  const pairs = faults.flatMap(([first, a], index) =>
    faults.slice(index + 1).filter(([second]) => !exclusive.has(`${first},${second}`)).map(([second, b]) =>
      [first, second, a, b] as const
    )
  )

  it.each(pairs)("the order of the checks: of %s and %s the first answers", (first, _second, a, b) => {
    assert.strictEqual(codeOf(Preflight.check(combine(a, b))), first)
  })

  it("the order of checks 11 to 13 over different requests", () => {
    const late = { ...calls[1]!, status: "completed", outcome: "success", content: "{}" } as const
    const both = stateOf({ calls: [calls[0]!, late, calls[2]!, { ...calls[3]!, arguments: "{}" }] })
    assert.strictEqual(
      codeOf(Preflight.check(input({ suspension: sealed({ state: both }) }))),
      "deferred_request_completed"
    )
    const shorter = stateOf({
      calls: both.calls,
      messages: [{ role: "assistant", text: "", toolCalls: [{ id: "c1", name: "lookup_record", arguments: "{}" }] }]
    })
    assert.strictEqual(
      codeOf(Preflight.check(input({ suspension: sealed({ state: shorter }) }))),
      "deferred_request_missing"
    )
  })

  it("7 HRN-D19 an incomplete result names what is missing, unexpected and in the wrong category, each once", () => {
    const given = {
      calls: { c2: results.calls.c1, c8: results.calls.c1 },
      approvals: { c3: { allow: true }, c9: { allow: true } }
    }
    const error = failed(Preflight.check(input({ results: given })))
    assert.deepStrictEqual(error.details, { missing: ["c1"], unexpected: ["c8", "c9"], wrongCategory: ["c2", "c3"] })
  })

  it("9 the path leads into the value", () => {
    const error = failed(Preflight.check(input(withCalls({ c3: { status: "success", value: { a: [0, NaN] } } }))))
    assert.deepStrictEqual((error.details as { callId: string; path: string }).path, "results.calls.c3.value.a[1]")
    const typed = failed(Preflight.check(input(withCalls({ c1: { status: "success", value: { title: 1 } } }))))
    assert.deepStrictEqual((typed.details as { path: string }).path, "results.calls.c1.value.title")
  })

  it("14 a mismatch names old and new", () => {
    const old = surface.tools.get("lookup_record")!
    const error = failed(Preflight.check(input({ surface: otherKind })))
    assert.deepStrictEqual(error.details, {
      callId: "c1",
      toolName: "lookup_record",
      suspended: { kind: "client", fingerprint: old.fingerprint },
      current: { kind: "builtin", fingerprint: otherKind.tools.get("lookup_record")!.fingerprint }
    })
    assert.isNull(
      (failed(Preflight.check(input({ surface: gone }))).details as ResumeError.DeferredSurfaceMismatch["details"])
        .current
    )
  })

  it("14 SUS-6 the surface of the suspension counts as its requests do: one that disagrees with them is told", () => {
    const other = new Map([...surface.fingerprints, ["lookup_record", "0".repeat(64)]])
    const error = failed(Preflight.check(input({ suspension: sealed({ surface: other }) })))
    assert.strictEqual(error.code, "deferred_surface_mismatch")
    assert.deepInclude(error.details, {
      callId: "c1",
      suspended: { kind: "client", fingerprint: "0".repeat(64) },
      current: { kind: "client", fingerprint: surface.tools.get("lookup_record")!.fingerprint }
    } as never)
    const without = new Map([...surface.fingerprints].filter(([name]) => name !== "lookup_record"))
    ok(Preflight.check(input({ suspension: sealed({ surface: without }) })))
  })

  it("RSM-2, faults A1 the plan holds every call of the response in the order of the model", () => {
    const { steps } = ok(Preflight.check(input(withMetadata({ c1: { seen: true } }))))
    assert.deepStrictEqual(steps, [
      {
        _tag: "Completed",
        callId: "c0",
        toolName: "read_file",
        result: { id: "c0", name: "read_file", outcome: "success", content: "{\"text\":\"A\"}" }
      },
      {
        _tag: "Answered",
        callId: "c1",
        toolName: "lookup_record",
        outcome: { _tag: "Success", text: "", structured: "{\"title\":\"Seven\"}" },
        metadata: "{\"seen\":true}"
      },
      {
        _tag: "Execute",
        callId: "c2",
        toolName: "write_file",
        arguments: "{\"path\":\"b\"}",
        overridden: false,
        metadata: null
      },
      {
        _tag: "Answered",
        callId: "c3",
        toolName: "free_form",
        outcome: { _tag: "Failure", text: "no such thing", structured: "{\"why\":\"gone\"}" },
        metadata: null
      }
    ] as never)
  })

  it("section 5: nothing is inferred from the shape of a value", () => {
    for (const value of ["text", { status: "error", message: "x" }, { text: "t", structured: 1 }, null, -0]) {
      const { steps } = ok(Preflight.check(input(withCalls({ c3: { status: "success", value } }))))
      const structured = Object.is(value, -0) ? "-0" : JSON.stringify(value)
      assert.deepStrictEqual(steps[3], {
        _tag: "Answered",
        callId: "c3",
        toolName: "free_form",
        outcome: { _tag: "Success", text: "", structured },
        metadata: null
      } as never)
    }
  })

  it("RSM-3 overriding arguments replace the model's in full and are validated like the model's", () => {
    const write = ok(
      ClientTool.raw({ name: "write_file", description: "d", parameters: { type: "object", required: ["path"] } })
    )
    const tools = new Map(surface.tools)
    tools.set("write_file", { ...surface.tools.get("write_file")!, checkArguments: write.checkArguments })
    const give = (args: unknown) =>
      Preflight.check(input({ ...withDecision({ allow: true, arguments: args }), surface: { tools } }))
    assert.deepInclude(ok(give({ path: "c" })).steps[2], { arguments: "{\"path\":\"c\"}", overridden: true } as never)
    const error = failed(give({}))
    assert.deepStrictEqual([error.code, (error.details as { path: string }).path], [
      "deferred_approval_invalid",
      "results.approvals.c2.arguments.path"
    ])
  })

  it("a denial keeps its message", () => {
    const { steps } = ok(Preflight.check(input(withDecision({ allow: false, message: "Not today." }))))
    assert.deepStrictEqual(steps[2], {
      _tag: "Denied",
      callId: "c2",
      toolName: "write_file",
      message: "Not today.",
      metadata: null
    })
  })

  it("faults B6, D11 a suspension that went through JSON gives the same plan", () => {
    const value = sealed({})
    const plans = [
      value,
      JSON.parse(JSON.stringify(value)) as unknown,
      JSON.stringify(value),
      Suspension.stringify(value)
    ].map((suspension) => ok(Preflight.check(input({ suspension }))).steps)
    for (const steps of plans) assert.deepStrictEqual(steps, plans[0])
  })

  it("ids that are names of the language are ids like any other", () => {
    const ids = ["__proto__", "constructor", "toString"]
    const suspension = sealed({
      state: stateOf({
        messages: [{
          role: "assistant",
          text: "",
          toolCalls: ids.map((id) => ({ id, name: "free_form", arguments: "{}" }))
        }],
        calls: ids.map((call_id) => ({ ...calls[3]!, call_id, arguments: "{}" }))
      }),
      requests: { calls: ids.map((id) => requestOf(id, "free_form", "{}")), approvals: [], metadata: {} }
    })
    const none = failed(Preflight.check(input({ suspension, results: {} })))
    assert.deepStrictEqual((none.details as { missing: unknown }).missing, ids)
    const given = Object.fromEntries(ids.map((id) => [id, Results.failure(id)]))
    assert.strictEqual(ok(Preflight.check(input({ suspension, results: { calls: given } }))).steps.length, 3)
  })
})

describe("harness 5: buildResults", () => {
  const pending = Results.pending(requests)

  it("buildResults checks ids, categories and coverage", () => {
    assert.deepStrictEqual(
      failed(pending.buildResults({ calls: { c1: Results.failure("x"), c9: Results.failure("x") } })).details,
      {
        missing: ["c3", "c2"],
        unexpected: ["c9"],
        wrongCategory: []
      }
    )
    assert.deepStrictEqual(ok(pending.buildResults(results)), results)
  })

  it("approveAll allows the approvals that are not mentioned, and no calls", () => {
    const built = ok(pending.buildResults({ calls: results.calls, approveAll: true }))
    assert.deepStrictEqual(built.approvals, { c2: { allow: true } })
    const denied = ok(
      pending.buildResults({ calls: results.calls, approvals: { c2: { allow: false } }, approveAll: true })
    )
    assert.deepStrictEqual(denied.approvals, { c2: { allow: false } })
    assert.deepStrictEqual(failed(pending.buildResults({ approveAll: true })).details.missing, ["c1", "c3"])
  })
})
