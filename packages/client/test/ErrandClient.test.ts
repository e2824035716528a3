import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { fileURLToPath } from "node:url"
import { ErrandClient, RequestRefused, ServerSpawnFailed, tool, ToolAnswer, type TurnEvent } from "../src/index.ts"
import { FakeServer } from "./FakeServer.ts"

const fixture = fileURLToPath(new URL("fixtures/server.mjs", import.meta.url))
const spawned = { command: process.execPath, args: [fixture, "plain"] }

const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const turn = () => new Promise<void>((done) => setImmediate(done))

const lookup = tool(
  {
    name: "lookup_record",
    description: "Looks up a record.",
    parameters: Schema.Struct({ record_id: Schema.String }),
    success: Schema.Struct({ title: Schema.String })
  },
  async ({ record_id }) => ({ title: `record ${record_id}` })
)

describe("the face for promises", () => {
  it("runs a turn of a spawned server with tools, and closes without an orphan", async () => {
    let pid: number
    {
      await using client = await ErrandClient.start({ ...spawned, tools: [lookup] })
      pid = Number(client.server.server.version)
      const session = await client.session()
      const events: Array<TurnEvent["_tag"]> = []
      for await (const event of session.turn("7")) events.push(event._tag)
      assert.deepStrictEqual(events, ["Started", "ToolCalled", "ToolAnswered", "Message", "Finished"])
      assert.strictEqual(await session.ask("8"), "success: record 8")
      assert.isTrue(alive(pid))
    }
    assert.isFalse(alive(pid))
  })

  it("a second close does nothing", async () => {
    const client = await ErrandClient.start(spawned)
    await client.close()
    await client.close()
  })

  it("errors reject as they are", async () => {
    const missing = await ErrandClient.start({ command: "/no/such/errand" }).catch((error: unknown) => error)
    assert.instanceOf(missing, ServerSpawnFailed)
    const fake = new FakeServer({
      request: ({ id, method }, fake) => {
        if (method === "session.open") fake.error(id, "session_not_found", "no")
        return method === "session.open"
      }
    })
    await using client = await ErrandClient.start({ transport: fake.source })
    assert.instanceOf(await client.session("s-9").catch((error: unknown) => error), RequestRefused)
  })

  it("a start that is aborted rejects with the signal's reason and leaves no process; one aborted before begins nothing", async () => {
    const reason = new Error("enough")
    const abort = new AbortController()
    const fake = new FakeServer({
      request: () => {
        abort.abort(reason)
        return true
      }
    })
    const started = ErrandClient.start({ transport: fake.source, signal: abort.signal })
    assert.strictEqual(await started.catch((error: unknown) => error), reason)
    assert.lengthOf(fake.of("initialize"), 1)
    const again = ErrandClient.start({ transport: fake.source, signal: abort.signal })
    assert.strictEqual(await again.catch((error: unknown) => error), reason)
    assert.lengthOf(fake.of("initialize"), 1)
    const pids: Array<number> = []
    const log = (text: string) => {
      pids.push(Number(text))
      late.abort(reason)
    }
    const late = new AbortController()
    const silent = ["-e", "process.stderr.write(String(process.pid)); setInterval(() => {}, 1000)"]
    const spawning = ErrandClient.start({ ...spawned, args: silent, closeMs: 50, log, signal: late.signal })
    assert.strictEqual(await spawning.catch((error: unknown) => error), reason)
    assert.deepStrictEqual(pids.map(alive), [false])
  })

  it("a signal that is aborted after the start is over changes nothing", async () => {
    const abort = new AbortController()
    await using client = await ErrandClient.start({ ...spawned, signal: abort.signal })
    abort.abort()
    assert.isTrue(alive(Number(client.server.server.version)))
    assert.strictEqual((await client.session()).id, "s-1")
  })

  it("leaving the loop cancels the turn and waits for its end", async () => {
    const fake = new FakeServer()
    await using client = await ErrandClient.start({ transport: fake.source })
    const session = await client.session()
    for await (const event of session.turn("go")) {
      assert.strictEqual(event._tag, "Started")
      break
    }
    assert.lengthOf(fake.of("turn.cancel"), 1)
    const again = session.ask("go")
    await turn()
    fake.finish()
    assert.strictEqual(await again, "")
  })

  it("an aborted turn rejects with the signal's reason and is cancelled; one aborted before does not begin", async () => {
    const fake = new FakeServer()
    await using client = await ErrandClient.start({ transport: fake.source })
    const session = await client.session()
    const abort = new AbortController()
    const reason = new Error("enough")
    const seen: Array<string> = []
    const read = async () => {
      for await (const event of session.turn("go", abort)) {
        seen.push(event._tag)
        abort.abort(reason)
      }
    }
    assert.strictEqual(await read().catch((error: unknown) => error), reason)
    assert.deepStrictEqual(seen, ["Started"])
    assert.lengthOf(fake.of("turn.cancel"), 1)
    assert.strictEqual(await session.ask("go", abort).catch((error: unknown) => error), reason)
    assert.strictEqual(await read().catch((error: unknown) => error), reason)
    assert.lengthOf(fake.of("turn.start"), 1)
    const later = new AbortController()
    const asked = session.ask("go", later).catch((error: unknown) => error)
    await turn()
    later.abort(reason)
    assert.strictEqual(await asked, reason)
    assert.lengthOf(fake.of("turn.cancel"), 2)
  })

  it("a signal that is aborted while the turn begins, by what it begins, ends it all the same", async () => {
    const reason = new Error("enough")
    let abort = new AbortController()
    const fake = new FakeServer({
      request: ({ method }) => {
        if (method === "turn.start") abort.abort(reason)
        return false
      }
    })
    await using client = await ErrandClient.start({ transport: fake.source })
    const session = await client.session()
    // so long that it is written at once, and not at the end of the tick
    const prompt = "x".repeat(5000)
    assert.strictEqual(await session.ask(prompt, abort).catch((error: unknown) => error), reason)
    abort = new AbortController()
    const read = async () => {
      for await (const event of session.turn(prompt, abort)) assert.strictEqual(event._tag, "Started")
    }
    assert.strictEqual(await read().catch((error: unknown) => error), reason)
    assert.lengthOf(fake.of("turn.cancel"), 2)
  })

  it("CLI-1 a tool with a plain JSON Schema gets checked plain data; none at all takes no arguments", async () => {
    const fake = new FakeServer()
    const add = tool({
      name: "add",
      description: "Adds.",
      parameters: { type: "object", properties: { a: { type: "integer" } }, required: ["a"] }
    }, ({ a }) => ({ sum: Number(a) + 1 }))
    const ping = tool({ name: "ping", description: "Pings." }, () => "pong")
    await using _client = await ErrandClient.start({ transport: fake.source, tools: [add, ping] })
    fake.call("c-1", "client__add", `{"a":1}`)
    fake.call("c-2", "client__add", `{"a":"1"}`)
    fake.call("c-3", "client__add", `{"a":9007199254740993}`)
    fake.call("c-4", "client__ping", `{}`)
    fake.call("c-5", "client__ping", `{"x":1}`)
    await turn()
    const said = fake.answers.map(({ call_id, status, structured, text }) => [call_id, status, structured ?? text])
    assert.deepStrictEqual(said.sort(), [
      ["c-1", "success", { sum: 2 }],
      ["c-2", "error", "The arguments do not fit: a: expected integer"],
      ["c-3", "error", "The arguments do not fit: a: the number has more digits than can be kept"],
      ["c-4", "success", "pong"],
      ["c-5", "error", "The arguments do not fit: x: must not be there"]
    ])
  })

  it("CLI-1 an answer is encoded with its schema, whatever the parameters are", async () => {
    const fake = new FakeServer()
    const success = Schema.Struct({ at: Schema.DateFromString })
    const tools = [
      tool({ name: "a", description: "d", success }, () => ({ at: new Date(0) })),
      tool({ name: "b", description: "d", parameters: { type: "object" }, success }, () => ({ at: new Date(0) }))
    ]
    await using _client = await ErrandClient.start({ transport: fake.source, tools })
    for (const name of ["a", "b"]) fake.call(`c-${name}`, `client__${name}`)
    await turn()
    const at = "1970-01-01T00:00:00.000Z"
    assert.deepStrictEqual(fake.answers.map(({ structured }) => structured), [{ at }, { at }])
  })

  it("CLI-2 a handler that throws or rejects answers error, and a ready answer goes as it is", async () => {
    const fake = new FakeServer()
    const described = { description: "d" }
    const tools = [
      tool({ name: "a", ...described }, () => {
        throw new Error("thrown")
      }),
      tool({ name: "b", ...described }, async () => {
        throw new Error("rejected")
      }),
      tool({ name: "c", ...described }, async () => ToolAnswer.structuredText(`{"n":12345678901234567890}`, "exact"))
    ]
    await using _client = await ErrandClient.start({ transport: fake.source, tools })
    for (const name of ["a", "b", "c"]) fake.call(`c-${name}`, `client__${name}`)
    await turn()
    assert.deepStrictEqual(fake.answers.map(({ status, text }) => [status, text]), [
      ["error", "thrown"],
      ["error", "rejected"],
      ["success", "exact"]
    ])
    assert.include(fake.of("client.tool.result")[2]!.line, `{"n":12345678901234567890}`)
  })

  it("CLI-2 a cancel notice and the loss of the server abort the handler's signal", async () => {
    const fake = new FakeServer()
    const aborted: Array<string> = []
    const wait = tool(
      { name: "wait", description: "d" },
      (_, { callId, signal }) =>
        new Promise((done) =>
          signal.addEventListener("abort", () => {
            aborted.push(callId)
            done("late")
          })
        )
    )
    await using client = await ErrandClient.start({ transport: fake.source, tools: [wait] })
    fake.call("c-1", "client__wait")
    fake.call("c-2", "client__wait")
    fake.cancel("c-1")
    await turn()
    assert.deepStrictEqual(aborted, ["c-1"])
    fake.exit({ code: 1 })
    await client.lost()
    await turn()
    assert.deepStrictEqual(aborted, ["c-1", "c-2"])
    assert.lengthOf(fake.answers, 0)
  })

  it("TRN-8 approvals are asked with a signal, and a rejection says no", async () => {
    const fake = new FakeServer()
    await using _client = await ErrandClient.start({
      transport: fake.source,
      approve: async ({ name }) => {
        if (name === "bad") throw new Error("no")
        return name === "good"
      }
    })
    for (const name of ["good", "other", "bad"]) {
      fake.event("approval.requested", { approval_id: name, activity_id: "x", name, summary: "s", expires_in_ms: 1 })
    }
    await turn()
    const answers = fake.of("approval.answer").map(({ params }) => [params.approval_id, params.allow])
    assert.deepStrictEqual(answers.sort(), [["bad", false], ["good", true], ["other", false]])
  })
})
