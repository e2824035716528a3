/** A server in this process, with pipes of memory, and the few cuts of text that stand for a client. */
import { type Script, ScriptedModel } from "@errand/models"
import { Limits } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import process from "node:process"
import { type Pipes, serve } from "../src/Server.ts"
import { SessionStore } from "../src/SessionStore.ts"
import { Startup } from "../src/Startup.ts"

/** What takes bytes, and tells what it wrote since the last time. */
export interface Subject {
  readonly deliver: (bytes: Buffer) => void
  readonly take: () => string
}

/** What a model asks for again and again, in a server of its own. */
export interface Load {
  readonly size: number
  readonly inFlight: number
  readonly pendingCalls?: number
}

const line = "const row = lookup(\"rec-00421\", { fields: [\"name\", \"owner\"], limit: 25 }); // step\n"

/** Lines of code of so many characters. */
export const textOf = (size: number): string => line.repeat(Math.ceil(size / line.length)).slice(0, size)

const step: Script.Step = { deltas: [""], calls: [], delayMs: 0, error: null, times: 1e9 }

/** The server with memory storage; request ids and turns without end. */
export const errand = ({ inFlight, pendingCalls = 16, size }: Load): Subject => {
  let deliver: (bytes: Uint8Array) => void = () => {}
  let out = ""
  const pipes: Pipes = {
    input: {
      read: (chunk) => {
        deliver = chunk
        return () => {}
      },
      pause: () => {},
      resume: () => {}
    },
    output: {
      write: (text, done) => {
        out += text
        process.nextTick(done)
      }
    },
    terminated: Effect.never
  }
  const call = { id: null, name: "client__lookup", arguments: JSON.stringify({ text: textOf(size) }) }
  const root = [{ ...step, calls: Array.from({ length: inFlight }, () => call) }]
  const startup = Startup.layerOf(Effect.succeed({
    settings: { instructions: null, permissions: [], runTimeoutMs: null, turnLimit: 1e9 },
    model: ScriptedModel.layer({ root, tasks: new Map() }),
    store: SessionStore.layerMemory,
    locals: []
  }))
  const limits = Limits.withBounds({ base: { request_ids: 1e9 }, clientTools: { pending_calls: pendingCalls } })
  Effect.runFork(Effect.provide(serve(pipes), Layer.merge(startup, Layer.succeed(Limits.Limits, limits))))
  return {
    deliver: (bytes) => deliver(bytes),
    take: () => {
      const taken = out
      out = ""
      return taken
    }
  }
}

/** Microseconds of processor, which other load changes less than the clock. */
export const processor = (): number => {
  const { system, user } = process.cpuUsage()
  return system + user
}

const member = (text: string, name: string): string => {
  const at = text.indexOf(`"${name}":"`) + name.length + 4
  return text.slice(at, text.indexOf("\"", at))
}

/** The ids of the calls in a text, each of which is a UUID. */
const callsIn = (out: string): Array<string> => {
  const ids: Array<string> = []
  for (let at = out.indexOf("\"call_id\":\""); at >= 0; at = out.indexOf("\"call_id\":\"", at + 47)) {
    ids.push(out.slice(at + 11, at + 47))
  }
  return ids
}

/** A client that knows what comes next. */
export class Peer {
  private ids = 0
  private head = ""
  private tail = ""
  private readonly subject: Subject
  private readonly load: Load

  constructor(subject: Subject, load: Load) {
    this.subject = subject
    this.load = load
  }

  /** Initializes and creates a session; gives what starts a turn. */
  async open(): Promise<string> {
    const tool = { name: "client__lookup", description: "Finds.", input_schema: { type: "object" } }
    const params = { required_capabilities: ["client.tools"], client_tools: [tool] }
    const first = await this.exchange(this.request("initialize", params), (out) => out.includes("\"r0\""))
    const created = await this.exchange(this.request("session.create", {}), (out) => out.includes("\"r1\""))
    this.head = member(first, "instance_id")
    return member(created, "session_id")
  }

  /** Starts the turn and waits for its first calls. */
  async start(session_id: string): Promise<ReadonlyArray<string>> {
    const out = await this.exchange(
      this.request("turn.start", { session_id, prompt: "go" }),
      (out) => callsIn(out).length === this.load.inFlight
    )
    const run_id = member(out, "run_id")
    const identity = { instance_id: this.head, session_id, run_id }
    const rest = {
      task_id: null,
      subagent_id: null,
      status: "success",
      text: "Found.",
      structured: { text: textOf(this.load.size) }
    }
    this.head = `","method":"client.tool.result","params":${JSON.stringify(identity).slice(0, -1)},"call_id":"`
    this.tail = `",${JSON.stringify(rest).slice(1)}}\n`
    return callsIn(out)
  }

  /** Answers calls and waits for the next ones. */
  async answer(calls: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
    let text = ""
    for (const call of calls) text += `{"id":"r${this.ids++}${this.head}${call}${this.tail}`
    return callsIn(await this.exchange(text, (out) => callsIn(out).length === this.load.inFlight))
  }

  private request(method: string, params: object): string {
    return `${JSON.stringify({ id: `r${this.ids++}`, method, params })}\n`
  }

  private async exchange(text: string, until: (out: string) => boolean): Promise<string> {
    this.subject.deliver(Buffer.from(text))
    let out = ""
    while (!until(out += this.subject.take())) await new Promise((resolve) => setImmediate(resolve))
    return out
  }
}
