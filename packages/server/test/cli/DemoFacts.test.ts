import { assert, describe, it } from "@effect/vitest"
import type { ToolCall } from "@errand/client"
import * as DemoFacts from "../../src/cli/DemoFacts.ts"
import { LEDGER, tools } from "../../src/cli/DemoTools.ts"
import { paint } from "../../src/cli/Ink.ts"
import * as Story from "../../src/cli/Story.ts"

const call = (callId: string) => ({ callId, name: "client__x", argumentsText: "{}", timeoutMs: 1000 }) as ToolCall
const called = (callId: string): Story.Happening => ({ _tag: "ToolCalled", call: call(callId) })
const stopped = (callId: string): Story.Happening => ({ _tag: "HandlerStopped", call: call(callId) })

/** The facts of what happens, one after the other. */
const facts = (...happenings: ReadonlyArray<Story.Happening>): ReadonlyArray<DemoFacts.Fact> => {
  let story = Story.empty
  const seen = new Set<DemoFacts.Fact>()
  for (const happening of happenings) {
    const fact = DemoFacts.shown(story, happening, seen)
    if (fact !== undefined) seen.add(fact)
    story = Story.step(story, happening, 0).story
  }
  return [...seen]
}

const usage = { inputTokens: 0, outputTokens: 0, modelRequests: 1, toolCalls: 0 }
const finished: Story.Happening = {
  _tag: "Finished",
  runId: "r",
  historyRevision: "h",
  usage,
  status: "completed",
  error: null
}
const answered = (callId: string, status: "success" | "error" = "success"): Story.Happening => ({
  _tag: "ToolAnswered",
  call: call(callId),
  status
})

describe("PGM-2 what a demo has to show", () => {
  it("PGM-2 answers count as out of order only when an earlier call still waits", () => {
    assert.deepStrictEqual(facts(called("a"), called("b"), answered("b")), ["outOfOrder"])
    assert.deepStrictEqual(facts(called("a"), called("b"), answered("a"), answered("b")), [])
  })

  it("PGM-2 the number counts only with each of its digits", () => {
    const message = (text: string): Story.Happening => ({ _tag: "Message", messageId: "m", text })
    assert.isFalse(Number.isSafeInteger(Number(LEDGER)))
    assert.deepStrictEqual(facts(message(`{"balance":${LEDGER}}`)), ["exact"])
    assert.deepStrictEqual(facts(message(JSON.stringify({ balance: Number(LEDGER) }))), [])
    assert.deepStrictEqual(facts(message(`{"balance":${BigInt(Number(LEDGER))}}`)), [])
  })

  it("PGM-2 a timeout and a cancelled turn count only when the handler is stopped", () => {
    const timeout: Story.Happening = { _tag: "ToolCancelled", callId: "a", reason: "timeout" }
    const cancelled: Story.Happening = { _tag: "TurnCancelled", status: "cancelled" }
    assert.deepStrictEqual(facts(called("a"), stopped("a"), timeout), ["timeout"])
    assert.deepStrictEqual(facts(called("a"), timeout), [])
    assert.deepStrictEqual(facts(called("a"), stopped("a"), cancelled), ["cancelled"])
    assert.deepStrictEqual(facts(called("a"), cancelled), [])
    assert.deepStrictEqual(facts(called("a"), stopped("a"), { ...cancelled, status: "completed" }), [])
  })

  it("PGM-2 the session goes on only after the cancelled turn", () => {
    const cancelled: Story.Happening = { _tag: "TurnCancelled", status: "cancelled" }
    assert.deepStrictEqual(facts(finished), [])
    assert.deepStrictEqual(facts(called("a"), stopped("a"), cancelled, finished), ["cancelled", "goesOn"])
  })

  it("PGM-2 it is complete when nothing is missing, and says what is", () => {
    const all = new Set(Object.keys(DemoFacts.texts) as ReadonlyArray<DemoFacts.Fact>)
    assert.isTrue(DemoFacts.complete(all))
    all.delete("exact")
    assert.isFalse(DemoFacts.complete(all))
    const marks = DemoFacts.lines(all).map((line) => paint(line, false).trim()[0])
    assert.deepStrictEqual(marks, ["✓", "✗", "✓", "✓", "✓", "✓", "✓"])
  })

  it("PGM-2 its tools are those that the script calls", () => {
    assert.deepStrictEqual(tools.map(({ declaration: { name, timeoutMs } }) => [name, timeoutMs]), [
      ["client__lookup_record", 5000],
      ["client__render_report", 3000],
      ["client__delete_record", 3000],
      ["client__slow_export", 1500]
    ])
  })
})
