/**
 * Turns with sixteen parallel calls, one after the other in one served process: what it costs in memory, and whether every
 * call of every turn finds its slot (CAL-5).
 *
 * A session keeps what its model must see again (SES-8), so memory is looked at twice: in sessions that are closed again,
 * where nothing may stay, and within one, where it may grow by what was said.
 */
import assert from "node:assert/strict"
import { type AnyFrame, Place, Served } from "./ServeRig.ts"

/** Calls of a turn: as many as may be pending. */
export const CALLS = 16

const tools = [{ name: "client__a", description: "A tool.", input_schema: { type: "object" }, timeout_ms: 5000 }]
const step = { tool_calls: Array.from({ length: CALLS }, (_, n) => ({ name: "client__a", arguments: { n } })) }

/** Tells on stderr how much of the heap is in use after a collection, whenever it is asked. */
const collector = `process.on("SIGUSR2", () => {
  gc(); gc()
  process.stderr.write("heap " + process.memoryUsage().heapUsed + "\\n")
})`

/** A served process with a client that answers every call at once. */
export class Endurance {
  readonly place = new Place()
  readonly served: Served
  private ids = 0
  private heard = ""
  private wake: () => void = () => {}

  /** `turns` is how many the script has. */
  constructor(turns: number, requestIds?: number) {
    this.served = new Served(this.place, {
      root: Array.from({ length: turns }, (_, turn) => [step, { text: `end ${turn}` }]).flat(),
      args: requestIds === undefined ? [] : ["--request-ids", String(requestIds)],
      node: ["--expose-gc", `--import=data:text/javascript,${encodeURIComponent(collector)}`]
    })
    this.served.child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.heard += text
      this.wake()
    })
  }

  ask(method: string, params: object = {}): Promise<AnyFrame> {
    return this.served.ask(`q${++this.ids}`, method, params)
  }

  async initialize(): Promise<void> {
    const { error } = await this.ask("initialize", { required_capabilities: ["client.tools"], client_tools: tools })
    assert.equal(error, undefined)
  }

  /** A new session in the place of the attached one. */
  async session(): Promise<string> {
    return (await this.ask("session.create")).result.session_id
  }

  /** Runs a turn in which all calls are pending together before the first is answered. */
  async turn(session_id: string): Promise<AnyFrame> {
    const { frames } = this.served
    frames.length = 0
    const started = await this.ask("turn.start", { session_id, prompt: "go" })
    if (started.error !== undefined) return started
    const calls: Array<AnyFrame> = []
    while (calls.length < CALLS) calls.push(await this.served.next((frame) => frame.event === "client.tool.call"))
    for (const { data, instance_id } of calls) {
      const { arguments: _, name: __, timeout_ms: ___, ...identity } = data
      this.served.send({
        id: `q${++this.ids}`,
        method: "client.tool.result",
        params: { instance_id, ...identity, status: "success", text: "a short text as result" }
      })
    }
    return this.served.next((frame) => frame.event === "run.finished")
  }

  /** The same, when nothing may go wrong. */
  async smooth(session_id: string): Promise<void> {
    const { data } = await this.turn(session_id)
    assert.equal(data?.status, "completed")
    const ends = this.served.frames.flatMap(({ data, event }) =>
      event === "tool.activity" && data.status !== "running" ? [data.status] : []
    )
    assert.deepEqual(ends, Array.from({ length: CALLS }, () => "success"))
  }

  /** Bytes of the heap in use after a collection. */
  async heap(): Promise<number> {
    this.heard = ""
    this.served.child.kill("SIGUSR2")
    while (true) {
      const told = /heap (\d+)\n/.exec(this.heard)
      if (told !== null) return Number(told[1])
      await new Promise<void>((done) => {
        this.wake = done
      })
    }
  }

  [Symbol.dispose](): void {
    this.served[Symbol.dispose]()
    this.place[Symbol.dispose]()
  }
}

/** What stays in memory, in bytes: of closed sessions altogether, and of each turn in a session that is open. */
export interface Kept {
  readonly closed: number
  readonly perTurn: number
}

/** Runs some sessions of so many turns each; the first half of the sessions warms up. */
export const endure = async (sessions: number, turns: number): Promise<Kept> => {
  using endurance = new Endurance(sessions * turns + 1, sessions * turns * (CALLS + 2) + 1000)
  await endurance.initialize()
  const empty: Array<number> = []
  let full = 0
  for (let session = 0; session < sessions; session++) {
    const id = await endurance.session()
    empty.push(await endurance.heap())
    for (let turn = 0; turn < turns; turn++) await endurance.smooth(id)
    full = await endurance.heap()
  }
  const last = await endurance.session()
  const end = await endurance.heap()
  await endurance.smooth(last)
  assert.equal((await endurance.ask("status")).result.pending_calls, 0)
  return { closed: end - empty[sessions >> 1]!, perTurn: (full - empty.at(-1)!) / turns }
}
