/**
 * Crashes a process that appends to a session, again and again at other moments, and checks each time what is left.
 * `npm run crash -- ROUNDS SEED`; it stops at the first round that finds a fault and tells its seed. After the store's
 * own crashes come those of a served process (`survival.ts`).
 */
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { crash } from "../test/CrashRound.ts"

const rounds = Number(process.argv[2] ?? 200)
const first = Number(process.argv[3] ?? Date.now() % 1_000_000)
const home = fs.mkdtempSync(Path.join(tmpdir(), "errand-crash-"))
const sums = { acknowledged: 0, unacknowledged: 0, closed: 0 }

let sessionId: string | null = null
for (let round = 0; round < rounds; round++) {
  const seed = first + round
  // every tenth session is new; kills fall from the first line on, at a line or up to 8 ms after it
  if (round % 10 === 0) sessionId = null
  const line = 1 + (Math.imul(seed, 2_654_435_761) >>> 8) % 300
  const moment = { line, delayMs: (Math.imul(seed, 40_503) >>> 4) % 9 }
  try {
    const crashed = await crash(home, sessionId, seed, moment)
    sessionId = crashed.sessionId
    for (const key of ["acknowledged", "unacknowledged", "closed"] as const) sums[key] += crashed[key]
  } catch (error) {
    process.stderr.write(`round ${round}, seed ${seed}, ${JSON.stringify(moment)}; the files are in ${home}\n`)
    throw error
  }
}
fs.rmSync(home, { recursive: true })
process.stdout.write(
  `${rounds} crashes: ${sums.acknowledged} acknowledged records, none lost; ${sums.unacknowledged} more were stored; `
    + `${sums.closed} open calls closed once\n`
)
await import("./survival.ts")
