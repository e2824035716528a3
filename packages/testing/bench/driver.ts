/**
 * A driver: one client library with the server that it spawned, kept warm and told over IPC which job to do.
 *
 * Rule: the IPC channel is silent while a job is timed.
 */
import { readdirSync, readFileSync } from "node:fs"
import type { Job, Taken } from "./job.ts"

/** Times a job: the client calls `begin` when the first call arrives and `end` when the last one is acknowledged. */
export class Stopwatch {
  private begun = 0
  private ended = 0
  begin(): void {
    if (this.begun === 0) this.begun = performance.now()
  }
  end(): void {
    this.ended = performance.now()
  }
  take(): number {
    const ms = this.ended - this.begun
    this.begun = 0
    return ms
  }
}

/** Microseconds that all threads of a process were on a processor; 0 where the system does not tell. */
const processorUs = (pid: number): number => {
  try {
    let us = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      us += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]) / 1000
    }
    return us
  } catch {
    return 0
  }
}

const childOf = (pid: number): number | undefined => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ", 1)[0]) || undefined
  } catch {
    return undefined
  }
}

/** Serves the orchestrator; `perform` does one job and gives its milliseconds. */
export const drive = (perform: (job: Job) => Promise<number>): void => {
  const server = childOf(process.pid)
  process.on("message", (job: Job) => {
    const clientFrom = processorUs(process.pid)
    const serverFrom = server === undefined ? 0 : processorUs(server)
    perform(job).then((ms) => {
      const taken: Taken = {
        ms,
        clientUs: (processorUs(process.pid) - clientFrom) / job.calls,
        serverUs: server === undefined ? 0 : (processorUs(server) - serverFrom) / job.calls
      }
      process.send!(taken)
    }, (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
      process.exit(1)
    })
  })
  // The servers end when their stdin does.
  process.on("disconnect", () => process.exit(0))
  process.send!("ready")
}
