import { assert, describe, it } from "@effect/vitest"
import type { JsonText } from "@errand/protocol"
import type { Message } from "@errand/runtime"
import { Digest, Results, State, Suspension } from "@errand/runtime/suspend"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { createHash, createHmac } from "node:crypto"
import { inspect } from "node:util"
import { calls, contents, failed, history, keysOf, now, ok, reordered, requests, stateOf, surface } from "./Fixture.ts"

const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(",")}}`
}

const Text = Schema.String
const Call = Schema.Struct({ id: Text, name: Text, arguments: Text })
const AnyMessage = Schema.Union([
  Schema.Struct({ role: Schema.Literal("user"), text: Text }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    text: Text,
    toolCalls: Schema.Array(Call),
    provider: Schema.optionalKey(Text)
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    results: Schema.Array(
      Schema.Struct({
        id: Text,
        name: Text,
        outcome: Schema.Literals(["success", "failure", "unknown"]),
        content: Text
      })
    )
  })
])
const Messages = Arbitrary.array(Arbitrary.schema(AnyMessage), { maxLength: 8 })
const Strange = Arbitrary.schema(
  Schema.Literals(["", "\u0000", "\ud83d", "😀", "\\u0000", "\"", "\u2028", "__proto__", "{\"n\":9007199254740993}"])
)

const sealed = Suspension.seal(contents(), null)
const copy = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("harness 4: the suspension", () => {
  it("SUS-1 HRN-D10 HRN-D11 it is one JSON value with exactly the members of the contract", () => {
    assert.deepStrictEqual(copy(sealed), {
      format: "errand.suspension",
      version: 1,
      thread_id: "thread",
      run_id: "run",
      state: {
        format: "errand.state",
        version: 1,
        thread_id: "thread",
        messages: [
          "{\"role\":\"user\",\"text\":\"Look two records up, \\\"please\\\"\\n and write.\"}",
          JSON.stringify({
            role: "assistant",
            text: "",
            tool_calls: (history[1] as Extract<Message, { role: "assistant" }>).toolCalls
          })
        ],
        calls,
        usage: { model_requests: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0 }
      },
      requests,
      surface: Object.fromEntries(surface.fingerprints),
      created_at: "2026-11-01T00:00:00.000Z",
      expires_at: "2026-11-01T00:01:00.000Z",
      digest: sealed.digest
    })
  })

  it("SUS-2 the digest is SHA-256 of the canonical JSON of the rest", () => {
    const { digest, ...rest } = sealed
    assert.strictEqual(digest, `sha256:${createHash("sha256").update(canonical(rest)).digest("hex")}`)
  })

  it("SUS-2 with keys it is HMAC-SHA-256 under the newest, named by its id", () => {
    const { digest, ...rest } = Suspension.seal(contents(), keysOf("new", "old"))
    const hex = createHmac("sha256", new Uint8Array(32).fill("n".charCodeAt(0))).update(canonical(rest)).digest("hex")
    assert.strictEqual(digest, `hmac-sha256:new:${hex}`)
  })

  it("SUS-1 stringify writes canonical text of the very value", () => {
    assert.strictEqual(Suspension.stringify(sealed), canonical(sealed))
    const opened = ok(Suspension.open(Suspension.stringify(sealed), null))
    assert.strictEqual(Suspension.stringify(opened), canonical(sealed))
  })

  it.prop("SUS-1 every history, id and name survives the value, its text, reordered keys and a second sealing", {
    messages: Messages,
    odd: Arbitrary.array(Strange, { maxLength: 4 })
  }, ({ messages, odd }) => {
    const added = [...messages, ...odd.map((text): Message => ({ role: "user", text }))] as ReadonlyArray<Message>
    const state = stateOf({ thread_id: odd.join("|"), messages: added, calls: [] })
    const surface = new Map(odd.map((name, index) => [name, String(index)]))
    const metadata = Object.fromEntries(odd.map((name) => [name, "{}"]))
    for (const keys of [null, keysOf("k")]) {
      const value = Suspension.seal(
        contents({ state, surface, requests: { calls: [], approvals: [], metadata } }),
        keys
      )
      const stores = [
        value,
        copy(value),
        reordered(copy(value)),
        Suspension.stringify(value),
        JSON.stringify(value),
        JSON.stringify(value, null, 2)
      ]
      for (const stored of stores) {
        const opened = ok(Suspension.open(stored, keys))
        assert.deepStrictEqual(copy(opened), copy(value))
        assert.deepStrictEqual(ok(State.messages(opened.state)), added)
        const more = State.make({
          threadId: opened.thread_id,
          base: opened.state,
          added: [{ role: "user", text: "more" }],
          calls: [],
          usage: State.noUsage
        })
        const again = Suspension.seal(contents({ state: more }), keys)
        assert.strictEqual(Suspension.stringify(again), canonical(again))
        assert.deepStrictEqual(ok(State.messages(ok(Suspension.open(Suspension.stringify(again), keys)).state)), [
          ...added,
          { role: "user", text: "more" }
        ])
      }
    }
  }, { arbitrary: { runs: 60 } })

  it("SUS-1 HRN-D12 a text that spells the same value otherwise is opened too", () => {
    const text = Suspension.stringify(sealed)
    const respelled = text.replace("Look two", "\\u004cook \\u0074wo")
    assert.notStrictEqual(respelled, text)
    assert.deepStrictEqual(copy(ok(Suspension.open(respelled, null))), copy(sealed))
    assert.strictEqual(Suspension.stringify(ok(Suspension.open(respelled, null))), text)
  })

  it.each(["value", "text"])("SUS-2, faults D14 any changed byte of the parsed value is refused (%s)", (form) => {
    const text = Suspension.stringify(sealed)
    const original = Buffer.from(text)
    let changed = 0
    for (let at = 0; at < original.length; at++) {
      for (const mask of [1, 2, 16, 32]) {
        const bytes = Buffer.from(original)
        bytes[at]! ^= mask
        const flipped = bytes.toString("latin1")
        const parsed = Result.try(() => JSON.parse(flipped) as unknown)
        if (Result.isFailure(parsed) && form === "value") continue
        const opened = Suspension.open(form === "text" ? flipped : Result.getOrThrow(parsed), null)
        assert.isTrue(Result.isFailure(opened), `byte ${at} ${mask}`)
        changed++
      }
    }
    assert.isAbove(changed, original.length)
  })

  it("SUS-2 HRN-D13 removing, adding, retyping or reordering list members is a change", () => {
    const tamper = (edit: (value: Record<string, never>) => void) => {
      const value = copy(sealed) as Record<string, never>
      edit(value)
      return failed(Suspension.open(value, null)).code
    }
    const edits: ReadonlyArray<(value: { [key: string]: any }) => unknown> = [ // oxlint-disable-line typescript/no-explicit-any
      (value) => delete value["digest"],
      (value) => delete value["expires_at"],
      (value) => value["extra"] = 1,
      (value) => value["expires_at"] = null,
      (value) => value["digest"] = null,
      (value) => value["digest"] = `sha512:${"0".repeat(64)}`,
      (value) => value["state"]["usage"]["tool_calls"] = -0,
      (value) => value["state"]["messages"].reverse(),
      (value) => value["state"]["messages"].push("{\"role\":\"user\",\"text\":\"\"}"),
      (value) => value["state"]["messages"] = [value["state"]["messages"].join(",")],
      (value) => value["requests"]["calls"].reverse(),
      (value) => value["requests"]["calls"][0]["extra"] = "",
      (value) => value["requests"]["metadata"] = {},
      (value) => value["surface"]["__proto__x"] = "",
      (value) => Object.defineProperty(value["surface"], "__proto__", { value: "x", enumerable: true }),
      (value) => value["state"] = null
    ]
    for (const edit of edits) assert.strictEqual(tamper(edit), "suspension_integrity_failed", String(edit))
  })

  it("SUS-2 changing the value in place after it was sealed or opened is a change, whatever was remembered", () => {
    const opened = ok(Suspension.open(Suspension.stringify(sealed), null))
    const loose: Suspension.Suspension = Suspension.seal(
      contents({ state: { ...stateOf(), messages: [...stateOf().messages] } }),
      null
    )
    ;(loose.state.messages as Array<string>)[0] = "{\"role\":\"user\",\"text\":\"other\"}"
    assert.strictEqual(failed(Suspension.open(loose, null)).code, "suspension_integrity_failed")
    assert.strictEqual(failed(Suspension.open(Suspension.stringify(loose), null)).code, "suspension_integrity_failed")
    for (const value of [sealed, opened]) {
      assert.throws(() => (value.state.messages as Array<string>).push("x"))
      const other = { ...value, state: { ...value.state, messages: [...value.state.messages] } }
      assert.isTrue(Result.isSuccess(Suspension.open(other, null)))
      other.state.messages[0] = "{\"role\":\"user\",\"text\":\"other\"}"
      assert.strictEqual(failed(Suspension.open(other, null)).code, "suspension_integrity_failed")
    }
  })

  it("SUS-1 what is no suspension, and unknown versions, are refused by name", () => {
    for (
      const value of [null, 1, [], {}, "", "{", "[]", { format: "errand.state", version: 1 }, {
        ...sealed,
        format: "other"
      }]
    ) {
      assert.strictEqual(failed(Suspension.open(value, null)).code, "suspension_invalid")
    }
    for (const version of [0, 2, "1", null]) {
      const error = failed(Suspension.open({ ...sealed, version }, null))
      assert.strictEqual(error.code, "suspension_version_unsupported")
      assert.deepStrictEqual(error.details, { version, supported: [1] })
    }
  })

  it.each<[string, string, unknown]>([
    ["created_at", "created_at", "yesterday"],
    ["created_at", "created_at", "2026-13-01T00:00:00.000Z"],
    ["created_at", "created_at", null],
    ["expires_at", "expires_at", "2026-11-01"],
    ["run_id", "run_id", 7],
    ["surface.x", "surface", { x: 1 }],
    ["surface", "surface", []],
    ["state", "state", null],
    ["state.version", "state.version", 2],
    ["state.format", "state.format", "errand.suspension"],
    ["state.thread_id", "state.thread_id", "another"],
    ["state.thread_id", "state.thread_id", null],
    ["state.messages", "state.messages", {}],
    ["state.messages[0]", "state.messages", [{}]],
    ["state.calls", "state.calls", {}],
    ["state.calls[0].call_id", "state.calls", [{ ...calls[0], call_id: 1 }]],
    ["state.calls[0].category", "state.calls", [{ ...calls[0], category: "calls" }]],
    ["state.calls[0].status", "state.calls", [{ ...calls[0], status: "done" }]],
    ["state.calls[0]", "state.calls", [{ ...calls[0], outcome: "denial" }]],
    ["state.calls[0]", "state.calls", [{ ...calls[0], content: null }]],
    ["state.calls[0]", "state.calls", [{ ...calls[1], content: "{}" }]],
    ["state.calls[0].more", "state.calls", [{ ...calls[0], more: 1 }]],
    ["state.usage.tool_calls", "state.usage", { ...State.noUsage, tool_calls: -1 }],
    ["state.usage.tool_calls", "state.usage", { ...State.noUsage, tool_calls: 0.5 }],
    ["state.usage.more", "state.usage", { ...State.noUsage, more: 1 }],
    ["requests.calls", "requests.calls", null],
    ["requests.approvals", "requests.approvals", {}],
    ["requests.approvals[0].kind", "requests.approvals", [{ ...requests.approvals[0], kind: 1 }]],
    ["requests.calls[0].more", "requests.calls", [{ ...requests.calls[0], more: 1 }]],
    ["requests.metadata.c1", "requests.metadata", { c1: {} }],
    ["requests.more", "requests.more", 1]
  ])(
    "SUS-1 HRN-D13 a shape that is wrong though its digest is right is no suspension, and says where: %s",
    (path, at, wrong) => {
      const { digest: _, ...rest } = copy(sealed) as Suspension.Suspension
      const keys = at.split(".")
      const holder = keys.slice(0, -1).reduce(
        (value, key) => value[key] as never,
        rest as unknown as Record<string, unknown>
      )
      holder[keys.at(-1)!] = wrong
      const error = failed(Suspension.open({ ...rest, digest: Digest.seal([canonical(rest)], null) }, null))
      assert.strictEqual(error.code, "suspension_invalid")
      assert.strictEqual((error.details as { readonly path: string }).path, `suspension.${path}`)
    }
  )

  it("SUS-2 a host with keys refuses unkeyed suspensions and unknown keys, and accepts all of its own", () => {
    const reason = (value: Suspension.Suspension, keys: Digest.Keys | null) => {
      const opened = Suspension.open(copy(value), keys)
      return Result.isFailure(opened) ? (opened.failure.details as { readonly reason: string }).reason : "opened"
    }
    const byOld = Suspension.seal(contents(), keysOf("old"))
    assert.strictEqual(reason(byOld, keysOf("new", "old")), "opened")
    assert.strictEqual(reason(byOld, keysOf("new")), "unknown_key")
    assert.strictEqual(reason(byOld, null), "unknown_key")
    assert.strictEqual(reason(sealed, keysOf("new")), "unkeyed")
    const renamed = { ...byOld, digest: byOld.digest.replace(":old:", ":new:") }
    assert.strictEqual(reason(renamed, keysOf("new", "old")), "mismatch")
  })

  it("SUS-2 the digest is that of the joined pieces, however many and large they are", () => {
    const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`
    for (const length of [0, 1, 8190, 8191, 8192, 20_000]) {
      const pieces = ["{", "ü".repeat(length), "", "}"]
      assert.strictEqual(Digest.seal(pieces, null), sha256(pieces.join("")), String(length))
    }
  })

  it("SUS-1 a list that a host froze is copied, and what is remembered about a list is not seen", () => {
    const plain = stateOf({})
    const frozen = { ...plain, messages: Object.freeze([...plain.messages]) }
    const read = ok(Suspension.readState(frozen))
    assert.notStrictEqual(read.messages, frozen.messages)
    assert.strictEqual(ok(Suspension.readState(read)).messages, read.messages)
    ok(State.messages(read))
    assert.deepStrictEqual(read.messages, frozen.messages)
    assert.strictEqual(JSON.stringify(read), JSON.stringify(frozen))
    assert.strictEqual(State.isFrozenList(structuredClone(read.messages)), false)
  })

  it("SUS-2 HRN-D15 keys have plain unique ids and secrets of 32 bytes or more, which never print", () => {
    const secret = new Uint8Array(32).fill(65)
    const rule = (...keys: Parameters<typeof Digest.makeKeys>[0]) => failed(Digest.makeKeys(keys)).rule
    assert.match(rule(), /at least one/)
    assert.match(rule({ id: "a:b", secret }), /A-Z/)
    assert.match(rule({ id: "a", secret }, { id: "a", secret }), /unique/)
    assert.match(rule({ id: "a", secret: secret.slice(1) }), /32/)
    const keys = ok(Digest.makeKeys([{ id: "a".repeat(64), secret }]))
    secret.fill(0)
    const digest = Digest.seal(["x"], keys)
    assert.strictEqual(
      digest.split(":")[2],
      createHmac("sha256", new Uint8Array(32).fill(65)).update("x").digest("hex")
    )
    assert.notInclude(inspect(keys, { depth: null, showHidden: true }) + JSON.stringify(keys), "65")
  })

  it("SUS-3 nothing but data: sealing keeps no reference to what the caller may change", () => {
    const surface = new Map([["t", "f"]])
    const value = Suspension.seal(contents({ surface }), null)
    surface.set("t", "g")
    assert.deepStrictEqual(value.surface, { t: "f" })
  })

  it("SUS-1 the host gets arguments as text and as a value, and no rounded number", () => {
    const { approvals, calls } = Results.pending(requests)
    assert.strictEqual(calls[0]?.argumentsText, "{\"record_id\":\"7\"}")
    assert.deepStrictEqual({ ...ok(calls[0]!.arguments) as object }, { record_id: "7" })
    assert.deepStrictEqual({ ...calls[0]?.metadata as object }, { row: 1 })
    assert.deepStrictEqual([calls[1]?.argumentsText, failed(calls[1]!.arguments).path], [
      "{\"n\":9007199254740993}" as JsonText,
      "arguments.n"
    ])
    assert.deepStrictEqual(
      approvals.map(({ callId, kind, metadata, toolName }) => [callId, kind, metadata, toolName]),
      [["c2", "builtin", undefined, "write_file"]]
    )
  })
})

describe("harness 4: states", () => {
  const open = { outcome: "unknown", content: "{}" as JsonText } as const

  it("SUS-5 HRN-D23 a fork denies pending approvals and fails pending calls, in the fork only", () => {
    const state = stateOf({ calls: calls.map((call) => call.call_id === "c3" ? { ...call, status: "started" } : call) })
    const fork = State.fork(state, "other")
    assert.strictEqual(fork.thread_id, "other")
    assert.deepStrictEqual(fork.calls, [])
    const last = ok(State.messages(fork)).at(-1)
    assert.deepStrictEqual(last?.role === "tool" ? last.results.map(({ id, outcome }) => [id, outcome]) : null, [
      ["c0", "success"],
      ["c1", "failure"],
      ["c2", "denied"],
      ["c3", "unknown"]
    ])
    assert.deepStrictEqual(state, stateOf({ calls: state.calls }))
    assert.deepStrictEqual(ok(State.messages(State.fork(stateOf({ calls: [] }), "o"))), history)
  })

  it("SES-11 settling answers every call of the last response once, in call order, and keeps what was recorded", () => {
    const settled = State.settle(stateOf(), () => open)
    const last = ok(State.messages(settled)).at(-1)
    assert.deepStrictEqual(last, {
      role: "tool",
      results: [
        { id: "c0", name: "read_file", outcome: "success", content: "{\"text\":\"A\"}" as JsonText },
        { id: "c1", name: "lookup_record", ...open },
        { id: "c2", name: "write_file", ...open },
        { id: "c3", name: "free_form", ...open }
      ]
    })
    assert.strictEqual(State.settle(settled, () => open), settled)
  })

  it("RSM-4 only the last response counts, and what is answered after it", () => {
    const again: ReadonlyArray<Message> = [
      ...history,
      { role: "tool", results: [] },
      { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "other", arguments: "{}" }] },
      { role: "tool", results: [{ id: "c1", name: "other", ...open }] }
    ]
    const last = State.lastResponse(stateOf({ messages: again }))
    assert.deepStrictEqual(last?.calls.map((call) => call.name), ["other"])
    assert.deepStrictEqual([...last?.answered ?? []], ["c1"])
    assert.deepStrictEqual(State.lastResponse(stateOf({ messages: [...again, { role: "user", text: "" }] }))?.calls, [])
  })

  it.each([
    "",
    "null",
    "[]",
    "{}",
    "{\"role\":\"user\"}",
    "{\"role\":\"user\",\"text\":1}",
    "{\"role\":\"user\",\"text\":\"\",\"more\":1}",
    "{\"role\":\"system\",\"text\":\"\"}",
    "{\"role\":\"assistant\",\"text\":\"\"}",
    "{\"role\":\"assistant\",\"text\":\"\",\"tool_calls\":[{\"id\":\"a\",\"name\":\"b\"}]}",
    "{\"role\":\"assistant\",\"text\":\"\",\"tool_calls\":[],\"provider\":null}",
    "{\"role\":\"tool\",\"results\":[{\"id\":\"a\",\"name\":\"b\",\"outcome\":\"won\",\"content\":\"\"}]}"
  ])("SUS-1 a text that is no message is told by its index: %s", (text) => {
    const state: State.State = { ...stateOf(), messages: [...stateOf().messages, text] }
    assert.deepStrictEqual(failed(State.messages(state)), { index: 2 })
  })

  it("SUS-4 HRN-D10 a state is read by itself, strictly", () => {
    const state = copy(stateOf())
    assert.deepStrictEqual(ok(Suspension.readState(state)), stateOf())
    assert.strictEqual(failed(Suspension.readState({ ...stateOf(), version: 2 })).details.path, "state.version")
    assert.strictEqual(failed(Suspension.readState({ ...stateOf(), more: 1 })).details.path, "state.more")
  })

  it("SUS-1 the times are whole milliseconds", () => {
    assert.strictEqual(Suspension.seal(contents({ expiresAt: null }), null).expires_at, null)
    assert.strictEqual(Suspension.seal(contents({ createdAt: now + 1 }), null).created_at, "2026-11-01T00:00:00.001Z")
  })
})
