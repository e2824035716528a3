/** The emulated providers refuse what the real ones refuse; a test that passes against them would mean nothing else. */
import { assert, describe, it } from "@effect/vitest"
import {
  anthropicMessages,
  chatCompletions,
  type Dialect,
  openAiResponses,
  ProviderEmulator
} from "@errand/testing/providers"
import { Effect } from "effect"

const message = (dialect: Dialect, body: object): string | null => dialect.check(body as never)?.message ?? null

/** Checks bodies that differ from a good one in one thing; each must be refused in words that hold `words`. */
const refused = (dialect: Dialect, good: object, faults: ReadonlyArray<readonly [words: string, change: object]>) => {
  assert.isNull(message(dialect, good))
  for (const [words, change] of faults) assert.include(message(dialect, { ...good, ...change }) ?? "accepted", words)
}

const functionTool = (name: string, parameters: object = { type: "object" }) => ({ type: "function", name, parameters })

describe("emulated OpenAI Responses", () => {
  const user = { role: "user", content: [{ type: "input_text", text: "go" }] }
  const call = (call_id: string, name = "a") => ({ type: "function_call", call_id, name, arguments: "{}" })
  const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "x" })
  const good = { model: "m", stream: true, store: false, input: [user, call("1"), call("2"), output("2"), output("1")] }

  it("refuses conversations in the words of the provider", () => {
    refused(openAiResponses, good, [
      ["Missing required parameter: 'input'", { input: [] }],
      ["No tool output found for function call 1.", { input: [user, call("1")] }],
      ["No tool output found for function call 1.", { input: [user, call("1"), user, output("1")] }],
      ["No tool call found for function call output with call_id 9.", { input: [user, output("9")] }],
      ["No tool call found for function call output with call_id 1.", { input: [user, output("1"), call("1")] }],
      ["Duplicate item found with id 1.", { input: [user, call("1"), output("1"), call("1"), output("1")] }],
      ["string does not match pattern", { input: [user, call("1", "a.b"), output("1")] }],
      ["string too long", { input: [user, call("x".repeat(65)), output("x".repeat(65))] }],
      ["without its required following item", {
        input: [user, { type: "reasoning", id: "r", encrypted_content: "sig-" }]
      }],
      ["could not be verified", { input: [user, { type: "reasoning", id: "r" }, call("1"), output("1")] }],
      ["empty content", { input: [{ role: "assistant", content: "" }] }],
      ["Invalid value: 'item_reference'", { input: [user, { type: "item_reference", id: "x" }] }],
      ["not persisted", { store: true }]
    ])
  })

  it("refuses tools in the words of the provider", () => {
    refused(openAiResponses, good, [
      ["empty array", { tools: [] }],
      ["array too long", { tools: Array.from({ length: 129 }, (_, index) => functionTool(`a${index}`)) }],
      ["'tools[0].name': string does not match pattern", { tools: [functionTool("a b")] }],
      ["string too long", { tools: [functionTool("x".repeat(65))] }],
      [`got 'type: "None"'`, { tools: [functionTool("a", {})] }],
      ["at the top level", { tools: [functionTool("a", { type: "object", anyOf: [] })] }],
      ["array schema missing items", {
        tools: [functionTool("a", { type: "object", properties: { b: { type: "array" } } })]
      }]
    ])
  })
})

describe("emulated Chat Completions", () => {
  const user = { role: "user", content: "go" }
  const calling = (...ids: ReadonlyArray<string>) => ({
    role: "assistant",
    content: null,
    tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "a", arguments: "{}" } }))
  })
  const tool = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "x" })
  const good = {
    model: "m",
    stream: true,
    messages: [{ role: "system", content: "s" }, user, calling("1", "2"), tool("2"), tool("1"), {
      role: "assistant",
      content: "x"
    }]
  }

  it("refuses conversations in the words of the provider", () => {
    refused(chatCompletions, good, [
      ["too short", { messages: [] }],
      ["did not have response messages: 1", { messages: [user, calling("1")] }],
      ["did not have response messages: 2", { messages: [user, calling("1", "2"), tool("1"), user] }],
      ["must be a response to a preceeding message", { messages: [user, tool("1")] }],
      ["Duplicate value", { messages: [user, calling("1"), tool("1"), calling("1"), tool("1")] }],
      ["roles must alternate", { messages: [user, user] }],
      ["expected a string, got null", { messages: [user, { role: "assistant", content: null }] }],
      ["at the beginning", { messages: [user, { role: "system", content: "s" }] }]
    ])
  })
})

describe("emulated Anthropic Messages", () => {
  const user = { role: "user", content: [{ type: "text", text: "go" }] }
  const uses = (...ids: ReadonlyArray<string>) => ({
    role: "assistant",
    content: ids.map((id) => ({ type: "tool_use", id, name: "a", input: {} }))
  })
  const result = (tool_use_id: string) => ({ type: "tool_result", tool_use_id, content: "x" })
  const results = (...ids: ReadonlyArray<string>) => ({ role: "user", content: ids.map(result) })
  const said = (...content: ReadonlyArray<object>) => ({ role: "assistant", content })
  const good = { model: "m", stream: true, max_tokens: 9, messages: [user, uses("1", "2"), results("2", "1")] }
  const tool = (name: string, input_schema: object = { type: "object" }) => ({ name, input_schema })

  it("refuses conversations in the words of the provider", () => {
    refused(anthropicMessages, good, [
      ["max_tokens: Field required", { max_tokens: undefined }],
      ["at least one message", { messages: [] }],
      ["must end with a user message", { messages: [user, said({ type: "text", text: "x" })] }],
      ["immediately after: 2.", { messages: [user, uses("1", "2"), results("1")] }],
      ["immediately after: 1.", {
        messages: [user, uses("1"), { role: "user", content: [user.content[0], result("1")] }]
      }],
      ["unexpected `tool_use_id`", { messages: [user, results("1")] }],
      ["must have a single result", { messages: [user, uses("1"), results("1", "1")] }],
      ["ids must be unique", { messages: [user, uses("1"), results("1"), uses("1"), results("1")] }],
      ["String should match pattern '^[a-zA-Z0-9_-]+$'", { messages: [user, uses("a.b"), results("a.b")] }],
      ["valid dictionary", {
        messages: [user, said({ type: "tool_use", id: "1", name: "a", input: "{}" }), results("1")]
      }],
      ["non-whitespace", { messages: [user, said({ type: "text", text: " \n" }), user] }],
      ["non-empty content", { messages: [user, said(), user] }],
      ["Invalid `signature`", { messages: [user, said({ type: "thinking", thinking: "x", signature: "sig-" }), user] }]
    ])
  })

  it("refuses tools in the words of the provider", () => {
    refused(anthropicMessages, good, [
      ["tools.0.custom.name", { tools: [tool("a b")] }],
      ["must be unique", { tools: [tool("a"), tool("a")] }],
      ["input_schema.type: Input should be 'object'", { tools: [tool("a", {})] }],
      ["does not support oneOf, allOf, or anyOf", { tools: [tool("a", { type: "object", oneOf: [] })] }],
      ["Property keys", { tools: [tool("a", { type: "object", properties: { "é": {} } })] }]
    ])
  })
})

describe("an emulated provider as a server", () => {
  const post = (address: string, path: string, headers: Record<string, string>, body: string) =>
    Effect.promise(() =>
      fetch(`${address}${path}`, { method: "POST", headers, body })
        .then((response) => response.text().then((text) => ({ status: response.status, text })))
    )

  it.effect("refuses wrong keys, paths and bodies, with the provider's own shape of an error", () =>
    Effect.gen(function*() {
      const { address, key, requests } = yield* ProviderEmulator
      const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" }
      const ask = (given: Partial<typeof headers>, path: string, body: string) =>
        Effect.map(post(address, path, { ...headers, ...given }, body), ({ status, text }) => {
          const { error, type } = JSON.parse(text) as { type: string; error: { type: string; message: string } }
          return [status, type, error.type, error.message]
        })
      assert.deepStrictEqual(yield* ask({ "x-api-key": "wrong" }, "/v1/messages", "{}"), [
        401,
        "error",
        "authentication_error",
        "Incorrect API key provided: wrong."
      ])
      assert.deepStrictEqual((yield* ask({}, "/v1/other", "{}")).slice(0, 3), [404, "error", "not_found_error"])
      for (const body of ["", "{", `{"a":"\\ud83d"}`]) {
        const [status, , type, words] = yield* ask({}, "/v1/messages", body)
        assert.deepStrictEqual([status, type], [400, "invalid_request_error"])
        assert.include(words, "The request body is not valid JSON")
      }
      assert.strictEqual(requests.length, 5)
    }).pipe(Effect.provide(ProviderEmulator.layer(anthropicMessages))))

  it.effect("answers in the order of its script, and says when it has come to its end", () =>
    Effect.gen(function*() {
      const { address, key, script } = yield* ProviderEmulator
      yield* script({ text: "one" }, { text: "two" })
      const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "go" }] })
      const headers = { authorization: `Bearer ${key}` }
      for (
        const [status, words] of [[200, `"content":"one"`], [200, `"content":"two"`], [400, "no answer left"]] as const
      ) {
        const answer = yield* post(address, "/v1/chat/completions", headers, body)
        assert.strictEqual(answer.status, status)
        assert.include(answer.text, words)
      }
    }).pipe(Effect.provide(ProviderEmulator.layer(chatCompletions))))
})
