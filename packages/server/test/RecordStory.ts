/**
 * Valid sequences of records, drawn from numbers: runs with parallel calls answered in any order, delegated agents among
 * them, and ends.
 */
import type { JsonText } from "@errand/protocol"
import { HistoryCheck, type Message, type Owner, type Record } from "@errand/runtime"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

/** Numbers that decide what happens next. */
export const choices = Arbitrary.array(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9999 }))),
  { maxLength: 60 }
)

interface OpenCall {
  readonly owner: Owner
  readonly messageId: string
  readonly index: number
  readonly id: string
  /** Whether it has made a call itself, which has not ended. */
  inside?: boolean
}

export const root = (runId: string): Owner => ({ runId, taskId: null, subagentId: null })

export const user = (owner: Owner, text: string): Record => ({ kind: "user", ...owner, text })

export const assistant = (
  owner: Owner,
  messageId: string,
  text: string,
  calls: ReadonlyArray<string> = []
): Record => ({
  kind: "assistant",
  ...owner,
  messageId,
  text,
  toolCalls: calls.map((id) => ({ id, name: `tool_${id}`, arguments: `{"of":"${id}"}` }))
})

export const result = ({ runId, subagentId, taskId }: Owner, messageId: string, index: number, id: string): Record => ({
  kind: "result",
  runId,
  taskId,
  subagentId,
  messageId,
  index,
  activityId: `activity-${id}`,
  id,
  name: `tool_${id}`,
  outcome: "success",
  content: `{"text":"RESULT-${id}"}` as JsonText
})

export const ended = (runId: string): Record => ({ kind: "run", ...root(runId), status: "completed", error: null })

/** The story that the choices tell: as a runner would append it. */
export const tell = (choices: ReadonlyArray<number>): Array<Record> => {
  const records: Array<Record> = []
  let runs = 0
  let names = 0
  let run: Owner | null = null
  let task: Owner | null = null
  let open: Array<OpenCall> = []
  for (const choice of choices) {
    if (run === null) {
      run = root(`run-${++runs}`)
      records.push(user(run, `prompt ${runs} ${"ä😀".repeat(choice % 300)}`))
      continue
    }
    const mine = open.filter((call) => call.owner.taskId === null)
    const act = choice % 5
    if (act === 0 && open.length === 0) {
      records.push(ended(run.runId))
      run = task = null
    } else if (act === 1 && task === null) {
      task = { ...run, taskId: `task-${++names}`, subagentId: `sub-${names}` }
      records.push(user(task, "delegated"))
    } else if (open.length > 0 && act !== 2) {
      const call = open[choice % open.length]!
      const inner = { ...call.owner, activityId: `in-${call.id}`, parentId: `activity-${call.id}`, name: "tool_in" }
      if (call.inside === undefined && act === 3) {
        call.inside = true
        records.push({ kind: "begun", ...inner })
        continue
      }
      if (call.inside === true) records.push({ kind: "activity", ...inner, outcome: "success" })
      open = open.filter((other) => other !== call)
      records.push(result(call.owner, call.messageId, call.index, call.id))
    } else {
      const owner: Owner = act === 2 && task !== null ? task : run
      if ((owner === run ? mine : open.filter((call) => call.owner === owner)).length > 0) continue
      const messageId = `message-${++names}`
      const ids = Array.from({ length: choice % 4 }, (_, i) => `call-${names}-${i}`)
      records.push(assistant(owner, messageId, choice % 3 === 0 ? "" : `said ${names}`, ids))
      open = [...open, ...ids.map((id, index) => ({ owner, messageId, index, id }))]
    }
  }
  return records
}

/** What is missing at the end of a story: results of its open calls, and the end of its run. */
export const finish = (story: ReadonlyArray<Record>): Array<Record> => {
  const results = new Set(story.flatMap((one) => one.kind === "result" ? [`${one.messageId}/${one.index}`] : []))
  const missing = story.flatMap((one) =>
    one.kind !== "assistant" ?
      [] :
      one.toolCalls.flatMap((call, index) =>
        results.has(`${one.messageId}/${index}`) ? [] : [result(one, one.messageId, index, call.id)]
      )
  )
  const ends = new Set(story.flatMap((one) => one.kind === "run" ? [one.runId] : []))
  const open = new Set(story.map((one) => one.runId).filter((runId) => !ends.has(runId)))
  return [...missing, ...Array.from(open, ended)]
}

/** The ids of all calls in messages, as whoever checks them knows them. */
export const callIds = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const checker = new HistoryCheck.Checker(messages)
  checker.advance()
  return [...checker.callIds]
}
