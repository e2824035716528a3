/**
 * The bare Node child: the frames of a call, and not one check.
 *
 * Rule: `raw3` sends what a call cannot do without (event, result, acknowledgement); `raw5` also the two `tool.activity`
 * frames that the protocol has for each call, so it is what the contract's frames alone cost.
 */
import { randomUUID } from "node:crypto"
import { askFor, type Job } from "./job.ts"
import { connect } from "./lines.ts"

/** Serves stdin until it ends. */
export const serve = (frames: 3 | 5): void => {
  const instance_id = randomUUID()
  const session_id = randomUUID()
  const run_id = randomUUID()
  const pending = new Map<string, () => void>()
  let seq = 0

  const write = connect(process.stdin, process.stdout, (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === "client.tool.result") {
      const done = pending.get(params.call_id)!
      pending.delete(params.call_id)
      write(JSON.stringify({ id, instance_id, result: { accepted: true } }))
      done()
    } else if (method === "bench.run") run(params, () => write(JSON.stringify({ id, instance_id, result: {} })))
    else write(JSON.stringify({ id, instance_id, result: {} }))
  })

  const activity = (activity_id: string, status: string): void => {
    if (frames === 3) return
    const data = {
      session_id,
      run_id,
      activity_id,
      parent_id: null,
      task_id: null,
      subagent_id: null,
      name: "client__lookup_record",
      status
    }
    write(JSON.stringify({ event: "tool.activity", instance_id, seq: ++seq, data }))
  }

  const run = ({ calls, inFlight, shape, size }: Job, end: () => void): void => {
    const args = askFor(size)
    let sent = 0
    let done = 0
    const call = () => {
      const call_id = randomUUID()
      const activity_id = frames === 5 ? randomUUID() : ""
      pending.set(call_id, () => {
        activity(activity_id, "success")
        settled()
      })
      sent++
      activity(activity_id, "running")
      const data = {
        session_id,
        run_id,
        call_id,
        task_id: null,
        subagent_id: null,
        name: "client__lookup_record",
        arguments: args,
        timeout_ms: 30_000
      }
      write(JSON.stringify({ event: "client.tool.call", instance_id, seq: ++seq, data }))
    }
    const settled = () => {
      done++
      if (done === calls) end()
      else if (shape === "loop" && sent < calls) call()
      else if (shape === "steps" && done === sent) batch()
    }
    const batch = () => {
      for (let i = 0; i < inFlight; i++) call()
    }
    batch()
  }
  process.stdin.on("end", () => process.exit(0))
}
