import { assert, describe, it } from "@effect/vitest"
import { Json, Limits, Negotiation, Requests, Wire } from "@errand/protocol"
import * as Result from "effect/Result"

const offered = ["tool.cards", "client.tools"] as const

const negotiate = (params: string, available: ReadonlyArray<Negotiation.OptionalCapability> = offered) => {
  const frame = Json.parse(`{"params":${params}}`, { opaque: Wire.inRequests })
  return Negotiation.negotiate((Result.getOrThrow(frame) as { params: Record<string, unknown> }).params, available)
}

const names = (count: number, prefix = "x.") => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

const failure = (params: string, available?: ReadonlyArray<Negotiation.OptionalCapability>) => {
  const result = negotiate(params, available)
  assert.isTrue(Result.isFailure(result), params)
  return Result.isFailure(result) ? result.failure : undefined!
}

const required = (list: ReadonlyArray<unknown>, tools?: string) =>
  `{"required_capabilities":${JSON.stringify(list)}${tools === undefined ? "" : `,"client_tools":${tools}`}}`

describe("3. Lifecycle: negotiation", () => {
  it("LIF-2 CLT-1 the params are exact", () => {
    for (
      const params of [
        "{}",
        "{\"required_capabilities\":null}",
        "{\"required_capabilities\":\"client.tools\"}",
        "{\"required_capabilities\":{}}",
        required([1]),
        required([null]),
        required([[]]),
        required([""]),
        required(["status", "status"]),
        required(["a".repeat(65)]),
        required([`${"é".repeat(32)}a`]),
        "{\"required_capabilities\":[],\"extra\":1}",
        "{\"required_capabilities\":[],\"__proto__\":1}",
        required([], "null"),
        required([], "[]"),
        required(["tool.cards"], "[]"),
        required(["client.tools"]),
        required(["client.tools"], "null"),
        required(["client.tools"], "{}"),
        required(["client.tools"], "\"[]\""),
        "{\"client_tools\":[]}"
      ]
    ) assert.strictEqual(failure(params).code, "invalid_params", params)
    for (const name of ["a", "a".repeat(64), "é".repeat(32), "client.Tools", "__proto__", "constructor"]) {
      assert.deepStrictEqual(failure(required([name])).details, { capabilities: [name] })
    }
  })

  it("LIF-3 16 capabilities pass, 18 with client.tools; one more is invalid_params", () => {
    assert.strictEqual(failure(required(names(16))).code, "unsupported_capability")
    assert.strictEqual(failure(required(names(17))).code, "invalid_params")
    assert.strictEqual(failure(required(["client.tools", ...names(17)], "[]")).code, "unsupported_capability")
    assert.strictEqual(failure(required([...names(17), "client.tools"], "[]")).code, "unsupported_capability")
    assert.strictEqual(failure(required(["client.tools", ...names(18)], "[]")).code, "invalid_params")
  })

  it("LIF-4 WIR-8 every missing capability is named, after the shape and before client_tools", () => {
    assert.deepStrictEqual(failure(required(["turn.start", "x.1", "status", "x.2"])).details, {
      capabilities: ["x.1", "x.2"]
    })
    assert.strictEqual(failure(required(["client.tools", "x.1"], "null")).code, "unsupported_capability")
    assert.strictEqual(failure(required(["client.tools", "x.1"])).code, "unsupported_capability")
    assert.strictEqual(failure(required(["x.1", 1])).code, "invalid_params")
  })

  it("LIF-4 an optional capability that this server does not offer is missing like any other", () => {
    assert.deepStrictEqual(failure(required(["client.tools"], "[]"), []).details, { capabilities: ["client.tools"] })
  })

  it("LIF-4 all advertised names may be required", () => {
    const all = [...Negotiation.baseCapabilities, ...offered]
    assert.deepStrictEqual(
      negotiate(required(all, "[ ]")),
      Result.succeed({ optional: offered, clientTools: "[]" as never })
    )
  })

  it("REQ-5 LIF-4 sixteen long names keep the message short", () => {
    const long = names(16, "y".repeat(60))
    const error = failure(required(long))
    assert.isAtMost(error.message.length, 1000)
    assert.deepStrictEqual(error.details, { capabilities: long })
  })
})

describe("3. Lifecycle: the result of initialize", () => {
  const server = { name: "errand", version: "1.2.3" }
  const base = [
    "initialize",
    "status",
    "shutdown",
    "session.create",
    "session.open",
    "session.list",
    "history.page",
    "turn.start",
    "turn.cancel",
    "approval.answer"
  ]
  const limits = {
    input_frame_bytes: 65536,
    output_frame_bytes: 65536,
    json_depth: 32,
    request_ids: 4096,
    required_capabilities: 16,
    output_queue_frames: 32,
    output_deadline_ms: 2000,
    cleanup_ms: 2000,
    prompt_bytes: 32768,
    page_entries: 100,
    page_bytes: 32768,
    approval_timeout_ms: 60000
  }
  const result = (params: string, tools: ReadonlyArray<string> = []) =>
    Negotiation.initializeResult({
      negotiated: Result.getOrThrow(negotiate(params)),
      tools,
      limits: Limits.defaults,
      server
    })

  it("LIF-7 LIF-8 without optional capabilities there is no trace of them", () => {
    assert.deepStrictEqual(result(required(["status"])), {
      protocol: "errand.local-agent",
      version: 1,
      server,
      capabilities: base,
      limits,
      extensions: {}
    })
  })

  it("LIF-8 CLT-4 CRD-1 optional capabilities come in their order, tools in theirs, and 18 may be required", () => {
    const tools = ["client__z", "client__A", "client__a", "client__10", "client__2"]
    const clientLimits = {
      tools: 32,
      name_bytes: 64,
      description_bytes: 2048,
      registry_bytes: 32768,
      schema_bytes: 8192,
      schema_depth: 16,
      arguments_bytes: 16384,
      result_bytes: 32768,
      pending_calls: 16,
      default_timeout_ms: 30000,
      min_timeout_ms: 1000,
      max_timeout_ms: 300000
    }
    assert.deepStrictEqual(result(required(["client.tools", "tool.cards"], "[]"), tools), {
      protocol: "errand.local-agent",
      version: 1,
      server,
      capabilities: [...base, "tool.cards", "client.tools"],
      limits: { ...limits, required_capabilities: 18 },
      extensions: {
        "tool.cards": { schema_version: 1 },
        "client.tools": { schema_version: 1, registration: "startup_only", tools, limits: clientLimits }
      },
      client_tools: { tools, limits: clientLimits }
    })
  })

  it("LIF-7 the result decodes as its schema says", () => {
    const made = result(required(["client.tools", "tool.cards"], "[]"), ["client__a"])
    assert.deepStrictEqual(Requests.decodeResult("initialize", made), Result.succeed(made))
  })
})
