import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { crash } from "./CrashRound.ts"

describe("section 4: crashes", () => {
  it(
    "SES-9 SES-10 SES-11 SIGKILL at any moment loses nothing acknowledged, and reopening closes what was open, once",
    async () => {
      const home = fs.mkdtempSync(Path.join(tmpdir(), "errand-crash-"))
      try {
        let sessionId: string | null = null
        let acknowledged = 0
        for (const [seed, line] of [2, 3, 40, 91, 160].entries()) {
          const crashed = await crash(home, sessionId, seed, { line, delayMs: seed % 2 })
          sessionId = crashed.sessionId
          acknowledged += crashed.acknowledged
        }
        assert.isAbove(acknowledged, 100)
        // a session that has hardly been made
        await crash(home, null, 7, { line: 1, delayMs: 0 })
      } finally {
        fs.rmSync(home, { recursive: true, force: true })
      }
    },
    120_000
  )
})
