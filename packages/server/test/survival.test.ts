import { assert, describe, it } from "@effect/vitest"
import { kinds, Survivor } from "./SurvivalRound.ts"

describe("section 4: a served process that is killed", () => {
  it(
    "SES-9 SES-10 SES-11 CAL-3 faults H1 SIGKILL around each kind of frame loses nothing told, and closes what was open once",
    async () => {
      using survivor = new Survivor()
      const sums = { recorded: 0, unknown: 0, ended: 0 }
      for (const [seed, kind] of kinds.entries()) {
        const survived = await survivor.crash(seed, { kind, nth: 1 + seed % 3, delayMs: 0 })
        for (const key of ["recorded", "unknown", "ended"] as const) sums[key] += survived[key]
      }
      assert.isAbove(sums.recorded, 15)
      assert.isAbove(sums.unknown, 5)
      assert.isAbove(sums.ended, 2)
    },
    120_000
  )
})
