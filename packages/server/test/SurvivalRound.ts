/**
 * A served process that is killed with SIGKILL at a chosen moment, again and again over one session, and what every next
 * process on the same home must find (SES-9, SES-10, SES-11, CAL-3).
 */
import { Conversation, HistoryCheck, type Message, type Record } from "@errand/runtime"
import assert from "node:assert/strict"
import * as fs from "node:fs"
import * as Path from "node:path"
import * as SessionDatabase from "../src/SessionDatabase.ts"
import { type AnyFrame, Place, Served } from "./ServeRig.ts"

/** Around which kind of frame the process is killed. */
export const kinds = [
  "turn.start answered",
  "call published",
  "all calls published",
  "result sent",
  "all results sent",
  "result acknowledged",
  "result recorded",
  "all results recorded",
  "last text",
  "run.finished"
] as const

/** The kind of frame, which of that kind (from 1), and how many milliseconds later. */
export interface Moment {
  readonly kind: (typeof kinds)[number]
  readonly nth: number
  readonly delayMs: number
}

/** What a round saw. */
export interface Survived {
  /** Results that were announced as recorded, all of them found. */
  readonly recorded: number
  /** Calls that the next process closed with outcome `unknown`. */
  readonly unknown: number
  /** Runs whose end was announced. */
  readonly ended: number
}

const CALLS = 3
/** More turns than any moment waits for. */
const TURNS = 40

const tools = [{ name: "client__a", description: "A tool.", input_schema: { type: "object" } }]

/** A process's turns: three parallel calls, one more, a last text; the first text shows what the model was given. */
const script = (round: number): ReadonlyArray<object> =>
  Array.from({ length: TURNS }, (_, turn) => {
    const call = (n: number) => ({ name: "client__a", arguments: { at: `${round}.${turn}.${n}` } })
    return [
      {
        text: `seen ${round}.${turn}\n{{results}}`,
        tool_calls: Array.from({ length: CALLS }, (_, n) => call(n))
      },
      { text: `more ${round}.${turn}`, tool_calls: [call(CALLS)] },
      { text: `last ${round}.${turn}` }
    ]
  }).flat()

/** Numbers that look random and are the same for the same seed. */
const numbers = function*(seed: number) {
  for (let state = seed >>> 0;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    yield (state >>> 8) % 10_000
  }
}

/** The records of a session, read past the store while no process holds it. */
const stored = async (home: string, sessionId: string): Promise<ReadonlyArray<Record>> => {
  const folder = Path.join(home, "sessions")
  const name = fs.readdirSync(folder).find((name) => name.endsWith(`${sessionId}.db`))!
  const db = new SessionDatabase.SessionDatabase(await SessionDatabase.engine(), Path.join(folder, name), sessionId)
  const records = Array.from(db.rows(db.head().seq), (row) => row.record)
  db.close()
  return records
}

const outcomesOf = (results: ReadonlyArray<{ readonly id: string; readonly outcome: string }>): string =>
  JSON.stringify(results.map(({ id, outcome }) => [id, outcome]))

const messagesOf = (records: ReadonlyArray<Record>): ReadonlyArray<Message> => {
  const conversation = new Conversation.Conversation()
  for (const record of records) conversation.take(record)
  return conversation.messages
}

/** A session over many processes, and what its clients were told that must never be lost. */
export class Survivor {
  readonly place = new Place()
  private sessionId = ""
  private round = 0
  /** Prompts that a model request followed, texts that were reconciled. */
  private readonly prompts = new Set<string>()
  private readonly texts = new Set<string>()
  /** By the `at` of a call: which were published, and what the client answered. */
  private readonly published = new Set<string>()
  private readonly answered = new Map<string, string>()
  /** Activities whose success was announced. */
  private readonly recorded = new Set<string>()
  private readonly ends = new Map<string, string>()
  /** The results that the model must be given by the next process. */
  private owed = "[]"

  /** Runs turns until the moment, kills the process, and looks at what the next two find. */
  async crash(seed: number, moment: Moment): Promise<Survived> {
    const round = this.round++
    const before = { recorded: this.recorded.size, ended: this.ends.size }
    await this.killedAt(round, seed, moment)
    const left = await stored(this.place.home, this.sessionId)

    const first = await this.reopened()
    const repaired = await stored(this.place.home, this.sessionId)
    assert.deepEqual(repaired.slice(0, left.length), left, "the repair changed what was stored")
    this.check(repaired)
    const closed = repaired.slice(left.length).filter((record) => record.kind === "result")
    for (const result of closed) {
      assert.equal(result.outcome, "unknown")
      assert.match(result.content, /may have executed/)
    }

    assert.deepEqual(await this.reopened(), first, "a second opening changed something")
    assert.deepEqual(await stored(this.place.home, this.sessionId), repaired, "a second opening stored something")
    return {
      recorded: this.recorded.size - before.recorded,
      unknown: closed.length,
      ended: this.ends.size - before.ended
    }
  }

  [Symbol.dispose](): void {
    this.place[Symbol.dispose]()
  }

  /** Opens the session in a process of its own, kills that too, and tells what it showed. */
  private async reopened() {
    using served = new Served(this.place, { root: [{ text: "nobody asked" }] })
    const opened = await this.open(served)
    const entries: Array<AnyFrame> = []
    for (let page = 0, from = {};; page++) {
      const { result } = await served.ask(`p${page}`, "history.page", { session_id: this.sessionId, ...from })
      entries.push(...result.entries)
      if (result.next_cursor === null) break
      from = { revision: result.revision, cursor: result.next_cursor }
    }
    assert.deepEqual(served.frames.filter((frame) => "event" in frame), [], "opening told events")
    served.child.kill("SIGKILL")
    await served.exited
    return { opened, entries }
  }

  private async open(served: Served) {
    await served.ask("i", "initialize", { required_capabilities: ["client.tools"], client_tools: tools })
    const { error, result } = this.sessionId === ""
      ? await served.ask("o", "session.create")
      : await served.ask("o", "session.open", { session_id: this.sessionId })
    assert.equal(error, undefined)
    this.sessionId = result.session_id
    return result
  }

  /** What was told stands, and every call has its one result (SES-9, SES-10, SES-11). */
  private check(records: ReadonlyArray<Record>): void {
    const messages = messagesOf(records)
    assert.deepEqual(HistoryCheck.check(messages), [])
    const said = new Set(messages.flatMap((one) => one.role === "tool" ? [] : [`${one.role} ${one.text}`]))
    for (const prompt of this.prompts) assert.ok(said.has(`user ${prompt}`), `prompt ${prompt} is lost`)
    for (const text of this.texts) assert.ok(said.has(`assistant ${text}`), `text ${text} is lost`)
    const results = new Map<string, { readonly outcome: string; readonly content: string }>()
    for (const [i, message] of messages.entries()) {
      if (message.role !== "assistant") continue
      for (const [index, call] of message.toolCalls.entries()) {
        const next = messages[i + 1]
        assert.ok(next?.role === "tool")
        const { at } = JSON.parse(call.arguments)
        assert.ok(!results.has(at), `${at} was called twice`)
        results.set(at, next.results[index]!)
      }
    }
    for (const at of this.published) assert.ok(results.has(at), `the call ${at} was published and is not there`)
    for (const [at, { content, outcome }] of results) {
      const answer = this.answered.get(at)
      if (answer === undefined) assert.equal(outcome, "unknown", `${at} was never answered`)
      if (outcome === "success") assert.equal(JSON.parse(content).text, answer)
      else assert.equal(outcome, "unknown")
    }
    const kept = new Set(
      records.flatMap((one) => one.kind === "result" && one.outcome === "success" ? [one.activityId] : [])
    )
    for (const activity of this.recorded) assert.ok(kept.has(activity), `the recorded result of ${activity} is lost`)
    const ends = new Map(records.flatMap((one) => one.kind === "run" ? [[one.runId, one.status]] : []))
    for (const [runId, status] of this.ends) assert.equal(ends.get(runId), status, `the end of ${runId} is lost`)
    assert.equal(records.filter((one) => one.kind === "run").length, new Set(records.map((one) => one.runId)).size)
    const last = messages.slice(messages.findLastIndex((one) => one.role === "assistant") + 1)
    this.owed = outcomesOf(last.flatMap((one) => one.role === "tool" ? one.results : []))
  }

  private async killedAt(round: number, seed: number, moment: Moment): Promise<void> {
    using served = new Served(this.place, { root: script(round) })
    await this.open(served)
    const draw = numbers(seed)
    const random = (below: number) => draw.next().value! % below
    let nth = 0
    let due = false
    let gone = false
    const kill = () => {
      gone = true
      served.child.kill("SIGKILL")
    }
    const reached = (kind: Moment["kind"]) => {
      if (due || kind !== moment.kind || ++nth < moment.nth) return
      due = true
      if (moment.delayMs === 0) kill()
      else setTimeout(kill, moment.delayMs)
    }

    let turn = 0
    let waiting: Array<AnyFrame> = []
    let expected = CALLS
    let running = 0
    const start = () => {
      const prompt = `prompt ${round}.${turn}`
      served.send({ id: `t${turn}`, method: "turn.start", params: { session_id: this.sessionId, prompt } })
    }
    const answer = () => {
      const sent = waiting.sort(() => random(3) - 1)
      waiting = []
      for (const [i, call] of sent.entries()) {
        if (gone) return
        const { arguments: { at }, name: _, timeout_ms: __, ...identity } = call.data
        const text = `answer ${at} ${"x".repeat(random(2000))}`
        this.answered.set(at, text)
        served.send({
          id: `r${at}`,
          method: "client.tool.result",
          params: { instance_id: call.instance_id, ...identity, status: "success", text }
        })
        reached(i === sent.length - 1 ? "all results sent" : "result sent")
      }
    }
    const take = (frame: AnyFrame): void => {
      const { data, event, id, result } = frame
      if (/^t\d/.test(id)) reached("turn.start answered")
      if (/^r\d/.test(id) && result?.accepted === true) reached("result acknowledged")
      switch (event) {
        case "message.delta":
          this.prompts.add(`prompt ${round}.${turn}`)
          return
        case "message.reconcile":
          assert.equal(data.parts, 1)
          this.texts.add(data.text)
          if (data.text.startsWith("seen") && turn === 0) {
            assert.equal(outcomesOf(JSON.parse(data.text.slice(data.text.indexOf("\n")))), this.owed)
          }
          if (data.text.startsWith("last")) reached("last text")
          return
        case "tool.activity":
          if (data.status === "running") running++
          if (data.status !== "success") return
          this.recorded.add(data.activity_id)
          running--
          reached(running === 0 ? "all results recorded" : "result recorded")
          return
        case "client.tool.call": {
          const { at } = data.arguments
          assert.ok(!this.published.has(at), `${at} was sent again`)
          this.published.add(at)
          waiting.push(frame)
          reached(waiting.length === expected ? "all calls published" : "call published")
          if (waiting.length < expected) return
          expected = expected === CALLS ? 1 : CALLS
          if (random(2) === 0) answer()
          else setTimeout(answer, random(4))
          return
        }
        case "run.finished":
          this.ends.set(data.run_id, data.status)
          reached("run.finished")
          turn++
          if (!gone) start()
      }
    }
    let seen = served.frames.length
    served.child.stdout!.on("data", () => {
      for (; seen < served.frames.length; seen++) take(served.frames[seen])
    })
    start()
    const { signal } = await served.exited
    assert.equal(signal, "SIGKILL", "the process ended by itself")
  }
}
