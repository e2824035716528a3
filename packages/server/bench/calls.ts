/**
 * What a live client call costs inside the server, without pipes: from the bytes of its result to the text of the next
 * call, beside a bare server that parses, stringifies and checks nothing. The client is a few cuts of text in both.
 *
 * Prints microseconds of processor per call: the first quartile of short windows once code is warm, since other work only
 * adds. `node --conditions=@errand/source packages/server/bench/calls.ts [SIZE IN_FLIGHT]`
 */
import { randomUUID } from "node:crypto"
import process from "node:process"
import { errand, type Load, Peer, processor, type Subject, textOf } from "./rig.ts"

const WINDOWS = 320
const WINDOW = 64

const bare = ({ inFlight, size }: Load): Subject => {
  const [instance_id, session_id, run_id] = [randomUUID(), randomUUID(), randomUUID()]
  const pending = new Map<string, unknown>()
  let out = ""
  let seq = 0
  const owner = { task_id: null, subagent_id: null, name: "client__lookup" }
  const args = { text: textOf(size) }
  const call = () => {
    const call_id = randomUUID()
    pending.set(call_id, args)
    const data = { session_id, run_id, call_id, ...owner, arguments: args, timeout_ms: 30_000 }
    out += `${JSON.stringify({ event: "client.tool.call", instance_id, seq: ++seq, data })}\n`
  }
  return {
    deliver: (bytes) => {
      for (let start = 0, end = bytes.indexOf(10); end >= 0; start = end + 1, end = bytes.indexOf(10, start)) {
        const { id, method, params } = JSON.parse(bytes.toString("utf8", start, end))
        const accepted = method === "client.tool.result"
        out += `${JSON.stringify({ id, instance_id, result: accepted ? { accepted } : { session_id } })}\n`
        if (accepted) pending.delete(params.call_id)
        if ((accepted || method === "turn.start") && pending.size === 0) { for (let i = 0; i < inFlight; i++) call() }
      }
    },
    take: () => {
      const taken = out
      out = ""
      return taken
    }
  }
}

const measure = async (make: (load: Load) => Subject, load: Load): Promise<number> => {
  const peer = new Peer(make(load), load)
  let calls = await peer.start(await peer.open())
  const windows: Array<number> = []
  for (let window = 0; window < WINDOWS; window++) {
    const from = processor()
    for (let done = 0; done < WINDOW; done += load.inFlight) calls = await peer.answer(calls)
    windows.push((processor() - from) / WINDOW)
  }
  return windows.slice(WINDOWS / 2).sort((a, b) => a - b)[WINDOWS / 8]!
}

const [onlySize, onlyInFlight] = process.argv.slice(2).map(Number)
for (const size of onlySize === undefined ? [200, 4096] : [onlySize]) {
  for (const inFlight of onlyInFlight === undefined ? [1, 16] : [onlyInFlight]) {
    const raw = await measure(bare, { size, inFlight })
    const ours = await measure(errand, { size, inFlight })
    process.stdout.write(`${size} B x${inFlight}: bare ${raw.toFixed(1)} us, errand ${ours.toFixed(1)} us\n`)
  }
}
process.exit(0)
