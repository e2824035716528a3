import { assert, describe, it } from "@effect/vitest"
import { Json, Limits, Requests, Wire } from "@errand/protocol"
import * as Result from "effect/Result"

const decode = <M extends Requests.MethodName>(method: M, params: string, limits?: Limits.LimitValues) => {
  const frame = Json.parse(`{"params":${params}}`, { opaque: Wire.inRequests })
  return Requests.decodeParams(method, (Result.getOrThrow(frame) as { params: unknown }).params, limits)
}

const accepted = (result: Result.Result<unknown, { readonly message: string }>) =>
  assert.isTrue(Result.isSuccess(result), Result.isFailure(result) ? result.failure.message : "")

const refused = (
  result: Result.Result<unknown, { readonly code: string; readonly message: string }>,
  message: RegExp
) => {
  assert.isTrue(Result.isFailure(result))
  if (Result.isFailure(result)) {
    assert.strictEqual(result.failure.code, "invalid_params")
    assert.match(result.failure.message, message)
  }
}

const good: { readonly [M in Requests.MethodName]?: Record<string, unknown> } = {
  "status": {},
  "shutdown": {},
  "session.create": {},
  "session.open": { session_id: "s" },
  "session.list": { cursor: "c", limit: 1 },
  "history.page": { session_id: "s", revision: "r", cursor: "c", limit: 1 },
  "turn.start": { session_id: "s", prompt: "x" },
  "turn.cancel": { session_id: "s", run_id: "r" },
  "approval.answer": { session_id: "s", run_id: "r", approval_id: "a", allow: true },
  "client.tool.result": {
    instance_id: "i",
    session_id: "s",
    run_id: "r",
    call_id: "c",
    task_id: null,
    subagent_id: null,
    status: "success",
    text: ""
  }
}
const optional = new Set(["session.list.cursor", "session.list.limit", "history.page.limit"])

describe("2. Requests: params", () => {
  for (const [method, params] of Object.entries(good) as Array<[Requests.MethodName, Record<string, unknown>]>) {
    it(`REQ-10 ${method} is closed: unknown, missing, mistyped and null fields`, () => {
      assert.deepStrictEqual(decode(method, JSON.stringify(params)), Result.succeed(params) as never)
      for (const extra of ["unknown", "__proto__", "constructor", "toString"]) {
        for (const value of ["1", "null"]) {
          const text = JSON.stringify(params).replace(
            "{",
            `{"${extra}":${value}${Object.keys(params).length ? "," : ""}`
          )
          refused(decode(method, text), new RegExp(`^${extra}: unknown field`))
        }
      }
      for (const field of Object.keys(params)) {
        const { [field]: _, ...rest } = params
        if (!optional.has(`${method}.${field}`)) refused(decode(method, JSON.stringify(rest)), /missing|together/)
        else accepted(decode(method, JSON.stringify(rest)))
        const nullable = field === "task_id" || field === "subagent_id"
        for (
          const wrong of [...(nullable ? [] : [null]), [], {}, 1.5, typeof params[field] === "boolean" ? "true" : true]
        ) {
          refused(decode(method, JSON.stringify({ ...params, [field]: wrong })), new RegExp(`^${field}: `))
        }
      }
    })
  }

  it("REQ-5 C9 a message never repeats a value, and ids may be any string", () => {
    const secret = "hunter2-do-not-repeat"
    for (const params of [{ token: secret }, { session_id: [secret] }, { session_id: { password: secret } }]) {
      const result = decode("session.open", JSON.stringify(params))
      assert.isTrue(Result.isFailure(result))
      assert.notInclude(JSON.stringify(result), secret)
    }
    refused(decode("status", `{"${"z".repeat(60_000)}":1}`), /^z{63}…: unknown field$/)
    for (const id of ["0", "", "__proto__"]) accepted(decode("session.open", JSON.stringify({ session_id: id })))
  })

  it("TRN-1 WIR-2 a prompt has 1 to 32,768 bytes and is not blank", () => {
    const prompt = (text: string) => decode("turn.start", JSON.stringify({ session_id: "s", prompt: text }))
    for (const text of ["x", "x".repeat(32_768), "é".repeat(16_384), " x ", "\u0085", "\u200b"]) accepted(prompt(text))
    refused(prompt("x".repeat(32_769)), /^prompt: has 32769 bytes, at most 32768 /)
    refused(prompt(`${"é".repeat(16_384)}x`), /^prompt: has 32769 bytes/)
    for (const text of ["", " ", "\n\t\r\u000b\u000c ", "\u00a0", "\u3000", "\u2028\u2029", "\ufeff"]) {
      refused(prompt(text), /^prompt: must not be blank/)
    }
  })

  it("SES-4 SES-5 a page has 1 to 100 entries", () => {
    const list = (limit: string) => decode("session.list", `{"limit":${limit}}`)
    for (const limit of ["1", "100", "1e2", "5.0"]) accepted(list(limit))
    for (const limit of ["0", "-1", "101", "1.5", "\"1\"", "9007199254740993"]) refused(list(limit), /^limit: /)
    refused(decode("history.page", "{\"session_id\":\"s\",\"limit\":101}"), /^limit: /)
  })

  it("the bounds are those in force", () => {
    const limits = Limits.withBounds({ base: { prompt_bytes: 2, page_entries: 200 }, clientTools: { result_bytes: 3 } })
    accepted(decode("turn.start", "{\"session_id\":\"s\",\"prompt\":\"ab\"}", limits))
    refused(decode("turn.start", "{\"session_id\":\"s\",\"prompt\":\"abc\"}", limits), /^prompt: /)
    accepted(decode("session.list", "{\"limit\":200}", limits))
    refused(result({ text: "abcd" }, undefined, limits), /^text: text and structured have 4 bytes together, at most 3 /)
    accepted(result({ text: "abc" }, undefined, limits))
  })
})

const result = (fields: Record<string, unknown>, structured?: string, limits?: Limits.LimitValues) => {
  const text = JSON.stringify({ ...good["client.tool.result"], ...fields })
  return decode(
    "client.tool.result",
    structured === undefined ? text : `${text.slice(0, -1)},"structured":${structured}}`,
    limits
  )
}

describe("10. client.tool.result", () => {
  it("RES-1 RES-2 E12 structured is absent, null or any JSON, and stays lossless text", () => {
    assert.notProperty(Result.getOrThrow(result({})), "structured")
    for (
      const [text, compact] of [
        ["null", "null"],
        [" -0 ", "-0"],
        [
          "{ \"10\" : 9007199254740993 , \"2\" : [ \"\\u0041\" ] , \"__proto__\" : { } }",
          "{\"10\":9007199254740993,\"2\":[\"A\"],\"__proto__\":{}}"
        ]
      ] as const
    ) {
      for (const status of ["success", "error"]) {
        assert.strictEqual(Result.getOrThrow(result({ status }, text)).structured, compact as Json.JsonText)
      }
    }
  })

  it("RES-2 a status is success or error and nothing else", () => {
    for (const status of ["", "ok", "Success", "failed", "cancelled", "unknown", "success "]) {
      refused(result({ status }), /^status: expected "success" \| "error"/)
    }
  })

  it("RES-1 RES-6 extra fields are found beside structured too", () => {
    refused(result({ name: null }, "1"), /^name: unknown field/)
    refused(result({ Structured: 1 }), /^Structured: unknown field/)
  })

  it("RES-5 empty and foreign ids are well-formed; the broker tells that they are stale", () => {
    accepted(
      result({ instance_id: "", session_id: "", run_id: "", call_id: "__proto__", task_id: "", subagent_id: "null" })
    )
  })

  it("RES-6 FRM-13 WIR-7 text and compact structured have at most 32,768 bytes together", () => {
    const size = /^text: text and structured have 32769 bytes together, at most 32768 are allowed$/
    accepted(result({ text: "x".repeat(32_768) }))
    refused(result({ text: "x".repeat(32_769) }), size)
    accepted(result({ text: "é".repeat(16_384) }))
    refused(result({ text: `${"é".repeat(16_384)}x` }), size)
    accepted(result({ text: "x".repeat(32_764) }, "null"))
    refused(result({ text: "x".repeat(32_765) }, "null"), size)
    accepted(result({}, JSON.stringify("y".repeat(32_766))))
    refused(result({}, JSON.stringify("y".repeat(32_767))), size)
    // White space and the form of escapes do not count.
    const loose = `[ "${"\\u0041".repeat(4000)}" ,${" ".repeat(5000)} "\\/\\u00e9" ]`
    const compact = 2 + 4002 + 1 + 5
    accepted(result({ text: "t".repeat(32_768 - compact) }, loose))
    refused(result({ text: "t".repeat(32_769 - compact) }, loose), size)
  })

  it("RES-1 the exact path and the schema agree on every field", () => {
    for (const wrong of [null, 1, true, [], {}, "x"]) {
      for (const field of Object.keys(good["client.tool.result"]!)) {
        const nullable = field === "task_id" || field === "subagent_id"
        const fine = field === "status" ? false : typeof wrong === "string" || (nullable && wrong === null)
        assert.strictEqual(Result.isSuccess(result({ [field]: wrong })), fine, `${field} ${JSON.stringify(wrong)}`)
      }
    }
  })
})

describe("2. Requests: results", () => {
  it("REQ-5 a client reads results by method and drops fields of later versions", () => {
    assert.deepStrictEqual(
      Requests.decodeResult("turn.start", { run_id: "r", later: 1 }),
      Result.succeed({ run_id: "r" }) as never
    )
    assert.isTrue(Result.isFailure(Requests.decodeResult("turn.start", { run_id: null })))
    assert.isTrue(Result.isFailure(Requests.decodeResult("turn.cancel", { accepted: false })))
  })

  it("LIF-8 REQ-9 the methods are the advertised ones and client.tool.result, whatever a prototype holds", () => {
    assert.lengthOf(Requests.methods, 11)
    for (const name of ["", "Status", "__proto__", "constructor", "toString", "client.tools.register"]) {
      assert.isFalse(Requests.isMethod(name), name)
    }
  })

  it("SES-6 every kind of history entry is known", () => {
    const base = { entry_id: "e", at: "t", run_id: "r", task_id: null, subagent_id: null }
    const entries = [
      { ...base, kind: "user", text: "x", part: 1, parts: 2 },
      { ...base, kind: "assistant", text: "x" },
      { ...base, kind: "tool", name: "client__a", status: "unknown" },
      { ...base, kind: "run", status: "failed", error: { code: "model_failed", message: "m" } },
      { ...base, kind: "run", status: "completed" }
    ]
    const page = { revision: "1", entries, next_cursor: null }
    assert.deepStrictEqual(Requests.decodeResult("history.page", page), Result.succeed(page) as never)
    const wrong = { ...page, entries: [{ ...base, kind: "other" }] }
    assert.isTrue(Result.isFailure(Requests.decodeResult("history.page", wrong)))
  })
})
