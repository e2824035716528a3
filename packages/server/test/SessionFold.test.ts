import { assert, describe, it } from "@effect/vitest"
import { Conversation, HistoryCheck, type Owner, type Record, TextParts } from "@errand/runtime"
import * as Schema from "effect/Schema"
import * as OpenSession from "../src/OpenSession.ts"
import * as SessionEntry from "../src/SessionEntry.ts"
import * as SessionFold from "../src/SessionFold.ts"
import { assistant, callIds, choices, ended, result, root, tell, user } from "./RecordStory.ts"

const at = "2026-01-02T03:04:05.006Z"
const run = root("r")

const counter = () => {
  let n = 0
  return () => `id-${++n}`
}

const fold = (...records: ReadonlyArray<Record>) => SessionFold.step(SessionFold.empty, [{ at, records }], counter())

const shown = (step: SessionFold.Step) =>
  step.shown().map((entry, i) => JSON.parse(SessionEntry.render(entry, i + 1, undefined)))

const told = (step: SessionFold.Step) => ({
  ledger: step.ledger,
  rows: step.rows,
  shown: shown(step),
  title: step.title
})

const messagesOf = (rows: ReadonlyArray<SessionFold.Row>) => OpenSession.find(rows, 0).root.messages

describe("section 4: what records make of a session", () => {
  it("SES-6 every entry has the fields of its kind, in order", () => {
    const delegated = { runId: "r", taskId: "t", subagentId: "s" }
    const failed: Record = { kind: "run", ...run, status: "failed", error: { code: "model_failed", message: "no" } }
    const step = fold(
      user(run, "hello"),
      assistant(run, "m", "I look", ["a"]),
      assistant(delegated, "n", "inner"),
      result(run, "m", 0, "a"),
      failed
    )
    const base = { at, run_id: "r", task_id: null, subagent_id: null }
    assert.deepStrictEqual(shown(step), [
      { entry_id: "1", ...base, kind: "user", text: "hello" },
      { entry_id: "2", ...base, kind: "assistant", text: "I look" },
      { entry_id: "3", ...base, task_id: "t", subagent_id: "s", kind: "assistant", text: "inner" },
      { entry_id: "4", ...base, kind: "tool", name: "tool_a", status: "success" },
      { entry_id: "5", ...base, kind: "run", status: "failed", error: { code: "model_failed", message: "no" } }
    ])
  })

  it("SES-6 an empty text is no entry, and a run that did not fail has no error", () => {
    const step = fold(user(run, "x"), assistant(run, "m", ""), ended("r"))
    assert.deepStrictEqual(shown(step).map((entry) => [entry.kind, Object.keys(entry).length]), [["user", 7], [
      "run",
      7
    ]])
  })

  it("SES-6 a text of 16,384 bytes is one entry and one byte more makes two", () => {
    const sizes = (text: string) =>
      shown(fold(user(run, text))).map(({ part, parts, text }) => [text.length, part, parts])
    assert.deepStrictEqual(sizes("a".repeat(16_384)), [[16_384, undefined, undefined]])
    assert.deepStrictEqual(sizes("a".repeat(16_385)), [[16_384, 1, 2], [1, 2, 2]])
    // six compact bytes each
    assert.deepStrictEqual(sizes("\u0001".repeat(4999)), [[4999, undefined, undefined]])
    assert.deepStrictEqual(sizes("\u0001".repeat(5000)), [[4999, 1, 2], [1, 2, 2]])
  })

  it.prop("SES-6 parts joined are the text", { text: Schema.String, times: Schema.Int }, ({ text, times }) => {
    const whole = text.toWellFormed().repeat(Math.abs(times) % 4000)
    assert.strictEqual(shown(fold(user(run, whole))).map((entry) => entry.text).join(""), whole)
  })

  it("SES-7 neither arguments nor results are shown", () => {
    const step = fold(assistant(run, "m", "", ["a"]), result(run, "m", 0, "a"))
    assert.notMatch(JSON.stringify(step.shown()), /RESULT|arguments|"of"/)
    assert.match(JSON.stringify(step.rows), /RESULT/)
  })

  it("SES-6 calls are shown in call order once all have ended, whatever the order of their results", () => {
    const step = fold(
      assistant(run, "m", "", ["a", "b", "c"]),
      result(run, "m", 2, "c"),
      result(run, "m", 0, "a"),
      result(run, "m", 1, "b")
    )
    assert.deepStrictEqual(shown(step).map((entry) => entry.name), ["tool_a", "tool_b", "tool_c"])
  })

  const inner = { activityId: "inner", parentId: "activity-a", name: "tool_inner" }
  const begun = (owner: Owner): Record => ({ kind: "begun", ...owner, ...inner })
  const activity = (owner: Owner): Record => ({ kind: "activity", ...owner, ...inner, outcome: "failure" })
  const toolsOf = (step: SessionFold.Step) =>
    shown(step).flatMap(({ kind, name, status }) => kind === "tool" ? [[name, status]] : [])

  it("SES-6 SES-11 BLT-3 a call made inside another one has one entry of its own and closes no open call", () => {
    const since = "2026-01-01T00:00:00.000Z"
    const step = SessionFold.step(SessionFold.empty, [
      { at: since, records: [user(run, "x"), assistant(run, "m", "", ["a"]), begun(run)] },
      { at, records: [activity(run), activity(run), result(run, "m", 0, "a")] }
    ], counter())
    assert.deepStrictEqual(toolsOf(step), [["tool_inner", "failure"], ["tool_a", "success"]])
    assert.deepStrictEqual(step.shown()[1]!.tool, {
      ...inner,
      subagentId: null,
      status: "failure",
      startedAt: since,
      endedAt: at
    })
    const conversation = new Conversation.Conversation()
    for (const { record } of step.rows) conversation.take(record)
    assert.deepStrictEqual(conversation.messages.map(({ role }) => role), ["user", "assistant", "tool"])
  })

  it("CRD-1 a card stands on tool entries only, and only where it is drawn", () => {
    const step = fold(user(run, "x"), assistant(run, "m", "", ["a"]), result(run, "m", 0, "a"))
    const card = (tool: SessionEntry.ToolActivity) => JSON.stringify(tool) as never
    const [prompt, tool] = step.shown().map((entry, i) => JSON.parse(SessionEntry.render(entry, i, card)))
    assert.notProperty(prompt, "tool_card")
    assert.deepStrictEqual(tool.tool_card, {
      activityId: "activity-a",
      parentId: null,
      subagentId: null,
      name: "tool_a",
      status: "success",
      startedAt: at,
      endedAt: at
    })
    assert.notMatch(SessionEntry.render(step.shown()[1]!, 2, () => null), /tool_card/)
  })

  it("SES-6 an endless tool name does not make an entry that fits no frame", () => {
    const name = "\u0001".repeat(100_000)
    const step = fold(assistant(run, "m", "", ["a"]), { ...result(run, "m", 0, "a"), name } as Record)
    assert.strictEqual(shown(step)[0].name.length, 4999)
    assert.isBelow(step.shown()[0]!.body.length, TextParts.PART_COMPACT_BYTES + 200)
  })

  it("SES-4 the title is the first 80 characters of the first prompt of the root, protected", () => {
    const delegated = { runId: "r", taskId: "t", subagentId: "s" }
    assert.strictEqual(fold(user(delegated, "inner"), assistant(run, "m", "x")).title, null)
    assert.strictEqual(fold(user(delegated, "inner"), user(run, "😀".repeat(81))).title, "😀".repeat(80))
    const secret = `ghp_${"Q7w8E9".repeat(6)}`
    assert.strictEqual(fold(user(run, `${"a".repeat(70)} ${secret}`)).title, `${"a".repeat(70)} [redacted`.slice(0, 80))
    const first = fold(user(run, "one"))
    assert.strictEqual(SessionFold.step(first.ledger, [{ at, records: [user(run, "two")] }], counter()).title, null)
  })

  it("SES-11 results wait for each other and follow their message in call order", () => {
    const conversation = new Conversation.Conversation()
    const records = [
      user(run, "x"),
      assistant(run, "m", "", ["a", "b"]),
      result(run, "m", 1, "b"),
      result(run, "m", 0, "a")
    ]
    const roles = records.map((record) => {
      conversation.take(record)
      return conversation.messages.map((message) => message.role).join(" ")
    })
    assert.deepStrictEqual(roles, ["user", "user assistant", "user assistant", "user assistant tool"])
    const tool = conversation.messages[2]!
    assert.deepStrictEqual(tool.role === "tool" && tool.results.map((one) => one.id), ["a", "b"])
    assert.deepStrictEqual(callIds(conversation.messages), ["a", "b"])
  })

  it("CAL-7 a second result, one of no such call and one that comes too late are left out", () => {
    const step = fold(
      assistant(run, "m", "", ["a"]),
      result(run, "m", 1, "a"),
      result(run, "m", -1, "a"),
      result(run, "other", 0, "a"),
      result(run, "m", 0, "a"),
      result(run, "m", 0, "a")
    )
    assert.deepStrictEqual(step.rows.map((row) => row.record.kind), ["assistant", "result"])
  })

  it("SES-11 what opens the next step closes the calls before it, each once, in call order", () => {
    for (const next of [user(run, "next"), assistant(run, "n", "next"), ended("r")]) {
      const step = fold(assistant(run, "m", "", ["a", "b", "c"]), result(run, "m", 1, "b"), next)
      assert.deepStrictEqual(
        step.rows.map(({ record }) => record.kind === "result" ? `${record.id} ${record.outcome}` : record.kind),
        ["assistant", "b success", "a unknown", "c unknown", next.kind]
      )
    }
  })

  it("SES-10 BLT-3 calls inside others that have no end are unknown, before the calls that they are in", () => {
    const delegated = { runId: "r", taskId: "t", subagentId: "s" }
    for (
      const [owner, next] of [[run, ended("r")], [run, assistant(run, "n", "next")], [delegated, ended("r")]] as const
    ) {
      const step = fold(assistant(owner, "m", "", ["a"]), begun(owner), next, activity(owner))
      assert.deepStrictEqual(toolsOf(step), [["tool_inner", "unknown"], ["tool_a", "unknown"]])
      assert.deepStrictEqual([...step.ledger.begun], [])
    }
  })

  it("SES-10 BLT-3 a store whose calls inside others have only an end is read as it was shown", () => {
    const since = "2026-01-01T00:00:00.000Z"
    const rows = [
      assistant(run, "m", "", ["a"]),
      { ...activity(run), startedAt: since } as Record,
      result(run, "m", 0, "a")
    ]
      .map((record, i) => ({ seq: i + 1, at, record }))
    const entries = new SessionFold.Entries()
    const [first, second] = rows.flatMap((row) => [...entries.take(row)])
    assert.deepStrictEqual([first?.tool?.name, first?.tool?.startedAt], ["tool_inner", since])
    assert.strictEqual(second?.tool?.name, "tool_a")
    assert.deepStrictEqual(SessionFold.replay(rows, 2), {
      ...SessionFold.empty,
      seq: 3,
      entries: 2,
      runs: new Set(["r"])
    })
  })

  it("SES-9 a run whose end could not be stored is ended when the next one begins", () => {
    const step = fold(
      user(run, "x"),
      assistant(run, "m", "", ["a"]),
      user(root("r2"), "next"),
      user(root("r2"), "more")
    )
    assert.deepStrictEqual(
      step.rows.map(({ record }) => [record.runId, record.kind === "run" ? record.error?.code : record.kind]),
      [["r", "user"], ["r", "assistant"], ["r", "result"], ["r", "interrupted"], ["r2", "user"], ["r2", "user"]]
    )
    assert.deepStrictEqual([...step.ledger.runs], ["r2"])
  })

  it("SES-10 the end of a run closes the calls of its delegated agents too, and of no other run", () => {
    const inner = { runId: "r", taskId: "t", subagentId: "s" }
    const other = { runId: "q", taskId: "u", subagentId: "v" }
    const step = fold(assistant(inner, "m", "", ["a"]), assistant(other, "n", "", ["b"]), ended("r"))
    assert.deepStrictEqual(step.rows.map(({ record }) => record.kind), ["assistant", "assistant", "result", "run"])
    assert.deepStrictEqual([...step.ledger.open.keys()], ["u"])
  })

  it("SES-10 a call that was cut off says that it may have executed", () => {
    assert.deepStrictEqual(Object.keys(JSON.parse(SessionFold.interruptedResult).error), ["code", "message"])
    assert.match(SessionFold.interruptedResult, /"interrupted".*may have executed/)
  })

  it.prop("SES-10 a refused batch leaves no trace, whatever was in it", { choices }, ({ choices }) => {
    const records = tell(choices)
    const half = Math.floor(records.length / 2)
    const before = SessionFold.step(SessionFold.empty, [{ at, records: records.slice(0, half) }], counter()).ledger
    const rest = [{ at, records: records.slice(half) }]
    const once = SessionFold.step(before, rest, counter())
    assert.deepStrictEqual(told(SessionFold.step(before, rest, counter())), told(once))
  })

  it.prop("SES-6 entries that are made of the rows later are those of the step, and as many as it counts", {
    choices
  }, ({ choices }) => {
    const step = fold(...tell(choices))
    const later = new SessionFold.Entries()
    assert.deepStrictEqual(step.rows.flatMap((row) => [...later.take(row)]), [...step.shown()])
    assert.strictEqual(step.shown().length, step.ledger.entries)
  })

  it.prop(
    "SES-10 after a crash at any record, repair closes each open call once and does it only once",
    { choices },
    ({ choices }) => {
      const records = tell(choices)
      for (let crash = 0; crash <= records.length; crash++) {
        const kept = records.slice(0, crash)
        const stored = SessionFold.step(SessionFold.empty, kept.map((record) => ({ at, records: [record] })), counter())
        assert.deepStrictEqual(stored.rows.map((row) => row.record), kept)
        const reopened = SessionFold.replay(stored.rows, stored.ledger.entries)
        assert.deepStrictEqual(reopened, stored.ledger)
        const repaired = SessionFold.step(reopened, [{ at, records: SessionFold.repair(reopened) }], counter())
        const rows = [...stored.rows, ...repaired.rows]
        assert.deepStrictEqual(HistoryCheck.check(messagesOf(rows)), [])
        const calls = rows.flatMap(({ record }) =>
          record.kind === "assistant" ? record.toolCalls.map((call) => call.id) : []
        )
        const results = rows.flatMap(({ record }) => record.kind === "result" ? [record.id] : [])
        assert.deepStrictEqual(results.sort(), calls.sort())
        const inside = (kind: "begun" | "activity") =>
          rows.flatMap(({ record }) => record.kind === kind ? [record.activityId] : []).sort()
        assert.deepStrictEqual(inside("activity"), inside("begun"))
        const runs = new Set(kept.map((record) => record.runId))
        assert.strictEqual(
          rows.filter(({ record }) => record.kind === "run" && record.taskId === null).length,
          runs.size
        )
        const again = SessionFold.replay(rows, repaired.ledger.entries)
        assert.deepStrictEqual(again, repaired.ledger)
        assert.deepStrictEqual(SessionFold.repair(again), [])
      }
    },
    { arbitrary: { runs: 60 } }
  )
})
