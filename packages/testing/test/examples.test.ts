/** The examples are programs; these tests run them as processes of their own. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const examples = fileURLToPath(new URL("../examples", import.meta.url))

const node = (folder: string, file: string, secret = "x".repeat(32)) =>
  spawnSync(process.execPath, ["--conditions=@errand/source", join(examples, file)], {
    cwd: folder,
    env: { ...process.env, SECRET: secret },
    encoding: "utf8",
    timeout: 100_000
  })

describe("examples/suspend", () => {
  it(
    "faults D10 D11 B6 suspends in one process and is resumed in another, from the file alone",
    { timeout: 120_000 },
    () => {
      const folder = mkdtempSync(join(tmpdir(), "errand-example-"))
      const first = node(folder, "suspend/suspend.ts")
      assert.strictEqual(first.stdout, "suspended: 1 call and 1 approval are pending\n", first.stderr)
      const second = node(folder, "suspend/resume.ts")
      assert.strictEqual(
        second.stdout,
        "Done: [{\"id\":\"c1\",\"name\":\"lookup_record\",\"outcome\":\"success\",\"result\":{\"text\":\"\",\"structured\":"
          + "{\"title\":\"Record 7\",\"open\":true}}},{\"id\":\"c2\",\"name\":\"close_record\",\"outcome\":\"success\","
          + "\"result\":{\"text\":\"record 7 is closed\"}}]\n",
        second.stderr
      )
      const stranger = node(folder, "suspend/resume.ts", "y".repeat(32))
      assert.include(stranger.stderr, "changed after it was sealed")
      const file = join(folder, "suspension.json")
      writeFileSync(file, readFileSync(file, "utf8").replaceAll("record_id\\\":\\\"7", "record_id\\\":\\\"8"))
      const forged = node(folder, "suspend/resume.ts")
      assert.include(forged.stderr, "changed after it was sealed")
      assert.strictEqual(forged.stdout, "")
      rmSync(folder, { recursive: true })
    }
  )
})
