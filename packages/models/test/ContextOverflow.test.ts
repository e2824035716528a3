import { assert, describe, it } from "@effect/vitest"
import { ContextOverflow } from "../src/index.ts"

describe("MDL-5 a context that is too long", () => {
  const told = [
    `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
    "Input is too long for requested model.",
    `{"error":{"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}`,
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
  ]
  for (const words of told) {
    it(`MDL-5 is told by: ${words}`, () => assert.isTrue(ContextOverflow.isToldBy(words)))
  }

  it("MDL-5 is not told by other refusals", () => {
    for (
      const words of [
        "",
        "max_tokens must be at least 1",
        "Rate limit reached for tokens per min",
        "messages: tool_use ids must be unique"
      ]
    ) {
      assert.isFalse(ContextOverflow.isToldBy(words), words)
    }
  })
})
