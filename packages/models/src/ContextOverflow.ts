/**
 * Tells from a provider's words that the context was too long (MDL-5).
 *
 * Rule: providers have no common code for it, so every phrase here is one that a provider is known to send.
 */

const phrases = [
  "context_length_exceeded", // OpenAI, and gateways that follow it
  "maximum context length", // OpenAI, vLLM, Mistral
  "context window", // OpenAI Responses: "exceeds the context window"; xAI, Groq
  "prompt is too long", // Anthropic
  "input is too long", // Amazon Bedrock
  "exceed context limit", // Anthropic: "`max_tokens` exceed context limit"
  "exceed_context_size_error", // llama.cpp
  "available context size", // llama.cpp
  "input token count" // Google: "The input token count (N) exceeds the maximum"
]

/** Whether a failed request says that its context is too long; give it everything the provider said. */
export const isToldBy = (words: string): boolean => {
  const text = words.toLowerCase()
  return phrases.some((phrase) => text.includes(phrase))
}
