/**
 * Suspend, serialise, parse, resume a fresh run: cycles per second and bytes, beside plain JSON without any check and beside
 * the peers. One job for all: a history of N messages and a prompt, the model calls one tool that is answered outside, the
 * state becomes text, and from the text a fresh run is resumed and answers.
 *
 * All run in this process, in interleaved rounds; ratios are taken within a round, medians over rounds. Peers keep their own
 * ways: AI SDK a tool without `execute`, OpenAI Agents an approval and `RunState`, LangGraph `interrupt` and a checkpointer.
 *
 * Run: `node --conditions=@errand/source packages/runtime/bench/suspension.ts [rounds] [only,these]`.
 */
import * as Errand from "./suspension/errand.ts"
import { aiSdk, langGraph, openAiAgents } from "./suspension/peers.ts"
import { plainJson } from "./suspension/plain.ts"
import { sealedJson } from "./suspension/sealed.ts"

/** One cycle: how large the text was, and what the model said at last. */
export interface Cycled {
  readonly bytes: number
  readonly output: string
}

type Make = (messages: number) => Promise<() => Promise<Cycled>>

const contestants: ReadonlyArray<readonly [name: string, make: Make]> = [
  ["plain JSON, no checks", plainJson],
  ["SUS-1 and SUS-2 by hand", sealedJson],
  ["errand", Errand.cycleOf({ keys: null, kept: false })],
  ["errand, signed", Errand.cycleOf({ keys: Errand.keys, kept: false })],
  ["errand, state kept between runs", Errand.cycleOf({ keys: null, kept: true })],
  ["AI SDK generateText", aiSdk],
  ["OpenAI Agents RunState", openAiAgents],
  ["LangGraph interrupt", langGraph]
]

const rounds = Number(process.argv[2] ?? 9)
const only = process.argv[3]?.split(",")
const chosen = contestants.filter(([name]) => only === undefined || only.some((one) => name.startsWith(one)))

/** Processor time of a cycle in microseconds, so that a busy machine disturbs it less than the clock would. */
const time = async (cycle: () => Promise<Cycled>, milliseconds: number): Promise<number> => {
  const cpu = process.cpuUsage()
  const end = performance.now() + milliseconds
  let count = 0
  do {
    await cycle()
    count++
  } while (performance.now() < end)
  const { system, user } = process.cpuUsage(cpu)
  return (system + user) / count
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1]!
const ratio = (values: ReadonlyArray<number>, base: ReadonlyArray<number>): string =>
  median(values.map((value, round) => base[round]! / value)).toFixed(2)

for (const messages of [10, 100, 1000]) {
  const cycles: Array<{ readonly name: string; readonly cycle: () => Promise<Cycled>; readonly bytes: number }> = []
  for (const [name, make] of chosen) {
    const cycle = await make(messages)
    const { bytes, output } = await cycle()
    if (output !== "The client action finished.") throw new Error(`${name} said ${output}`)
    await time(cycle, 2000)
    cycles.push({ name, cycle, bytes })
  }
  const times = new Map(cycles.map(({ name }): [string, Array<number>] => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const from = round % cycles.length
    for (const { cycle, name } of [...cycles.slice(from), ...cycles.slice(0, from)]) {
      times.get(name)!.push(await time(cycle, 150))
    }
  }
  const [plain, sdk] = [times.get("plain JSON, no checks"), times.get("AI SDK generateText")]
  // oxlint-disable-next-line no-console
  console.log(`\n${messages} messages`)
  // oxlint-disable-next-line no-console
  console.table(cycles.map(({ bytes, name }) => ({
    name,
    "cycles/s": Math.round(1e6 / median(times.get(name)!)),
    bytes,
    ...plain === undefined ? {} : { "share of plain JSON": ratio(times.get(name)!, plain) },
    ...sdk === undefined ? {} : { "times AI SDK": ratio(times.get(name)!, sdk) }
  })))
}
process.exit(0)
