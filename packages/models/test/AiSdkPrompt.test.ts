import type { LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import type { Message } from "@errand/runtime"
import { Alias } from "@errand/runtime/suspend"
import { Result } from "effect"
import { Answer } from "../src/AiSdkAnswer.ts"
import * as AiSdkPrompt from "../src/AiSdkPrompt.ts"
import * as ProviderRules from "../src/ProviderRules.ts"

const reader: AiSdkPrompt.Reader = { provider: "acme.chat", modelId: "m", names: Alias.make(ProviderRules.names) }

const call = (id: string) => ({ id, name: "client__a", arguments: "{}" })

/** The kinds of parts that an assistant message becomes, texts in full; undefined where it is left out. */
const saidOf = (message: Omit<Message & { readonly role: "assistant" }, "role">) => {
  const prompt = AiSdkPrompt.maker(reader)({
    instructions: null,
    messages: [{ role: "assistant", ...message }],
    tools: [],
    agent: null
  })
  const [said] = prompt
  return said?.role === "assistant"
    ? said.content.map((part) => part.type === "text" ? part.text : part.type)
    : undefined
}

describe("program 2: what is kept of an answer", () => {
  const provider = AiSdkPrompt.keep(reader, [
    { type: "reasoning", text: "hm", options: {} },
    { type: "text", length: 3, options: {} },
    { type: "call", options: {} }
  ])!

  it("MDL-1 goes back as it was where it covers the message, and nowhere else", () => {
    assert.deepStrictEqual(saidOf({ text: "abc", toolCalls: [call("a")], provider }), ["reasoning", "abc", "tool-call"])
    assert.deepStrictEqual(saidOf({ text: "abcd", toolCalls: [call("a")], provider }), ["abcd", "tool-call"])
    assert.deepStrictEqual(saidOf({ text: "ab", toolCalls: [call("a")], provider }), ["ab", "tool-call"])
    assert.deepStrictEqual(saidOf({ text: "abc", toolCalls: [], provider }), ["abc"])
    assert.deepStrictEqual(saidOf({ text: "abc", toolCalls: [call("a"), call("b")], provider }), [
      "abc",
      "tool-call",
      "tool-call"
    ])
  })

  it("MDL-1 SES-11 an answer of nothing but thoughts is no message", () => {
    const thoughts = AiSdkPrompt.keep(reader, [{ type: "reasoning", text: "hm", options: {} }])!
    assert.isUndefined(saidOf({ text: "", toolCalls: [], provider: thoughts }))
  })

  it("MDL-1 MDL-3 covers calls that the limit of output tokens cut off", () => {
    const answer = new Answer(reader)
    const parts: ReadonlyArray<LanguageModelV4StreamPart> = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "hm" },
      { type: "reasoning-end", id: "r" },
      { type: "tool-call", toolCallId: "a", toolName: "client__a", input: "{}" },
      { type: "tool-input-start", id: "b", toolName: "client__a" },
      { type: "tool-input-delta", id: "b", delta: "{\"n" },
      {
        type: "finish",
        finishReason: { unified: "length", raw: "length" },
        usage: {
          inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 1, text: undefined, reasoning: undefined }
        }
      }
    ]
    for (const part of parts) answer.take(part)
    const events = Result.getOrThrow(answer.end())
    const kept = events.find((event) => event._tag === "Provider")
    const toolCalls = events.flatMap((event) => event._tag === "ToolCall" ? [event.call] : [])
    assert.deepStrictEqual(toolCalls.map(({ id }) => id), ["a", "b"])
    assert.deepStrictEqual(
      saidOf({ text: "", toolCalls: toolCalls.map(({ id }) => call(id)), provider: kept!.provider }),
      ["reasoning", "tool-call", "tool-call"]
    )
  })
})
