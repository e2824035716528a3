/**
 * Whether a call costs the same however many came before it, and what a pending call holds.
 *
 * Prints the cost of the last thousand of ten thousand calls over that of the first, and the heap per pending call with ten
 * thousand of them; exits with 1 when one is more than it may be. `node --conditions=@errand/source packages/server/bench/growth.ts`
 */
import process from "node:process"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { errand, Peer, processor } from "./rig.ts"

const PENDING = 10_000
const CALLS = 10_000
const WARM_UP = 4000
const MOST_BYTES = 4096
const MOST_GROWTH = 1.25
/** A ratio that is broken is measured again, since the machine may have been busy. */
const ATTEMPTS = 3

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void
const heap = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}

const growth = async (): Promise<number> => {
  const load = { size: 200, inFlight: 1 }
  const warm = new Peer(errand(load), load)
  let calls = await warm.start(await warm.open())
  for (let i = 0; i < WARM_UP; i++) calls = await warm.answer(calls)
  const peer = new Peer(errand(load), load)
  calls = await peer.start(await peer.open())
  const thousands: Array<number> = []
  for (let thousand = 0; thousand < CALLS / 1000; thousand++) {
    const from = processor()
    for (let i = 0; i < 1000; i++) calls = await peer.answer(calls)
    thousands.push((processor() - from) / 1000)
  }
  process.stdout.write(`us per call, by thousands: ${thousands.map((us) => us.toFixed(0)).join(" ")}\n`)
  return thousands.at(-1)! / thousands[0]!
}

const held = async (): Promise<number> => {
  const load = { size: 200, inFlight: PENDING, pendingCalls: PENDING }
  const peer = new Peer(errand(load), load)
  const session = await peer.open()
  const before = heap()
  await peer.start(session)
  // What the peer read must be gone too: the ids are pieces of it.
  await new Promise((resolve) => setTimeout(resolve, 10))
  return (heap() - before) / PENDING
}

const bytes = await held()
process.stdout.write(`heap per pending call of 200 B, history included: ${bytes.toFixed(0)} B, at most ${MOST_BYTES}\n`)
let ratio = Infinity
for (let attempt = 0; attempt < ATTEMPTS && ratio > MOST_GROWTH; attempt++) ratio = Math.min(ratio, await growth())
process.stdout.write(`last thousand of ${CALLS} calls over the first: ${ratio.toFixed(2)}, at most ${MOST_GROWTH}\n`)
process.exit(bytes <= MOST_BYTES && ratio <= MOST_GROWTH ? 0 : 1)
