import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { start, until } from "./McpRig.ts"

interface Seen {
  readonly method: string
  readonly headers: IncomingMessage["headers"]
  readonly rpc: string | undefined
}

/** What a loopback server does with a message; undefined leaves it to the manners below. */
type Manners = (message: { id?: number; method: string }, response: ServerResponse) => boolean

/** A server with one tool that answers calls as server-sent events and everything else as JSON. */
const loopback = Effect.fnUntraced(function*(manners: Manners = () => false) {
  const seen: Array<Seen> = []
  const open: { stream: ServerResponse | undefined } = { stream: undefined }
  let tools = ["first"]
  const handle = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const message = body === "" ? undefined : JSON.parse(body)
    seen.push({ method: request.method!, headers: request.headers, rpc: message?.method })
    if (request.method === "DELETE") return response.writeHead(200).end()
    if (request.method === "GET") {
      open.stream = response
      response.writeHead(200, { "content-type": "text/event-stream" })
      return response.flushHeaders()
    }
    if (manners(message, response)) return
    if (message.id === undefined) return response.writeHead(202).end()
    const result = message.method === "initialize"
      ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "h", version: "1" } }
      : message.method === "tools/list"
      ? { tools: tools.map((name) => ({ name, inputSchema: { type: "object" } })) }
      : { content: [{ type: "text", text: `called ${message.params.name}` }] }
    const json = JSON.stringify({ jsonrpc: "2.0", id: message.id, result })
    if (message.method !== "tools/call") {
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s-1" })
      return response.end(json)
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    // one event in three lines and cut in the middle
    response.write(`: hello\r\nid: 1\r\nevent: message\r\ndata: ${json.slice(0, 20)}`)
    setImmediate(() => response.end(`${json.slice(20)}\r\n\r\n`))
  }
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => body += chunk)
        request.on("end", () => handle(request, response, body))
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  const change = () => {
    tools = [...tools, "second"]
    open.stream?.write("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return { url, seen, open, change }
})

describe("program 3: MCP servers over HTTP", { timeout: 60_000 }, () => {
  it.effect("BLT-5 a session, its version and the configured headers go with every message, and the session is ended", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* loopback()
      const scope = yield* Scope.make()
      const servers = yield* Scope.provide(start({ web: { url, headers: { "x-key": "k" } } }), scope)
      assert.strictEqual(yield* servers.text("mcp__web__first"), "called first")
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        seen.filter(({ method }) => method !== "GET").map(({ headers, method, rpc }) => [
          method,
          rpc,
          headers["x-key"],
          headers["mcp-session-id"],
          headers["mcp-protocol-version"]
        ]),
        [
          ["POST", "initialize", "k", undefined, undefined],
          ["POST", "notifications/initialized", "k", "s-1", "2025-06-18"],
          ["POST", "tools/list", "k", "s-1", "2025-06-18"],
          ["POST", "tools/call", "k", "s-1", "2025-06-18"],
          ["DELETE", undefined, "k", "s-1", "2025-06-18"]
        ]
      )
    }))

  it.effect("BLT-5 what the server sends of itself is heard: its tools are asked for again", () =>
    Effect.gen(function*() {
      const { change, open, url } = yield* loopback()
      const { tools } = yield* start({ web: { url } })
      yield* until(() => open.stream !== undefined)
      change()
      yield* until(() => tools().length === 2)
      assert.deepStrictEqual(tools().map(({ name }) => name), ["mcp__web__first", "mcp__web__second"])
    }))

  it.effect.each([
    ["before anything came", null],
    ["in the middle of a stream", "text/event-stream"],
    ["in the middle of an answer", "application/json"]
  ])(
    "CAN-2 BLT-5 interrupting a call closes its request and tells the server, %s",
    ([, type]) =>
      Effect.gen(function*() {
        let hanging: ServerResponse | undefined
        let closed = false
        const { seen, url } = yield* loopback((message, response) => {
          if (message.method !== "tools/call") return false
          hanging = response
          response.on("close", () => closed = true)
          if (type !== null) response.writeHead(200, { "content-type": type }).write("data: {")
          return true
        })
        const { call } = yield* start({ web: { url } })
        const fiber = yield* Effect.forkChild(call("mcp__web__first"))
        yield* until(() => hanging !== undefined)
        yield* Fiber.interrupt(fiber)
        yield* until(() => closed && seen.some(({ rpc }) => rpc === "notifications/cancelled"))
      })
  )

  it.effect("BLT-5 a refusal fails the call, an answer without one may have executed, and a lost session is begun again", () =>
    Effect.gen(function*() {
      let how = 400
      const { seen, url } = yield* loopback((message, response) => {
        if (message.method !== "tools/call" || how === 0) return false
        response.writeHead(how, { "content-type": "application/json" }).end(how === 200 ? "" : "went\u0007 wrong")
        return true
      })
      const { call, text } = yield* start({ web: { url } })
      assert.deepStrictEqual(yield* call("mcp__web__first"), {
        _tag: "Refused",
        code: "mcp_unavailable",
        message:
          "The MCP server web did not take the call: the server answered with HTTP status 400: went\ufffd wrong. It was not executed."
      })
      for (how of [408, 500, 504]) {
        const outcome = yield* call("mcp__web__first")
        assert.include(outcome, { _tag: "Uncertain", code: "mcp_lost" })
        assert.match("message" in outcome ? outcome.message : "", /HTTP status .*It may have executed/)
      }
      how = 499
      assert.include(yield* call("mcp__web__first"), { _tag: "Refused", code: "mcp_unavailable" })
      how = 200
      assert.include(yield* call("mcp__web__first"), { _tag: "Uncertain", code: "mcp_lost" })
      how = 307
      assert.include(yield* call("mcp__web__first"), { _tag: "Refused", code: "mcp_unavailable" })
      how = 404
      yield* call("mcp__web__first")
      how = 0
      yield* Effect.yieldNow
      yield* TestClock.adjust(500)
      yield* until(() => seen.filter(({ rpc }) => rpc === "tools/list").length === 2)
      while ((yield* text("mcp__web__first")) !== "called first") {
        yield* Effect.promise(() => new Promise(setImmediate))
      }
    }))

  it.effect("BLT-5 of a refusal without end the beginning is read, and one that stops is left when its call is", () =>
    Effect.gen(function*() {
      let endless = true
      let closed = 0
      let begun = 0
      const { url } = yield* loopback((message, response) => {
        if (message.method !== "tools/call") return false
        begun++
        response.on("close", () => closed++)
        response.writeHead(500)
        const pour = (): void => {
          while (response.write("z".repeat(65_536)));
          response.once("drain", pour)
        }
        if (endless) pour()
        else response.write("wait")
        return true
      })
      const { call } = yield* start({ web: { url } })
      const outcome = yield* call("mcp__web__first")
      assert.match("message" in outcome ? outcome.message : "", /HTTP status 500: z{100,200}\S* It may have executed/)
      yield* until(() => closed === 1)
      endless = false
      const fiber = yield* Effect.forkChild(call("mcp__web__first"))
      yield* until(() => begun === 2)
      yield* Fiber.interrupt(fiber)
      yield* until(() => closed === 2)
    }))

  it.effect.each([["application/json", ""], ["text/event-stream", "data: "]] as const)(
    "BLT-5 WIR-43 a message of more than 16 MiB ends its call, as %s",
    ([type, before]) =>
      Effect.gen(function*() {
        const { url } = yield* loopback((message, response) => {
          if (message.method !== "tools/call") return false
          response.writeHead(200, { "content-type": type }).end(`${before}"${"x".repeat(16 * 1024 * 1024)}`)
          return true
        })
        const { call } = yield* start({ web: { url } })
        const outcome = yield* call("mcp__web__first")
        assert.match("message" in outcome ? outcome.message : "", /more than 16777216 bytes.*may have executed/)
      })
  )

  it.effect("BLT-5 WIR-43 a redirect is not followed, and told", () =>
    Effect.gen(function*() {
      const other = yield* loopback()
      const { url } = yield* loopback((message, response) => {
        if (message.method !== "tools/call") return false
        response.writeHead(307, { location: other.url }).end()
        return true
      })
      const { call } = yield* start({ web: { url, headers: { authorization: "Bearer abcdefgh12345678" } } })
      const outcome = yield* call("mcp__web__first")
      assert.include("message" in outcome ? outcome.message : "", `it redirects to ${other.url}`)
      assert.deepStrictEqual(other.seen, [])
    }))

  it.effect("BLT-5 a server that is not there is absent, and a start goes on", () =>
    Effect.gen(function*() {
      const { url } = yield* loopback()
      const { tools } = yield* start({ none: { url: "http://127.0.0.1:1/mcp" }, web: { url } })
      assert.deepStrictEqual(tools().map(({ name }) => name), ["mcp__web__first"])
    }))
})

/** A port that nobody listens on. */
const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

describe("program 3: the MCP server that everybody tests with", { timeout: 60_000 }, () => {
  it.live("BLT-5 is listed and called over pipes", () =>
    Effect.gen(function*() {
      const { call, text, tools } = yield* start({ every: { command: process.execPath, args: [everything, "stdio"] } })
      assert.include(tools().map(({ name }) => name), "mcp__every__echo")
      assert.strictEqual(yield* text("mcp__every__echo", "{\"message\":\"hi\"}"), "Echo: hi")
      assert.strictEqual((yield* call("mcp__every__echo", "{\"message\":5}"))._tag, "Failure")
      const structured = yield* call("mcp__every__get-structured-content", "{\"location\":\"Chicago\"}")
      assert.strictEqual(structured._tag === "Success" && structured.structured?.startsWith("{\"temperature\":"), true)
    }))

  it.live("BLT-5 is listed and called over HTTP", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, [everything, "streamableHttp"], {
            env: { ...process.env, PORT: String(port) },
            stdio: ["ignore", "pipe", "pipe"]
          })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      let said = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => said += chunk)
      yield* until(() => said.includes("listening") || child.exitCode !== null)
      const { text } = yield* start({ every: { url: `http://127.0.0.1:${port}/mcp` } })
      assert.strictEqual(yield* text("mcp__every__echo", "{\"message\":\"hi\"}"), "Echo: hi")
    }))
})
