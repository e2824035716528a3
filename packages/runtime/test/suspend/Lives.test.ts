/**
 * Whole lives of threads: random responses with random mixes of calls, answered in random order and partition, with crashes
 * between any two steps. Every run is made by a harness of its own, as in a process of its own, from what a store holds.
 */
import { assert, describe, it } from "@effect/vitest"
import { HistoryCheck, type Message } from "@errand/runtime"
import { AgentDefinition, type Harness, type Results, type RunResult, State, Suspension } from "@errand/runtime/suspend"
import { Arbitrary, Effect, Schema } from "effect"
import { ok } from "./Fixture.ts"
import { type Call, call, clientTools, Counted, FakeModel, harnessOf, type Says } from "./Rig.ts"

const Kind = Schema.Literals(["local", "client", "approval", "typed", "misfit", "unknown", "denied"])
const Life = Schema.Struct({
  responses: Schema.Array(Schema.Array(Kind)),
  /** After which write of the store each process dies; beyond the last one it lives. */
  crashes: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))),
  /** Whether the write at which it dies still reaches the store. */
  stored: Schema.Array(Schema.Boolean),
  /** What the host decides, in turn. */
  decisions: Schema.Array(Schema.Boolean),
  shuffle: Schema.Int
})
type Life = typeof Life.Type

const responseOf = (kinds: ReadonlyArray<typeof Kind.Type>, step: number): ReadonlyArray<Call> =>
  kinds.map((kind, index) => {
    const path = `${step}-${index}`
    switch (kind) {
      case "local":
        return call(`c${path}`, "read_file", { path })
      case "client":
        return call(`c${index}`, "free_form", { n: index })
      case "typed":
        return call(`c${path}`, "lookup_record", { record_id: path })
      case "approval":
        return call(`c${path}`, "write_file", { path })
      case "misfit":
        return call(`c${path}`, "lookup_record", "{\"record_id\":")
      case "unknown":
        return call(`c${path}`, "no_such_tool", {})
      case "denied":
        return call(`c${path}`, "forbidden", {})
    }
  })

/** Turns a list by a seed, so that every order comes up. */
const turned = <A>(items: ReadonlyArray<A>, seed: number): ReadonlyArray<A> => {
  const rest = items.slice()
  const out: Array<A> = []
  let left = Math.abs(seed)
  while (rest.length > 0) {
    out.push(...rest.splice(left % rest.length, 1))
    left = Math.floor(left / 3) + 7
  }
  return out
}

interface Crash {
  readonly _tag: "Crashed"
}
const crashed: Crash = { _tag: "Crashed" }

const live = (life: Life) =>
  Effect.gen(function*() {
    const tools = new Counted()
    const agent = AgentDefinition.make({
      clientTools,
      tools: [tools.tool("read_file"), tools.tool("write_file", "ask"), tools.tool("forbidden", "deny")],
      bounds: { retries: 100 }
    })
    const says = (messages: ReadonlyArray<Message>): Says => {
      const step = messages.filter(({ role }) => role === "assistant").length
      const kinds = life.responses[step]
      return kinds === undefined ? { text: "done" } : { text: `step ${step}`, calls: responseOf(kinds, step) }
    }
    const requests: Array<ReadonlyArray<Message>> = []
    const answered = new Map<string, string>()
    let processes = 0
    let decisions = 0

    /** One process: a fresh harness, and a store that stops at the moment of the crash. */
    const inProcess = Effect.fnUntraced(function*(
      use: (
        harness: Harness.Harness<string, never>,
        checkpoint: (state: State.State) => Effect.Effect<void>
      ) => Effect.Effect<RunResult.RunResult<string>, { readonly code: string }>
    ) {
      const model = new FakeModel((request) => says(request.messages))
      const harness = yield* harnessOf(agent, model) as Effect.Effect<Harness.Harness<string, never>>
      const dies = life.crashes[processes] ?? Infinity
      const last = life.stored[processes] ?? false
      processes++
      let writes = 0
      let later: string | null = null
      const checkpoint = (state: State.State) =>
        Effect.suspend(() => {
          if (writes > dies) return Effect.interrupt
          if (writes < dies || last) later = JSON.stringify(state)
          return writes++ === dies ? Effect.interrupt : Effect.void
        })
      const exit = yield* Effect.exit(use(harness, checkpoint))
      for (const { messages } of model.requests) requests.push(messages)
      if (writes > dies) return { result: crashed, later: later as string | null }
      if (exit._tag === "Failure") return assert.fail(`a run was refused: ${JSON.stringify(exit.cause)}`)
      return { result: exit.value, later: later as string | null }
    })

    const resultsFor = (stored: string): Results.Results => {
      const { requests: pending } = ok(Suspension.open(stored, null))
      const calls = turned(pending.calls, life.shuffle).map(({ call_id, tool_name }) => {
        const text = `reply ${call_id} ${answered.size}`
        answered.set(call_id, text)
        const value = tool_name === "lookup_record" ? { title: text } : text
        return [call_id, { status: "success", value }] as const
      })
      const approvals = turned(pending.approvals, life.shuffle).map(({ call_id }) =>
        [call_id, { allow: life.decisions[decisions++ % Math.max(1, life.decisions.length)] ?? true }] as const
      )
      return { calls: Object.fromEntries(calls), approvals: Object.fromEntries(approvals) } as Results.Results
    }

    let { later, result }: { later: string | null; result: RunResult.RunResult<string> | Crash } = yield* inProcess(
      (harness, checkpoint) => harness.run({ prompt: "go", threadId: "t", checkpoint })
    )
    let stored: string | null = null
    let results: Results.Results = { calls: {}, approvals: {} }
    for (let round = 0; result._tag !== "Completed"; round++) {
      assert.isBelow(round, 100, "the thread comes to an end")
      if (result._tag === "Crashed" && stored === null) {
        // before anything was suspended: what was stored goes on, or nothing was
        const state = later
        const next = yield* inProcess((harness, checkpoint) =>
          state === null
            ? harness.run({ prompt: "go", threadId: "t", checkpoint })
            : harness.abandon(JSON.parse(state), "go on", { checkpoint })
        )
        later = next.later ?? state
        result = next.result
      } else if (result._tag === "Crashed") {
        const [suspension, given, state] = [stored!, results, later]
        const next = yield* inProcess((harness, checkpoint) =>
          harness.recover(suspension, given, state === null ? null : JSON.parse(state), { checkpoint })
        )
        later = next.later ?? state
        result = next.result
      } else if (result._tag === "Suspended") {
        stored = Suspension.stringify(result.suspension)
        results = resultsFor(stored)
        later = null
        const [suspension, given] = [stored, results]
        const next = yield* inProcess((harness, checkpoint) =>
          Effect.gen(function*() {
            const ids = [...Object.keys(given.calls), ...Object.keys(given.approvals)]
            if (ids.length > 1) {
              // answers come in part first: nothing of them is used
              const ran = tools.ran.length
              const part = {
                ...given,
                calls: Object.fromEntries(Object.entries(given.calls).slice(1)),
                approvals: Object.fromEntries(Object.entries(given.approvals).slice(0, -1))
              }
              const early = yield* Effect.result(harness.resume(suspension, part, { checkpoint }))
              assert.strictEqual(early._tag === "Failure" && early.failure.code, "deferred_results_incomplete")
              assert.strictEqual(tools.ran.length, ran)
            }
            return yield* harness.resume(suspension, given, { checkpoint })
          })
        )
        later = next.later
        result = next.result
      } else return assert.fail(`the run ended as ${JSON.stringify(result)}`)
    }

    // 1. no call of this process ran twice
    assert.strictEqual(new Set(tools.ran).size, tools.ran.length, `ran: ${tools.ran.join(", ")}`)
    // 2. each call has exactly one result, in call order
    const history = ok(State.messages(result.state))
    assert.deepStrictEqual(HistoryCheck.check(history), [])
    const told = history.flatMap((message) => message.role === "tool" ? message.results : [])
    const asked = history.flatMap((message) => message.role === "assistant" ? message.toolCalls : [])
    assert.deepStrictEqual(told.map(({ id }) => id), asked.map(({ id }) => id))
    // 3. every answer is at its own call
    for (const one of told) {
      const text = answered.get(one.id)
      if (text !== undefined && one.outcome === "success") assert.include(one.content, JSON.stringify(text))
      if (text === undefined) assert.notInclude(one.content, "reply ")
    }
    // 4. what ran is told as success or, after a crash, as unknown or cancelled; what is told as success ran
    for (const one of told) {
      if (one.name !== "read_file" && one.name !== "write_file") continue
      const { path } = JSON.parse(asked.find(({ id }) => id === one.id)!.arguments)
      const ran = tools.ran.includes(`${one.name} ${path}`)
      if (one.outcome === "success") assert.isTrue(ran, `${path} ran`)
      if (one.outcome === "denied") assert.isFalse(ran, `${path} was denied`)
    }
    // 5. the earlier history is sent unchanged as a prefix
    for (const [index, messages] of requests.entries()) {
      assert.deepStrictEqual(HistoryCheck.check(messages), [])
      const before = requests[index - 1]
      if (before !== undefined) assert.deepStrictEqual(messages.slice(0, before.length), before)
    }
    return { processes, calls: asked.length, answered: answered.size, ran: tools.ran.length }
  })

const Lives = Arbitrary.schema(
  Schema.Struct({
    ...Life.fields,
    responses: Schema.Array(Schema.Array(Kind).check(Schema.isMinLength(1), Schema.isMaxLength(5)))
      .check(Schema.isMinLength(1), Schema.isMaxLength(4))
  })
)

const title = "RUN-2 RSM-2 RSM-7 SUS-1 faults A1 A7 B9 D1 H1 every call ends once, whoever answers and whatever crashes"
const seen = { lives: 0, processes: 0, calls: 0, answered: 0, ran: 0 }
const check = ({ life }: { readonly life: Life }) =>
  Effect.map(live(life), (counts) => {
    seen.lives++
    for (const key of ["processes", "calls", "answered", "ran"] as const) seen[key] += counts[key]
  })

describe("harness 5: lives of threads", () => {
  it.effect.prop(`${title} (fixed seed)`, { life: Lives }, check, {
    arbitrary: { runs: 400, seed: "errand", size: 30 }
  })
  it.effect.prop(`${title} (fresh seed)`, { life: Lives }, check, {
    arbitrary: { runs: 400, seed: String(process.hrtime.bigint()), size: 30 },
    timeout: 90_000
  })
  it("the lives above had crashes, answers and executions to look at", () => {
    assert.isAbove(seen.processes, 2 * seen.lives)
    assert.isAbove(seen.answered, seen.lives)
    assert.isAbove(seen.ran, seen.lives / 2)
  })
})
