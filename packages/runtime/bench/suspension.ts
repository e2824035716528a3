/**
 * How much a suspension costs over plain JSON of the same history: paired rounds, medians of ratios.
 *
 * Each cycle stands for a process of its own: it begins with a text from a store, resumes, adds a turn, suspends again and
 * ends with a text for the store. Run: `node --conditions=@errand/source packages/runtime/bench/suspension.ts`.
 */
import type { JsonText } from "@errand/protocol"
import type { Message } from "@errand/runtime"
import { ClientTool, ClientToolset, Digest, Preflight, State, Surface, Suspension } from "@errand/runtime/suspend"
import * as Result from "effect/Result"

const toolset = Result.getOrThrow(ClientToolset.make("crm", [
  Result.getOrThrow(ClientTool.raw({ name: "lookup_record", description: "Looks up.", parameters: { type: "object" } }))
]))
const surface = Result.getOrThrow(Surface.make({
  clientTools: Result.getOrThrow(ClientToolset.spec({ defaultToolsets: [toolset] })),
  others: [],
  rules: []
}))
const keys = Result.getOrThrow(Digest.makeKeys([{ id: "k", secret: new Uint8Array(32).fill(7) }]))

const turn = (index: number): Message => {
  const id = `call_${index}`
  switch (index % 3) {
    case 0:
      return { role: "user", text: `Please look up record ${index} and tell me "what" it says.\nThanks. `.repeat(3) }
    case 1:
      return {
        role: "assistant",
        text: "",
        toolCalls: [{
          id,
          name: "lookup_record",
          arguments: `{"record_id":"${index}","fields":["a","b","c"],"limit":10}`
        }]
      }
    default: {
      const content =
        `{"text":"hello world, this and that","structured":{"id":"${index}","values":[1,2,3,4],"note":"x"}}` as JsonText
      return {
        role: "tool",
        results: [{ id: `call_${index - 1}`, name: "lookup_record", outcome: "success", content }]
      }
    }
  }
}

const added: ReadonlyArray<Message> = [{
  role: "assistant",
  text: "",
  toolCalls: [{ id: "p", name: "lookup_record", arguments: "{}" }]
}]
const call: State.CallState = {
  call_id: "p",
  tool_name: "lookup_record",
  category: "call",
  arguments: "{}",
  status: "pending",
  outcome: null,
  content: null
}
const request = {
  call_id: "p",
  tool_name: "lookup_record",
  kind: "client",
  arguments: "{}",
  fingerprint: surface.fingerprints.get("lookup_record")!
}
const requests: Suspension.Requests = { calls: [request], approvals: [], metadata: {} }
const results = { calls: { p: { status: "success", value: { title: "Seven" } } } }

const seal = (base: State.State | null, messages: ReadonlyArray<Message>, signed: Digest.Keys | null) =>
  Suspension.seal({
    runId: "run",
    state: State.make({ threadId: "thread", base, added: messages, calls: [call], usage: State.noUsage }),
    requests,
    surface: surface.fingerprints,
    createdAt: 0,
    expiresAt: null
  }, signed)

const resume = (stored: unknown, signed: Digest.Keys | null): State.State =>
  Result.getOrThrow(Preflight.check({ suspension: stored, results, surface, now: 0, keys: signed })).suspension.state

interface Variant {
  readonly name: string
  readonly cycle: () => unknown
}

const variants = (length: number): ReadonlyArray<Variant> => {
  const messages = [...Array.from({ length: length - 1 }, (_, index) => turn(index)), ...added]
  const plain = JSON.stringify({ messages, call, results })
  const unsigned = Suspension.stringify(seal(null, messages, null))
  const signed = Suspension.stringify(seal(null, messages, keys))
  const texts = new Map([[null, unsigned], [keys, signed]])
  // The history would grow from cycle to cycle; each one begins with the same text instead.
  const ours = (signed: Digest.Keys | null, history: boolean) => () => {
    const state = resume(texts.get(signed)!, signed)
    if (history) Result.getOrThrow(State.messages(state))
    return Suspension.stringify(seal(state, added, signed))
  }
  return [
    {
      name: "plain JSON",
      cycle: () => {
        const { messages } = JSON.parse(plain) as { readonly messages: ReadonlyArray<Message> }
        return JSON.stringify({ messages: [...messages, ...added], call, results })
      }
    },
    { name: "sealed", cycle: ours(null, false) },
    { name: "sealed, messages read", cycle: ours(null, true) },
    { name: "signed", cycle: ours(keys, false) },
    {
      name: "sealed, host's own JSON",
      cycle: () => JSON.stringify(seal(resume(JSON.parse(unsigned), null), added, null))
    }
  ]
}

/** Processor time of one cycle in microseconds, so that a busy machine disturbs it less than the clock would. */
const time = (cycle: () => unknown, count: number): number => {
  const start = process.cpuUsage()
  let sink = 0
  for (let index = 0; index < count; index++) sink += String(cycle()).charCodeAt(8)
  const { system, user } = process.cpuUsage(start)
  return (system + user) / count + (sink === 0 ? 1 : 0)
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const rows: Array<Record<string, string | number>> = []
for (const length of [10, 100, 1000]) {
  const all = variants(length)
  const count = Math.ceil(3000 / length)
  for (const { cycle } of all) time(cycle, count * 3)
  const rounds = Array.from({ length: 15 }, () => all.map(({ cycle }) => time(cycle, count)))
  all.forEach(({ name }, index) =>
    rows.push({
      messages: length,
      variant: name,
      microseconds: Math.round(median(rounds.map((round) => round[index]!))),
      "share of plain JSON": Number(median(rounds.map((round) => round[0]! / round[index]!)).toFixed(2))
    })
  )
}
// oxlint-disable-next-line no-console
console.table(rows)
