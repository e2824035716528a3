/** What only a real process shows: the config file, stderr, and what is left of MCP servers and code when it ends. */
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { alive, Place, Served } from "../ServeRig.ts"
import { fixture } from "./McpRig.ts"

const start = (place: Place, config: object, root: ReadonlyArray<object>) => {
  mkdirSync(place.home, { recursive: true })
  writeFileSync(join(place.home, "config.json"), JSON.stringify(config))
  const served = new Served(place, { root })
  const stderr: Array<string> = []
  served.child.stderr!.setEncoding("utf8").on("data", (text: string) => stderr.push(text))
  return { served, stderr }
}

const gone = async (pids: ReadonlyArray<number>) => {
  while (pids.some(alive)) await new Promise((done) => setTimeout(done, 20))
}

describe("program 3: MCP servers and code of a process", { timeout: 60_000 }, () => {
  for (const [how, code] of [["SIGTERM", 143], ["shutdown", 0], ["end of input", 0]] as const) {
    it(`BLT-5 BLT-6 CLS-3 CLS-4 ${how} leaves no MCP server, also while its tool is called`, async () => {
      using place = new Place()
      const config = { mcpServers: { one: fixture() }, permissions: [{ tool: "mcp__*", allow: true }] }
      const { served } = start(place, config, [
        { tool_calls: [{ name: "mcp__one__children", arguments: {} }] },
        { text: "{{results}}", tool_calls: [{ name: "mcp__one__hang", arguments: {} }] }
      ])
      using _ = served
      const session_id = await served.session()
      await served.ask("turn", "turn.start", { session_id, prompt: "go" })
      const { data } = await served.next((frame) => frame.event === "message.reconcile")
      const pids = JSON.parse(JSON.parse(data.text)[0].result.text) as ReadonlyArray<number>
      assert.deepStrictEqual(pids.map(alive), [true, true])
      await served.next((frame) => frame.data?.name === "mcp__one__hang" && frame.data.status === "running")
      const since = performance.now()
      if (how === "SIGTERM") served.child.kill("SIGTERM")
      else if (how === "shutdown") served.send({ id: "bye", method: "shutdown" })
      else served.child.stdin!.end()
      assert.strictEqual((await served.exited).code, code)
      assert.isBelow(performance.now() - since, 3000)
      await gone(pids)
    })
  }

  it("BLT-5 a server that fails to start is told on stderr with what it wrote there, and the start goes on", async () => {
    using place = new Place()
    const mcpServers = { bad: fixture({ FIXTURE_MODE: "fails" }), gone: { command: "/no/such/program" } }
    const { served, stderr } = start(place, { mcpServers }, [{ text: "{{tools}}" }])
    using _ = served
    const session_id = await served.session()
    await served.ask("turn", "turn.start", { session_id, prompt: "go" })
    const { data } = await served.next((frame) => frame.event === "message.reconcile")
    assert.notInclude(data.text, "mcp__")
    assert.match(
      stderr.join(""),
      /mcp server bad cannot be used: it ended \(code 3\); it wrote: no such database; its tools are absent/
    )
    assert.match(
      stderr.join(""),
      /mcp server gone cannot be used: it cannot be started \(ENOENT\); its tools are absent/
    )
  })

  it("PGM-6 BLT-3 code_mode sets the bounds of code, or takes it away", async () => {
    using place = new Place()
    const steps = [{ tool_calls: [{ name: "run_code", arguments: { code: "for (;;) {}" } }] }, { text: "{{results}}" }]
    const bounded = start(place, { code_mode: { time_ms: 200 } }, steps)
    {
      using served = bounded.served
      const session_id = await served.session()
      await served.ask("turn", "turn.start", { session_id, prompt: "go" })
      const { data } = await served.next((frame) => frame.event === "message.reconcile")
      assert.include(data.text, "The code computed for more than 200 ms")
    }
    const off = start(place, { code_mode: { enabled: false } }, [{ text: "{{tools}}" }, ...steps])
    using served = off.served
    const session_id = await served.session()
    await served.ask("turn", "turn.start", { session_id, prompt: "go" })
    const { data } = await served.next((frame) => frame.event === "message.reconcile")
    assert.include(data.text, "run_command")
    assert.notInclude(data.text, "run_code")
  })

  it("PGM-6 BLT-5 a faulty server in the config file is named with its path, and nothing was started", async () => {
    using place = new Place()
    for (
      const mcpServers of [{ a: { url: "ftp://x" } }, { "a b": { command: "x" } }, {
        a: { command: "x", url: "http://x" }
      }]
    ) {
      const { served } = start(place, { mcpServers }, [])
      using _ = served
      const { error } = await served.ask("init", "initialize", { required_capabilities: [] })
      assert.strictEqual(error.code, "configuration_invalid")
      assert.match(error.message, /^config: mcpServers/)
    }
  })
})
