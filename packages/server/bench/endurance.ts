/** A thousand turns with sixteen parallel calls each in one process, and what stays in memory. `node … ROUNDS TURNS`. */
import { CALLS, endure } from "../test/Endurance.ts"

const sessions = Number(process.argv[2] ?? 20)
const turns = Number(process.argv[3] ?? 50)
const since = performance.now()
const kept = await endure(sessions, turns)
const seconds = (performance.now() - since) / 1000
process.stdout.write(
  `${sessions * turns} turns of ${CALLS} calls in ${seconds.toFixed(1)} s: closed sessions keep `
    + `${(kept.closed / 2 ** 20).toFixed(2)} MiB, an open one ${(kept.perTurn / 1024).toFixed(1)} KiB per turn\n`
)
