/**
 * The loop by hand once more, its state in the form that SUS-1 and SUS-2 ask for (each message as text inside the text, a
 * digest over all of it), and nothing else checked: what no harness with this form can be faster than.
 */
import { createHash } from "node:crypto"
import type { Cycled } from "../suspension.ts"
import { callId, final, history, prompt, toolArguments, toolName } from "./job.ts"

interface Message {
  readonly role: string
  readonly text: string
  readonly toolCalls?: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
}

const model = async (messages: ReadonlyArray<Message>): Promise<Message> =>
  messages.at(-1)!.role === "tool"
    ? { role: "assistant", text: final, toolCalls: [] }
    : { role: "assistant", text: "", toolCalls: [{ id: callId, name: toolName, arguments: toolArguments }] }

const sum = (rest: string): string => `sha256:${createHash("sha256").update(rest).digest("hex")}`

const seal = (rest: object): string => {
  const text = JSON.stringify(rest)
  return `{"digest":"${sum(text)}","rest":${text}}`
}

const open = (
  text: string
): { readonly messages: ReadonlyArray<string>; readonly requests: ReadonlyArray<unknown> } => {
  const { digest, rest } = JSON.parse(text)
  const start = text.indexOf(",\"rest\":") + 8
  if (sum(text.slice(start, -1)) !== digest) throw new Error("the digest differs")
  return rest
}

export const sealedJson = async (count: number) => {
  const messages: ReadonlyArray<Message> = history(count)
  return async (): Promise<Cycled> => {
    const before = [...messages, { role: "user", text: prompt }]
    const answer = await model(before)
    const text = seal({
      format: "errand.suspension",
      version: 1,
      messages: [...before, answer].map((message) => JSON.stringify(message)),
      requests: answer.toolCalls
    })
    const stored = open(text)
    const after = stored.messages.map((message): Message => JSON.parse(message))
    const second = await model([...after, { role: "tool", text: "{\"opened\":true}" }])
    return { bytes: text.length, output: second.text }
  }
}
