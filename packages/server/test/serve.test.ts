/** What only a real process shows: pipes that nobody reads, signals, memory, and what is left when somebody dies. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { alive, binary, Place, Served } from "./ServeRig.ts"

const tool = { name: "client__a", description: "A tool.", input_schema: { type: "object" } }
const callA = { tool_calls: [{ name: "client__a", arguments: {} }] }

describe("sections 1 and 6: the process", { timeout: 60_000 }, () => {
  for (const pending of [0, 3]) {
    it(`CLS-3 faults G3 SIGKILL of the parent with ${pending} pending calls leaves no child after 3 s`, async () => {
      using place = new Place()
      const script = place.script([{ tool_calls: Array.from({ length: pending }, () => callA.tool_calls[0]) }, {
        text: "x"
      }])
      const parent = spawn(process.execPath, [
        "--input-type=module",
        "-e",
        `
        import { execFileSync, spawn } from "node:child_process"
        const child = spawn(process.execPath, [${
          JSON.stringify(binary)
        }, "serve", "--stdio"], { stdio: ["pipe", "pipe", "ignore"] })
        let seen = ""
        const send = (frame) => child.stdin.write(JSON.stringify(frame) + "\\n")
        const steps = {
          '"id":"1"': () => send({ id: "2", method: "session.create" }),
          '"id":"2"': () => send({ id: "3", method: "turn.start", params: { session_id: /"session_id":"([^"]+)"/.exec(seen)[1], prompt: "go" } }),
          '"id":"3"': () => {}
        }
        child.stdout.setEncoding("utf8").on("data", (text) => {
          seen += text
          for (const [id, step] of Object.entries(steps)) if (seen.includes(id)) { delete steps[id]; step() }
          const calls = seen.split('"event":"client.tool.call"').length - 1
          if (calls === ${pending} && Object.keys(steps).length === 0) process.stdout.write(child.pid + "\\n")
        })
        send({ id: "1", method: "initialize", params: { required_capabilities: ["client.tools"], client_tools: [${
          JSON.stringify(tool)
        }] } })
        setInterval(() => {}, 1000)
      `
      ], {
        env: { PATH: process.env["PATH"], ERRAND_HOME: place.home, ERRAND_MODEL: `script:${script}` },
        stdio: ["ignore", "pipe", "inherit"]
      })
      const [line] = await once(parent.stdout!, "data")
      const pid = Number(String(line))
      assert.isTrue(alive(pid))
      const since = performance.now()
      parent.kill("SIGKILL")
      while (alive(pid) && performance.now() - since < 5000) await new Promise((done) => setTimeout(done, 20))
      assert.isBelow(performance.now() - since, 3000)
    })
  }

  it("CLS-4 CLS-5 WIR-10 faults G3 stdin from /dev/null ends at once with code 0", async () => {
    const child = spawn(process.execPath, [binary, "serve", "--stdio"], {
      stdio: [openSync("/dev/null", "r"), "pipe", "pipe"]
    })
    const [code] = await once(child, "close")
    assert.strictEqual(code, 0)
  })

  it("FRM-1 stderr that nobody reads never blocks and costs bounded memory", async () => {
    using place = new Place()
    using served = new Served(place, { args: ["--log-level", "trace"], root: [{ text: "ok", times: 10_000 }] })
    const session_id = await served.session()
    for (let i = 0; i < 200; i++) {
      await served.ask(`t${i}`, "turn.start", { session_id, prompt: `${i}` })
      await served.next((frame) => frame.event === "run.finished")
    }
    assert.isBelow(served.memory(), 200)
  })

  it("FRM-9 REQ-4 a client that sends garbage at full speed costs bounded memory, and is still answered", async () => {
    using place = new Place()
    using served = new Served(place)
    await served.ask("first", "status")
    const garbage = Buffer.from(`${"x{[\"".repeat(200)}\n`.repeat(80))
    const until = performance.now() + 4000
    while (performance.now() < until) {
      if (!served.child.stdin!.write(garbage)) await once(served.child.stdin!, "drain")
      served.frames.length = Math.min(served.frames.length, 10)
    }
    assert.isBelow(served.memory(), 250)
    served.child.stdin!.end()
    assert.deepStrictEqual(await served.exited, { code: 0, signal: null })
  })

  it("FRM-4 faults G9 fifty megabytes without a line end close at once with code 65 and are not kept", async () => {
    using place = new Place()
    using served = new Served(place)
    await served.ask("first", "status")
    const chunk = Buffer.alloc(1 << 20, 0x20)
    for (let i = 0; i < 50; i++) served.child.stdin!.write(chunk)
    assert.strictEqual((await served.exited).code, 65)
    assert.deepStrictEqual(served.frames.at(-1).data, { reason: "input_overflow" })
  })

  it("CAL-6 faults C1 a process that was stopped over a deadline finds the late result stale", async () => {
    using place = new Place()
    using served = new Served(place, { root: [callA, { text: "{{results}}" }] })
    const session_id = await served.session([{ ...tool, timeout_ms: 1000 }])
    await served.ask("t", "turn.start", { session_id, prompt: "go" })
    const call = await served.next((frame) => frame.event === "client.tool.call")
    served.child.kill("SIGSTOP")
    const { arguments: _, name: __, timeout_ms: ___, ...identity } = call.data
    served.send({
      id: "r",
      method: "client.tool.result",
      params: { instance_id: call.instance_id, ...identity, status: "success", text: "late" }
    })
    await new Promise((done) => setTimeout(done, 1200))
    served.child.kill("SIGCONT")
    assert.strictEqual((await served.next((frame) => frame.id === "r")).error.code, "stale_client_tool_call")
    await served.next((frame) => frame.event === "run.finished")
    const [cancel] = served.frames.filter((frame) => frame.event === "client.tool.cancel")
    assert.strictEqual(cancel.data.reason, "timeout")
  })

  it("CLS-1 CLS-2 CLS-4 WIR-51 what nobody caught closes in order with internal_error and 70, and leaves no child", async () => {
    using place = new Place()
    const bug = "process.on('SIGUSR2', () => { throw new Error('a bug') })"
    const file = join(place.path, "pid")
    const command = { name: "run_command", arguments: { command: `echo $$ > ${file}; exec sleep 100` } }
    using served = new Served(place, {
      node: ["--import", `data:text/javascript,${encodeURIComponent(bug)}`],
      root: [{ tool_calls: [...callA.tool_calls, command] }]
    })
    const session_id = await served.session([tool])
    const { result: { run_id } } = await served.ask("t", "turn.start", { session_id, prompt: "go" })
    const { data: { approval_id } } = await served.next((frame) => frame.event === "approval.requested")
    await served.ask("a", "approval.answer", { session_id, run_id, approval_id, allow: true })
    while (!existsSync(file) || readFileSync(file, "utf8") === "") await new Promise((done) => setTimeout(done, 20))
    const pid = Number(readFileSync(file, "utf8"))
    assert.isTrue(alive(pid))
    served.child.kill("SIGUSR2")
    assert.deepStrictEqual(await served.exited, { code: 70, signal: null })
    assert.isFalse(alive(pid))
    const ends = served.frames.filter(({ event }) => /cancel$|finished$|closing$/.test(event ?? ""))
    assert.deepStrictEqual(ends.map(({ data }) => data.reason ?? data.status), [
      "shutdown",
      "cancelled",
      "internal_error"
    ])
  })

  const endings: Record<string, readonly [end: (served: Served) => void, code: number]> = {
    "shutdown": [(served) => served.send({ id: "bye", method: "shutdown" }), 0],
    "the end of input": [({ child }) => child.stdin!.end(), 0],
    "SIGTERM": [({ child }) => child.kill("SIGTERM"), 143],
    "a line too long": [({ child }) => child.stdin!.write(" ".repeat(65_537)), 65]
  }
  for (const [how, [end, code]] of Object.entries(endings)) {
    it(`CLS-3 CLS-4 after ${how} it exits with ${code} in time, though a thread waits for a file for ever`, async () => {
      using place = new Place()
      const pipe = join(place.path, "pipe")
      execFileSync("mkfifo", [pipe])
      const waiting = `import { readFile } from "node:fs"; readFile(${JSON.stringify(pipe)}, () => {})`
      using served = new Served(place, { node: ["--import", `data:text/javascript,${encodeURIComponent(waiting)}`] })
      await served.session()
      const since = performance.now()
      end(served)
      assert.deepStrictEqual(await served.exited, { code, signal: null })
      assert.isBelow(performance.now() - since, 2500)
    })
  }
})
