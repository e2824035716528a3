/**
 * The minimal client that both Errand's server and the bare child are measured with: it parses each frame, stringifies
 * each answer, and checks nothing. Argument: `errand`, `raw3` or `raw5`.
 */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { drive, Stopwatch } from "../driver.ts"
import { answerTo, type Job } from "../job.ts"
import { connect } from "../lines.ts"

const [server, plan = "[]"] = process.argv.slice(2)
const flags = (process.env["BENCH_SERVER_FLAGS"] ?? "").split(" ").filter((flag) => flag !== "")
const child = spawn(
  process.execPath,
  [...flags, fileURLToPath(new URL(`server-${server}.mjs`, import.meta.url)), plan],
  {
    stdio: ["pipe", "pipe", "inherit"]
  }
)

interface Frame {
  readonly event?: string
  readonly id?: string
  readonly instance_id: string
  readonly data: {
    readonly [key: string]: unknown
    readonly arguments: { readonly text?: string; readonly size?: number }
  }
  readonly result?: { readonly [key: string]: unknown }
}

const watch = new Stopwatch()
let ids = 0
let left = 0
let acknowledged = () => {}
const waiting = new Map<string, (frame: Frame) => void>()

const write = connect(child.stdout, child.stdin, (line) => {
  const frame: Frame = JSON.parse(line)
  if (frame.event === "client.tool.call") {
    watch.begin()
    const { data } = frame
    const params = {
      instance_id: frame.instance_id,
      session_id: data["session_id"],
      run_id: data["run_id"],
      call_id: data["call_id"],
      task_id: data["task_id"],
      subagent_id: data["subagent_id"],
      status: "success",
      text: "Record found.",
      structured: { text: answerTo(data.arguments) }
    }
    write(JSON.stringify({ id: `r${ids++}`, method: "client.tool.result", params }))
  } else if (frame.event === "run.finished") finished(frame)
  else if (frame.id !== undefined) {
    if (frame.result?.["accepted"] === true) {
      if (--left === 0) {
        watch.end()
        acknowledged()
      }
      return
    }
    if (frame.result === undefined) throw new Error(line.slice(0, 500))
    waiting.get(frame.id)?.(frame)
    waiting.delete(frame.id)
  }
})
let finished: (frame: Frame) => void = () => {}

const request = (method: string, params: object): Promise<Frame> =>
  new Promise((resolve) => {
    const id = `r${ids++}`
    waiting.set(id, resolve)
    write(JSON.stringify({ id, method, params }))
  })

const errand = async (): Promise<void> => {
  const { result } = await request("session.create", {})
  const ended = new Promise<Frame>((resolve) => {
    finished = resolve
  })
  await request("turn.start", { session_id: result!["session_id"], prompt: "go" })
  const { data } = await ended
  if (data["status"] !== "completed") throw new Error(JSON.stringify(data))
}

const tool = {
  name: "client__lookup_record",
  description: "Finds a record.",
  input_schema: { type: "object", properties: { text: { type: "string" }, size: { type: "integer" } } }
}
await request("initialize", { required_capabilities: ["client.tools"], client_tools: [tool] })

drive(async (job: Job) => {
  left = job.calls
  const all = new Promise<void>((resolve) => {
    acknowledged = resolve
  })
  await Promise.all([all, server === "errand" ? errand() : request("bench.run", job)])
  return watch.take()
})
