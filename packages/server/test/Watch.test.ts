import { assert, describe, it } from "@effect/vitest"
import type { Events, Ids, JsonText } from "@errand/protocol"
import {
  type ModelEvent,
  ModelFailed,
  type ModelRequest,
  ModelTurn,
  type ToolInvocation,
  type ToolOutcome
} from "@errand/runtime"
import { TestServer } from "@errand/testing"
import { Effect, Exit, Fiber, Layer, Metric, Option, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Telemetry from "../src/Telemetry.ts"
import * as Watch from "../src/Watch.ts"
import * as Rig from "./AgentRig.ts"

const SECRET = "what the user said"

const event = (event: string, data: object) =>
  ({ event, data: { session_id: "s1", run_id: "r1", ...data } }) as unknown as Events.ServerEvent

const started = event("run.started", {})
const finished = (status: string, error: object | null = null) =>
  event("run.finished", {
    status,
    error,
    history_revision: "1",
    usage: { input_tokens: 30, output_tokens: 5, model_requests: 2, tool_calls: 1 }
  })
const activity = (activity_id: string, status: string, more: object = {}) =>
  event("tool.activity", {
    activity_id,
    parent_id: null,
    task_id: null,
    subagent_id: null,
    name: "client__a",
    status,
    ...more
  })

const request: ModelRequest = {
  instructions: SECRET,
  messages: [{ role: "user", text: SECRET }],
  tools: [],
  agent: SECRET
}

const invocation = (activityId: string) =>
  ({
    activityId: activityId as Ids.ActivityId,
    name: "client__a",
    arguments: `{"a":"${SECRET}"}` as JsonText,
    depth: 1,
    timeoutMs: 1000
  }) as ToolInvocation

/** A watch whose spans are kept, and an outbox that hands on what it sees. */
const watched = Effect.gen(function*() {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const watch = yield* Watch.make(tracer, new Map())
  const passed: Array<Events.ServerEvent> = []
  const outbox = watch.outbox({
    enqueue: (event) => void passed.push(event),
    offer: (event) => event.event !== "message.delta"
  })
  return { watch, spans, passed, outbox }
})

const modelOf = (watch: Watch.Watch, answer: Stream.Stream<ModelEvent, ModelFailed>) =>
  Effect.flatMap(ModelTurn, (model) => Effect.exit(Stream.runCollect(model.turn(request)))).pipe(
    Effect.provide(watch.model.pipe(
      Layer.provide(Layer.succeed(ModelTurn, { provider: "acme", name: "acme-1", turn: () => answer }))
    ))
  )

/** A span as name, parent, attributes and whether it failed. */
const told = (span: Tracer.Span) => ({
  name: span.name,
  parent: Option.match(span.parent, {
    onNone: () => null,
    onSome: (parent) => parent._tag === "Span" ? parent.name : "elsewhere"
  }),
  attributes: Object.fromEntries(span.attributes),
  failed: span.status._tag === "Ended" ? Exit.isFailure(span.status.exit) : "open"
})

const answer: ReadonlyArray<ModelEvent> = [
  { _tag: "TextDelta", text: SECRET },
  { _tag: "Finish", usage: { inputTokens: 12, outputTokens: 3 } }
]

const success: ToolOutcome = { _tag: "Success", text: SECRET }

describe("OBS-1 spans", () => {
  it.effect("OBS-1 a run, its model requests, its tool calls and its client calls, each under what it belongs to", () =>
    Effect.gen(function*() {
      const { outbox, passed, spans, watch } = yield* watched
      const events = [started, activity("a1", "running"), activity("a1", "success"), finished("completed")]
      outbox.enqueue(events[0]!)
      yield* modelOf(watch, Stream.fromIterable(answer))
      outbox.enqueue(events[1]!)
      const call = yield* Effect.forkChild(watch.call(() => Effect.as(Effect.sleep(250), success))(invocation("a1")), {
        startImmediately: true
      })
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(yield* Fiber.join(call), success)
      outbox.enqueue(events[2]!)
      outbox.enqueue(events[3]!)
      assert.deepStrictEqual(passed, events)
      assert.deepStrictEqual(spans.map(told), [
        {
          name: "invoke_agent errand",
          parent: null,
          attributes: {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "errand",
            "gen_ai.conversation.id": "s1",
            "errand.run.id": "r1",
            "errand.run.status": "completed",
            "gen_ai.usage.input_tokens": 30,
            "gen_ai.usage.output_tokens": 5
          },
          failed: false
        },
        {
          name: "chat acme-1",
          parent: "invoke_agent errand",
          attributes: {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "acme",
            "gen_ai.request.model": "acme-1",
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.output_tokens": 3
          },
          failed: false
        },
        {
          name: "execute_tool client__a",
          parent: "invoke_agent errand",
          attributes: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "client__a",
            "gen_ai.tool.call.id": "a1",
            "errand.tool.outcome": "success"
          },
          failed: false
        },
        {
          name: "client_call client__a",
          parent: "execute_tool client__a",
          attributes: {
            "gen_ai.tool.name": "client__a",
            "errand.client_call.timeout_ms": 1000,
            "errand.client_call.outcome": "success"
          },
          failed: false
        }
      ])
      const waited = spans[3]!.status
      assert.strictEqual(waited._tag === "Ended" && waited.endTime - waited.startTime, 250_000_000n)
    }))

  it.effect("OBS-1 what fails, is refused, cancelled or interrupted says so by its code", () =>
    Effect.gen(function*() {
      const { outbox, spans, watch } = yield* watched
      outbox.enqueue(started)
      yield* modelOf(watch, Stream.fail(new ModelFailed({ code: "context_overflow", message: SECRET })))
      for (
        const [id, status] of [["a1", "denied"], ["a2", "cancelled"], ["a3", "unknown"], ["a4", "failure"]] as const
      ) {
        outbox.enqueue(
          activity(id, "running", { parent_id: id === "a4" ? "a3" : null, task_id: id === "a4" ? "t1" : null })
        )
        if (id !== "a3") outbox.enqueue(activity(id, status))
      }
      outbox.enqueue(activity("a3", "unknown"))
      const refused: ToolOutcome = { _tag: "Refused", code: "client_tool_busy", message: SECRET }
      yield* watch.call(() => Effect.succeed(refused))(invocation("gone"))
      const waiting = yield* Effect.forkChild(watch.call(() => Effect.never)(invocation("gone")), {
        startImmediately: true
      })
      yield* Fiber.interrupt(waiting)
      outbox.enqueue(finished("failed", { code: "context_overflow", message: SECRET }))
      assert.deepStrictEqual(
        spans.map(told).map((
          { attributes, failed, name, parent }
        ) => [name.split(" ")[0], parent?.split(" ")[0], attributes["error.type"], failed]),
        [
          ["invoke_agent", undefined, "context_overflow", true],
          ["chat", "invoke_agent", "context_overflow", true],
          ["execute_tool", "invoke_agent", "denied", true],
          ["execute_tool", "invoke_agent", "cancelled", true],
          ["execute_tool", "invoke_agent", "unknown", true],
          ["execute_tool", "execute_tool", "failure", true],
          ["client_call", "invoke_agent", "client_tool_busy", true],
          ["client_call", "invoke_agent", "interrupted", true]
        ]
      )
    }))

  it.effect("OBS-1 events that wait for room are handed on, withdrawn and counted like any", () =>
    Effect.gen(function*() {
      const registry = new Map()
      const watch = yield* Watch.make(yield* Tracer.Tracer, registry)
      const line: Array<() => void> = []
      const outbox = watch.outbox({
        enqueue: (_, queued) => {
          line.push(queued!)
          return { withdraw: () => line.splice(line.indexOf(queued!), 1).length === 1 }
        },
        offer: () => true
      })
      const waiting = Effect.map(
        Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry),
        (metrics) => metrics.flatMap((one) => one.id === "errand.event.waiting" ? [one.state] : [])
      )
      let entered = 0
      outbox.enqueue(activity("a1", "running"), () => entered++)
      const second = outbox.enqueue(activity("a2", "running"), () => entered++)
      assert.deepStrictEqual(yield* waiting, [{ value: 2 }])
      assert.isTrue(second!.withdraw())
      line[0]!()
      assert.strictEqual(entered, 1)
      assert.deepStrictEqual(yield* waiting, [{ value: 0 }])
    }))

  it.effect("OBS-1 names that a model makes up are no series without end: beyond 256 they are counted as one", () =>
    Effect.gen(function*() {
      const registry = new Map()
      const watch = yield* Watch.make(yield* Tracer.Tracer, registry)
      const outbox = watch.outbox({ enqueue: () => undefined, offer: () => true })
      for (let n = 0; n < 1000; n++) {
        outbox.enqueue(activity(`a${n}`, "running", { name: `made_up_${n}` }))
        outbox.enqueue(activity(`a${n}`, "error", { name: `made_up_${n}` }))
      }
      outbox.enqueue(activity("b", "success", { name: "made_up_7" }))
      const metrics = yield* Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry)
      const counts = metrics.flatMap((one) =>
        one.id === "errand.tool_call.count" ? [[Object.values(one.attributes ?? {}).join(" "), one.state]] : []
      )
      assert.strictEqual(counts.length, 258)
      assert.deepInclude(counts, ["_OTHER error", { count: 744, incremental: true }])
      assert.deepInclude(counts, ["made_up_7 success", { count: 1, incremental: true }])
    }))

  it.effect("OBS-1 the frames of a connection are counted both ways, and the queue's depth is told", () =>
    Effect.gen(function*() {
      const registry = new Map()
      const watch = yield* Watch.make(yield* Tracer.Tracer, registry)
      const { duplex, peer } = yield* TestServer.start({ watch })
      const session_id = yield* TestServer.session(peer)
      const metric = (id: string) =>
        Effect.map(
          Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry),
          (metrics) =>
            metrics.flatMap((one) => one.id === id ? [[one.attributes?.["network.io.direction"], one.state]] : [])
        )
      yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
      assert.deepStrictEqual(yield* metric("errand.frame.count"), [
        // `initialize` came before there was a watch
        ["transmit", { count: 2, incremental: true }],
        ["receive", { count: 1, incremental: true }]
      ])
      assert.deepStrictEqual(yield* metric("errand.queue.depth"), [[undefined, { value: 0 }]])
      duplex.stall(true)
      yield* Effect.forkChild(peer.ok("turn.start", { session_id, prompt: "go" }), { startImmediately: true })
      yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
      const [[, stalled]] = (yield* metric("errand.queue.depth")) as [[unknown, { value: number }]]
      assert.isAbove(stalled.value, 1)
      duplex.stall(false)
      yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
      assert.deepStrictEqual(yield* metric("errand.queue.depth"), [[undefined, { value: 0 }]])
      assert.deepStrictEqual((yield* metric("errand.frame.count"))[0], [
        "transmit",
        { count: peer.frames.length, incremental: true }
      ])
    }).pipe(Effect.scoped))

  it.effect("OBS-1 BLT-2 the requests of a subagent are under the task that it works on", () =>
    Effect.gen(function*() {
      const { spans, watch } = yield* watched
      const { peer } = yield* Rig.start({
        watch,
        script: {
          root: [{ tool_calls: [Rig.task("outer")] }, { text: "end" }],
          tasks: { outer: [{ tool_calls: [Rig.task("inner")] }, { text: "x" }], inner: [{ text: "y" }] }
        }
      })
      yield* Rig.turn(peer, yield* TestServer.session(peer))
      const nameOf = (span: Tracer.Span): string => {
        const above = Option.match(span.parent, {
          onNone: () => "",
          onSome: (parent) => parent._tag === "Span" ? `${nameOf(parent)} > ` : "elsewhere"
        })
        return above + span.name
      }
      const root = "invoke_agent errand"
      const chat = "chat script"
      assert.deepStrictEqual(spans.filter(({ name }) => name === chat).map(nameOf), [
        `${root} > ${chat}`,
        `${root} > execute_tool task > ${chat}`,
        `${root} > execute_tool task > execute_tool task > ${chat}`,
        `${root} > execute_tool task > ${chat}`,
        `${root} > ${chat}`
      ])
    }))

  it.effect("OBS-1 no span outlives its run", () =>
    Effect.gen(function*() {
      const { outbox, spans } = yield* watched
      for (const event of [started, activity("a1", "running"), finished("failed")]) outbox.enqueue(event)
      assert.deepStrictEqual(spans.map(told).map(({ attributes, failed }) => [attributes["error.type"], failed]), [
        ["failed", true],
        ["unfinished", true]
      ])
    }))

  it.effect("OBS-1 a request that nobody waits for any more ends its span", () =>
    Effect.gen(function*() {
      const { spans, watch } = yield* watched
      const waiting = yield* Effect.forkChild(modelOf(watch, Stream.never), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(spans.map(told).map(({ attributes, failed }) => [attributes["error.type"], failed]), [
        ["interrupted", true]
      ])
    }))
})

/** A collector on the loopback interface: what it was sent, by path. */
const collector = Effect.acquireRelease(
  Effect.callback<
    {
      readonly server: Server
      readonly sent: Array<readonly [path: string, text: string]>
      readonly headers: Array<unknown>
    }
  >((resume) => {
    const sent: Array<readonly [string, string]> = []
    const headers: Array<unknown> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        sent.push([String(request.url), Buffer.concat(chunks).toString()])
        headers.push(request.headers["x-team"])
        response.end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, sent, headers })))
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

const lookup = {
  name: "client__lookup_record",
  description: "Looks a record up.",
  input_schema: { type: "object" },
  timeout_ms: 1000
}

/** The demo's first turn with the built binary, cancelled once it has called a tool. */
const turnOfBinary = (env: object) =>
  Effect.callback<{ readonly out: string; readonly err: string }>((resume) => {
    const home = mkdtempSync(join(tmpdir(), "errand-watch-"))
    const bin = join(import.meta.dirname, "../bin/errand.mjs")
    const child = spawn(process.execPath, [bin, "serve", "--stdio", "--home", home], {
      env: { PATH: process.env["PATH"], ...env }
    })
    let out = ""
    let err = ""
    let step = 0
    const send = (method: string, params: object = {}) => {
      child.stdin.write(`${JSON.stringify({ id: `q${++step}`, method, params })}\n`)
    }
    const steps = [
      [`"id":"q1"`, () => send("session.create")],
      [`"id":"q2"`, () => send("turn.start", { session_id: /"session_id":"([^"]+)"/.exec(out)![1], prompt: SECRET })],
      [
        "client.tool.call",
        () =>
          send("turn.cancel", {
            session_id: /"session_id":"([^"]+)"/.exec(out)![1],
            run_id: /"run_id":"([^"]+)"/.exec(out)![1]
          })
      ],
      ["run.finished", () => child.stdin.end()]
    ] as const
    child.stderr.on("data", (chunk: Buffer) => err += chunk.toString())
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString()
      for (let next = steps[step - 1]; next !== undefined && out.includes(next[0]); next = steps[step - 1]) {
        const before = step
        next[1]()
        if (step === before) break
      }
    })
    child.on("close", () => {
      rmSync(home, { recursive: true, force: true })
      resume(Effect.succeed({ out, err }))
    })
    send("initialize", { required_capabilities: ["client.tools"], client_tools: [lookup] })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

describe("OBS-1 export", () => {
  it.live("OBS-1 a collector gets spans and metrics in their conventional names, and nothing that anybody said", () =>
    Effect.gen(function*() {
      const { headers, sent, server } = yield* collector
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      yield* Effect.scoped(Effect.gen(function*() {
        const watch = yield* Telemetry.exporting({ endpoint, headers: "x-team=a%20b,broken,bad=%zz" })
        const outbox = watch.outbox({ enqueue: () => undefined, offer: () => false })
        outbox.enqueue(started)
        yield* modelOf(watch, Stream.fromIterable(answer))
        outbox.enqueue(activity("a1", "running"))
        yield* watch.call(() => Effect.succeed(success))(invocation("a1"))
        outbox.enqueue(activity("a1", "success"))
        outbox.offer(event("message.delta", { text: SECRET }))
        outbox.enqueue(finished("completed"))
      }))
      const textOf = (path: string) => sent.filter(([sentTo]) => sentTo === path).map(([, text]) => text).join("\n")
      for (
        const name of [
          "invoke_agent errand",
          "chat acme-1",
          "execute_tool client__a",
          "client_call client__a",
          "errand"
        ]
      ) {
        assert.include(textOf("/v1/traces"), JSON.stringify(name))
      }
      for (
        const name of [
          "gen_ai.client.operation.duration",
          "gen_ai.client.token.usage",
          "errand.client_call.duration",
          "errand.client_call.pending",
          "errand.tool_call.count",
          "errand.run.count",
          "errand.event.count",
          "errand.event.lost"
        ]
      ) assert.include(textOf("/v1/metrics"), JSON.stringify(name))
      for (const [, text] of sent) assert.notInclude(text, SECRET)
      assert.include(headers, "a b")
    }).pipe(Effect.scoped))

  it.live("OBS-1 the built binary exports once the environment names a collector", () =>
    Effect.gen(function*() {
      const { sent, server } = yield* collector
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const told = yield* turnOfBinary({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
      assert.include(told.out, "run.finished")
      assert.strictEqual(told.err, "")
      const traces = sent.filter(([path]) => path === "/v1/traces").map(([, text]) => text).join("\n")
      for (const name of ["invoke_agent errand", "chat demo", "execute_tool client__lookup_record", "client_call"]) {
        assert.include(traces, name)
      }
      for (const [, text] of sent) {
        for (const said of [SECRET, "I look up the record", "R-7"]) assert.notInclude(text, said)
      }
      assert.isTrue(sent.some(([path]) => path === "/v1/metrics"))
    }).pipe(Effect.scoped))

  it.live("OBS-1 a collector that is gone keeps nobody waiting", () =>
    Effect.gen(function*() {
      const since = performance.now()
      yield* Effect.scoped(Effect.gen(function*() {
        const watch = yield* Telemetry.exporting({ endpoint: "http://127.0.0.1:1" })
        watch.outbox({ enqueue: () => undefined, offer: () => true }).enqueue(started)
        watch.outbox({ enqueue: () => undefined, offer: () => true }).enqueue(finished("completed"))
      }))
      assert.isBelow(performance.now() - since, 2000)
    }))
})
