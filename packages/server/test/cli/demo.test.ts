import { assert, describe, it } from "@effect/vitest"
import { readdirSync } from "node:fs"
import { run, start, temporary } from "./Binary.ts"

const inOrder = (text: string, ...parts: ReadonlyArray<string>) => {
  let from = 0
  for (const part of parts) {
    const at = text.indexOf(part, from)
    assert.isAtLeast(at, 0, `${part} is not there, or too early, in:\n${text}`)
    from = at + part.length
  }
}

describe("1 errand demo", { timeout: 60_000 }, () => {
  it("PGM-2 it shows everything in plain lines, ends with code 0 within 15 s and leaves nothing behind", async () => {
    using place = temporary()
    const began = performance.now()
    const env = { TMPDIR: place.path, HOME: place.path, ERRAND_MODEL: "script:nothing", ERRAND_CATALOG: "compact" }
    const { code, stderr, stdout } = await run(["demo"], env)
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.isBelow(performance.now() - began, 15_000)
    assert.deepStrictEqual(readdirSync(place.path), [])
    assert.notInclude(stdout, "\x1b")
    inOrder(
      stdout,
      "→ call    lookup_record {\"record_id\":\"R-7\"}",
      "→ call    render_report",
      "· waiting lookup_record ",
      "← answer  render_report",
      "← answer  lookup_record",
      "{\"balance\":9007199254740993000000001}",
      "\"structured\":{\"balance\":9007199254740993000000001}",
      "← answer  delete_record",
      " error R-7 is under audit",
      "→ call    slow_export {\"format\":\"csv\"}",
      "· waiting slow_export",
      "× cancel  slow_export after 1.",
      " s timeout, its handler is stopped",
      "client_tool_timeout",
      "completed, 5 tool calls",
      "→ call    slow_export {\"format\":\"pdf\"}",
      "❯ cancel the turn",
      "× cancel  slow_export",
      " cancelled, its handler is stopped",
      "cancelled, says the history",
      "Goodbye.",
      "completed, 0 tool calls"
    )
    assert.strictEqual(stdout.match(/✓/g)?.length, 7)
  })

  it("PGM-2 Ctrl-C ends it with code 130 and leaves nothing behind", async () => {
    using place = temporary()
    const { child, ended, said } = start(["demo"], { TMPDIR: place.path })
    await said("→ call    lookup_record")
    child.kill("SIGINT")
    const { code, stderr } = await ended
    assert.deepStrictEqual({ code, stderr }, { code: 130, stderr: "" })
    assert.deepStrictEqual(readdirSync(place.path), [])
  })

  it("PGM-2 a reader that goes away ends it, and it leaves nothing behind", async () => {
    using place = temporary()
    const { child, ended, said } = start(["demo"], { TMPDIR: place.path })
    await said("→ call    lookup_record")
    child.stdout.destroy()
    const { code } = await ended
    assert.strictEqual(code, 141)
    assert.deepStrictEqual(readdirSync(place.path), [])
  })
})
