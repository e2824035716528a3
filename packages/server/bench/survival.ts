/**
 * Crashes a served process around every kind of frame, again and again, and checks each time what the next ones find.
 * `npm run crash -- ROUNDS SEED` runs it last; it stops at the first round that finds a fault and tells its seed.
 */
import { kinds, Survivor } from "../test/SurvivalRound.ts"

const rounds = Number(process.argv[2] ?? 100)
const first = Number(process.argv[3] ?? Date.now() % 1_000_000)
const sums = { recorded: 0, unknown: 0, ended: 0 }

let survivor = new Survivor()
for (let round = 0; round < rounds; round++) {
  const seed = first + round
  if (round > 0 && round % 20 === 0) {
    survivor[Symbol.dispose]()
    survivor = new Survivor()
  }
  // half of the kills come with the frame, the others up to 5 ms after it
  const moment = {
    kind: kinds[round % kinds.length]!,
    nth: 1 + (Math.imul(seed, 2_654_435_761) >>> 8) % 7,
    delayMs: Math.max(0, (Math.imul(seed, 40_503) >>> 4) % 12 - 6)
  }
  try {
    const survived = await survivor.crash(seed, moment)
    for (const key of ["recorded", "unknown", "ended"] as const) sums[key] += survived[key]
  } catch (error) {
    process.stderr.write(
      `round ${round}, seed ${seed}, ${JSON.stringify(moment)}; the files are in ${survivor.place.home}\n`
    )
    throw error
  }
}
survivor[Symbol.dispose]()
process.stdout.write(
  `${rounds} kills of a served process: ${sums.recorded} recorded results and ${sums.ended} ends of runs, none lost; `
    + `${sums.unknown} open calls closed once\n`
)
