import { assert, describe, it } from "@effect/vitest"
import { ToolAnswer, type ToolCall } from "@errand/client"
import { paint, width } from "../../src/cli/Ink.ts"
import * as Story from "../../src/cli/Story.ts"

const call = (callId: string, name: string, argumentsText = "{}", timeoutMs = 5000) =>
  ({ callId, name, argumentsText, timeoutMs, runId: "r", sessionId: "s", taskId: null, subagentId: null }) as ToolCall

const a = call("a", "client__lookup", "{\"id\":9007199254740993}")
const b = call("b", "client__render", "{}", 2000)

/** The story after what happened, and all that was printed on the way. */
const told = (...happenings: ReadonlyArray<readonly [now: number, happening: Story.Happening]>) =>
  happenings.reduce(
    ({ lines, story }, [now, happening]) => {
      const next = Story.step(story, happening, now)
      return { story: next.story, lines: [...lines, ...next.lines.map((line) => paint(line, false))] }
    },
    { story: Story.empty, lines: [] as ReadonlyArray<string> }
  )

const called = (now: number, one: ToolCall) => [now, { _tag: "ToolCalled", call: one }] as const
const activity = (now: number, name: string, status: "running" | "denied") =>
  [
    now,
    { _tag: "ToolActivity", activityId: name, name, status, parentId: null, taskId: null, subagentId: null }
  ] as const

const pictures = (story: Story.Story, now: number, columns = 80) =>
  Story.live(story, now, columns).map((line) => paint(line, false))

describe("PGM-2 a turn as a person sees it", () => {
  it("PGM-2 calls in flight are drawn with the time that each has left", () => {
    const { lines, story } = told(called(1000, a), called(1500, b))
    assert.deepStrictEqual(lines, ["  → call    lookup {\"id\":9007199254740993}", "  → call    render {}"])
    assert.deepStrictEqual(pictures(story, 2500), [
      "  ⠴ lookup  ██████████████░░░░░░ 3.5 s left",
      "  ⠴ render  ██████████░░░░░░░░░░ 1.0 s left"
    ])
    assert.strictEqual(
      paint(Story.waiting(story, 2500)!, false),
      "  · waiting lookup 3.5 s left, render 1.0 s left"
    )
  })

  it("PGM-2 a call past its deadline has no time left, and not less", () => {
    const { story } = told(called(0, b))
    assert.deepStrictEqual(pictures(story, 9999), [`  ⠏ render  ${"░".repeat(20)} 0.0 s left`])
  })

  it("PGM-2 a narrow terminal gets a picture that fits", () => {
    const { story } = told(called(0, a), called(0, b), [0, { _tag: "Delta", messageId: "m", text: "x ".repeat(40) }])
    for (const columns of [20, 30, 50, 59, 60]) {
      for (const line of Story.live(story, 100, columns)) assert.isAtMost(width(line), columns)
    }
  })

  it("PGM-2 an answer tells how long it took, and what the handler said where that is known", () => {
    const { lines, story } = told(
      called(0, a),
      called(0, b),
      [700, {
        _tag: "HandlerAnswered",
        call: b,
        answer: ToolAnswer.structuredText("{\"n\":9007199254740993}", "done")
      }],
      [800, { _tag: "ToolAnswered", call: b, status: "success" }],
      [900, { _tag: "ToolAnswered", call: a, status: "error" }]
    )
    assert.deepStrictEqual(lines.slice(2), [
      "  ← answer  render after 0.8 s success done {\"n\":9007199254740993}",
      "  ← answer  lookup after 0.9 s error"
    ])
    assert.deepStrictEqual(pictures(story, 900), [])
    assert.isUndefined(Story.waiting(story, 900))
  })

  it("PGM-2 a cancel notice tells its reason, and whether the handler is stopped", () => {
    const { lines, story } = told(
      called(0, a),
      called(0, b),
      [2000, { _tag: "HandlerStopped", call: b }],
      [2000, { _tag: "ToolCancelled", callId: "b", reason: "timeout" }],
      [3000, { _tag: "ToolCancelled", callId: "a", reason: "run_finished" }],
      [3000, { _tag: "ToolCancelled", callId: "unknown", reason: "shutdown" }]
    )
    assert.deepStrictEqual(lines.slice(2), [
      "  × cancel  render after 2.0 s timeout, its handler is stopped",
      "  × cancel  lookup after 3.0 s run_finished"
    ])
    assert.deepStrictEqual(story, Story.empty)
  })

  it("PGM-2 a cancelled turn tells the calls whose handlers were stopped, and what the history says", () => {
    const { lines, story } = told(
      called(0, a),
      [900, { _tag: "Cancelling" }],
      [950, { _tag: "HandlerStopped", call: a }],
      [1000, { _tag: "TurnCancelled", status: "cancelled" }]
    )
    assert.deepStrictEqual(lines.slice(1), [
      "",
      "❯ cancel the turn",
      "",
      "  × cancel  lookup after 1.0 s cancelled, its handler is stopped",
      "  cancelled, says the history"
    ])
    assert.deepStrictEqual(story, Story.empty)
  })

  it("PGM-2 text is drawn while it is written, and printed once when it is whole", () => {
    const written = told(
      [0, { _tag: "Delta", messageId: "m", text: "one " }],
      [0, { _tag: "Delta", messageId: "m", text: "two" }]
    )
    assert.deepStrictEqual([written.lines, pictures(written.story, 0)], [[], ["", "  one two"]])
    const next = Story.step(written.story, { _tag: "Message", messageId: "m", text: "one two\nthree" }, 0)
    assert.deepStrictEqual(next.lines.map((line) => paint(line, false)), ["", "  one two", "  three"])
    assert.deepStrictEqual(next.story, Story.empty)
  })

  it("PGM-3 tools of the server are told by their activities, those of the client are not told twice", () => {
    const { lines } = told(
      activity(0, "run_command", "running"),
      activity(0, "client__lookup", "running"),
      activity(300, "run_command", "denied")
    )
    assert.deepStrictEqual(lines, ["  → server  run_command", "  ← server  run_command after 0.3 s denied"])
  })

  it("PGM-3 the end tells status, reason and calls, and nothing stays open", () => {
    const usage = { inputTokens: 0, outputTokens: 0, modelRequests: 1, toolCalls: 1 }
    const end = { _tag: "Finished", runId: "r", historyRevision: "h", usage } as const
    const { lines, story } = told(
      called(0, a),
      [1, { ...end, status: "failed", error: { code: "model_failed", message: "no\x1b[2J luck" } }]
    )
    assert.deepStrictEqual(lines.slice(1), ["  failed (model_failed): no\ufffd[2J luck, 1 tool call"])
    assert.deepStrictEqual(story, Story.empty)
  })

  it("PGM-3 only an expired question needs a word of its own", () => {
    const outcome = (outcome: "allowed" | "denied" | "expired" | "cancelled") =>
      told([0, { _tag: "ApprovalResolved", approvalId: "p", outcome }]).lines.length
    assert.deepStrictEqual([outcome("allowed"), outcome("denied"), outcome("cancelled"), outcome("expired")], [
      0,
      0,
      0,
      1
    ])
  })

  it("PGM-3 long arguments are cut to one readable line", () => {
    const { lines } = told(called(0, call("c", "client__x", `{"t":"${"😀".repeat(5000)}"}`)))
    assert.isBelow(lines[0]!.length, 450)
    assert.isTrue(lines[0]!.isWellFormed() && lines[0]!.endsWith("…"))
  })
})
