/** A server of section 1 to 10 in memory, driven by a test: it records requests and sends what it is told. */
import { Limits, Negotiation } from "@errand/protocol"
import * as Transport from "../src/Transport.ts"

export interface Seen {
  readonly id: string
  readonly method: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly params: any
  /** The line as it was written. */
  readonly line: string
}

export interface FakeOptions {
  readonly limits?: Partial<Limits.BaseLimits>
  readonly clientTools?: Partial<Limits.ClientToolLimits>
  /** Answers a request itself by returning true. */
  readonly request?: (seen: Seen, fake: FakeServer) => boolean
}

export const ids = { session_id: "s-1", run_id: "r-1" }

/** The text of a `client.tool.call` event's data. */
export const callData = (callId: string, name: string, args: string, more: object = {}): string =>
  JSON.stringify({ ...ids, call_id: callId, task_id: null, subagent_id: null, name, timeout_ms: 30_000, ...more })
    .replace(/}$/, `,"arguments":${args}}`)

export class FakeServer {
  readonly seen: Array<Seen> = []
  readonly writes: Array<string> = []
  instance = "i-1"
  seq = 0
  /** When a number, frames are sent in chunks of so many bytes. */
  cut: number | undefined
  private server: Transport.MemoryServer | undefined
  private readonly options: FakeOptions
  private held: string | undefined
  private readonly outbox: Array<Uint8Array> = []
  private ending: Partial<Transport.TransportEnd> | undefined

  constructor(options: FakeOptions = {}) {
    this.options = options
  }

  /** The transport to give to a client. */
  get source(): Transport.TransportSource {
    return Transport.memory({
      written: (text, server) => {
        this.server = server
        this.writes.push(text)
        for (const line of text.split("\n").slice(0, -1)) {
          const { id, method, params } = JSON.parse(line)
          const seen = { id, method, params, line }
          this.seen.push(seen)
          if (this.options.request?.(seen, this) !== true) this.answer(seen)
        }
      }
    })
  }

  /** The base limits that it tells. */
  get limits(): Limits.BaseLimits {
    return { ...Limits.defaults.base, ...this.options.limits }
  }

  of(method: string): ReadonlyArray<Seen> {
    return this.seen.filter((seen) => seen.method === method)
  }

  /** The params of all answers so far. */
  get answers(): ReadonlyArray<Seen["params"]> {
    return this.of("client.tool.result").map(({ params }) => params)
  }

  result(id: string, result: object): void {
    this.line(JSON.stringify({ id, instance_id: this.instance, result }))
  }

  error(id: string | null, code: string, message = "no"): void {
    this.line(JSON.stringify({ id, instance_id: this.instance, error: { code, message } }))
  }

  event(event: string, data: object | string = {}): void {
    const text = typeof data === "string" ? data : JSON.stringify({ ...ids, ...data })
    this.line(`{"event":${JSON.stringify(event)},"instance_id":"${this.instance}","seq":${++this.seq},"data":${text}}`)
  }

  call(callId: string, name: string, args = "{}", more: object = {}): void {
    this.event("client.tool.call", callData(callId, name, args, more))
  }

  cancel(callId: string, reason = "cancelled"): void {
    this.event("client.tool.cancel", { call_id: callId, task_id: null, subagent_id: null, reason })
  }

  finish(status = "completed", error: object | null = null): void {
    const usage = { input_tokens: 1, output_tokens: 2, model_requests: 3, tool_calls: 4 }
    this.event("run.finished", { status, error, history_revision: "h-2", usage })
  }

  /** Collects what is sent meanwhile into one chunk. */
  together(send: () => void): void {
    this.held = ""
    send()
    const text = this.held
    this.held = undefined
    this.bytes(text)
  }

  line(text: string): void {
    if (this.held === undefined) this.bytes(`${text}\n`)
    else this.held += `${text}\n`
  }

  bytes(text: string | Uint8Array): void {
    this.outbox.push(typeof text === "string" ? new TextEncoder().encode(text) : text)
    // What the client's answers make this server say comes after what it is saying.
    if (this.outbox.length > 1) return
    for (let bytes = this.outbox[0]; bytes !== undefined; this.outbox.shift(), bytes = this.outbox[0]) {
      const step = this.cut ?? bytes.length
      for (let at = 0; at < bytes.length; at += step) this.server!.send(bytes.subarray(at, at + step))
    }
    if (this.ending !== undefined) this.server!.exit(this.ending)
  }

  exit(end: Partial<Transport.TransportEnd> = {}): void {
    if (this.outbox.length > 0) this.ending = end
    else this.server!.exit(end)
  }

  private answer({ id, method, params }: Seen): void {
    switch (method) {
      case "initialize": {
        const limits = {
          base: this.limits,
          clientTools: { ...Limits.defaults.clientTools, ...this.options.clientTools }
        }
        const optional = Negotiation.optionalCapabilities.filter((name) => params.required_capabilities.includes(name))
        const tools = (params.client_tools ?? []).map((tool: { name: string }) => tool.name)
        const server = { name: "fake", version: "0" }
        const negotiated = { optional, clientTools: null }
        return this.result(id, Negotiation.initializeResult({ negotiated, tools, limits, server }))
      }
      case "session.create":
        return this.result(id, { session_id: ids.session_id, history_revision: "h-1" })
      case "session.open":
        return this.result(id, { session_id: params.session_id, history_revision: "h-1", entries: 7 })
      case "turn.start":
        this.result(id, { run_id: ids.run_id })
        return this.event("run.started")
      case "turn.cancel":
        this.result(id, { accepted: true })
        return this.finish("cancelled")
      case "shutdown":
        this.result(id, {})
        this.event("connection.closing", { reason: "shutdown" })
        return this.exit()
      default:
        return this.result(id, { accepted: true })
    }
  }
}
