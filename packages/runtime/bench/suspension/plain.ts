/** A loop by hand over plain objects, its state as JSON, nothing checked: what no harness can be faster than. */
import type { Cycled } from "../suspension.ts"
import { callId, final, history, prompt, toolArguments, toolName } from "./job.ts"

interface Part {
  readonly type: string
  readonly [key: string]: unknown
}
interface Message {
  readonly role: string
  readonly content: ReadonlyArray<Part>
}

const model = async (messages: ReadonlyArray<Message>): Promise<Message> =>
  messages.at(-1)!.role === "tool"
    ? { role: "assistant", content: [{ type: "text", text: final }] }
    : {
      role: "assistant",
      content: [{ type: "tool-call", id: callId, name: toolName, input: JSON.parse(toolArguments) }]
    }

const run = async (before: ReadonlyArray<Message>) => {
  const messages = before.slice()
  const answer = await model(messages)
  messages.push(answer)
  const calls = answer.content.filter((part) => part.type === "tool-call")
  return { messages, calls, output: String(answer.content[0]!["text"]) }
}

export const plainJson = async (count: number) => {
  const messages: ReadonlyArray<Message> = history(count).map(({ role, text }) => ({
    role,
    content: [{ type: "text", text }]
  }))
  return async (): Promise<Cycled> => {
    const first = await run([...messages, { role: "user", content: [{ type: "text", text: prompt }] }])
    const text = JSON.stringify({ version: 1, messages: first.messages, pending: first.calls })
    const state = JSON.parse(text)
    const second = await run([...state.messages, {
      role: "tool",
      content: [{ type: "tool-result", id: state.pending[0].id, name: state.pending[0].name, output: { opened: true } }]
    }])
    return { bytes: text.length, output: second.output }
  }
}
