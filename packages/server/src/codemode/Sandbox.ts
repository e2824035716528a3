/**
 * Runs code in a thread of its own and answers what it asks (BLT-3).
 *
 * Rule: when the scope of a run is closed its thread is gone, whatever the code was doing; asks that are open when the
 * code ends are interrupted (CAN-2). This is an edge: it starts threads, and it measures their time with the system's
 * own clock.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type { Ask, Ended, FromWorker, Job, Outcome, Reply } from "./SandboxMessage.ts"

/** Milliseconds that starting a thread and its interpreter may take. */
const START_MS = 20_000

/** Milliseconds beyond its limit after which a sandbox that does not end by itself is ended from outside. */
const GRACE_MS = 1000

/** Megabytes of the thread's own heap and stack, beside the memory of the sandbox. */
const HEAP_MB = 128
const STACK_MB = 16

/** The worker's module stands beside this one, as source, as output of the compiler, and in the bundle. */
const module = new URL(`./SandboxWorker${/\.\w+$/.exec(import.meta.url)![0].replace(".cjs", ".mjs")}`, import.meta.url)

const abandoned = (message: string): Ended => ({
  _tag: "Ended",
  outcome: { _tag: "Failed", message },
  log: "",
  logLeft: 0
})

const overdue = (timeMs: number): Ended =>
  abandoned(`The code computed for more than ${timeMs} ms, which is its limit; waiting for tools does not count.`)

/** Counts the time in which the sandbox owes something, and calls when that is too much. */
class Watch {
  private owed = 0
  private left = 0
  private since = 0
  private timer: NodeJS.Timeout | undefined
  private readonly late: () => void

  constructor(late: () => void) {
    this.late = late
  }

  /** Gives it so much time from now on. */
  grant(ms: number): void {
    this.left = ms
  }

  begin(): void {
    if (this.owed++ > 0) return
    this.since = performance.now()
    this.timer = setTimeout(this.late, this.left)
  }

  done(): void {
    if (--this.owed > 0) return
    this.stop()
    this.left -= performance.now() - this.since
  }

  stop(): void {
    clearTimeout(this.timer)
  }
}

/** Runs code to its end; `answer` serves what it asks, several asks at a time. */
export const run = Effect.fnUntraced(function*(job: Job, answer: (ask: Ask) => Effect.Effect<Omit<Reply, "id">>) {
  const ended = yield* Deferred.make<Ended>()
  const finish = (end: Ended) => Deferred.doneUnsafe(ended, Effect.succeed(end))
  const watch = new Watch(() => finish(overdue(job.timeMs)))
  const worker = yield* Effect.acquireRelease(
    Effect.sync(() => {
      watch.grant(START_MS)
      watch.begin()
      // loaded by the first run of code: it is a twentieth of the time a server needs to start
      const { Worker } = process.getBuiltinModule("node:worker_threads")
      return new Worker(module, {
        workerData: job,
        argv: [],
        env: {},
        execArgv: [],
        // nothing that the thread prints may reach the wire
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB }
      })
    }),
    (worker) =>
      Effect.andThen(
        Effect.sync(() => watch.stop()),
        Effect.promise(() => worker.terminate())
      )
  )
  const asks = yield* FiberSet.make()
  const fork = yield* FiberSet.runtime(asks)<never>()
  const serve = (ask: Ask) =>
    Effect.map(answer(ask), (reply) => {
      watch.begin()
      worker.postMessage({ id: ask.id, ...reply } satisfies Reply)
    })
  worker.on("message", (message: FromWorker) => {
    if (message._tag === "Ask") fork(serve(message))
    else if (message._tag === "Ended") finish(message)
    else {
      watch.done()
      if (message._tag === "Idle") return
      watch.grant(job.timeMs + GRACE_MS)
      watch.begin()
    }
  })
  worker.on("error", (error: NodeJS.ErrnoException) =>
    finish(abandoned(
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? "The code needed more memory than it may."
        : `The sandbox failed: ${error.message}`
    )))
  worker.on("exit", () => finish(abandoned("The sandbox ended before the code did.")))
  return yield* Deferred.await(ended)
}, Effect.scoped)

export type { Ask, Ended, Job, Outcome, Reply }
