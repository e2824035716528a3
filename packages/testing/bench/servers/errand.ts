/**
 * Errand's server as it ships, over its own pipes, with memory storage and a script; the only bounds that are raised are
 * the request ids and the turns of a run. Argument: the jobs, in the order in which turns will ask for them, as JSON.
 */
import { type Script, ScriptedModel } from "@errand/models"
import { Limits } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { serve } from "../../../server/src/Server.ts"
import { SessionStore } from "../../../server/src/SessionStore.ts"
import { Startup } from "../../../server/src/Startup.ts"
import * as Stdio from "../../../server/src/Stdio.ts"
import { askFor, type Job } from "../job.ts"

interface Plan {
  readonly jobs: ReadonlyArray<Job>
  readonly pendingCalls?: number
}

const { jobs, pendingCalls = 16 }: Plan = JSON.parse(process.argv[2]!)

const steps = jobs.flatMap(({ calls, inFlight, size }): Array<Script.Step> => {
  const call = { id: null, name: "client__lookup_record", arguments: JSON.stringify(askFor(size)) }
  const step = { deltas: [""], calls: [], delayMs: 0, error: null, times: 1 }
  return [
    { ...step, calls: Array.from({ length: inFlight }, () => call), times: calls / inFlight },
    { ...step, deltas: ["Done."] }
  ]
})

const startup = Startup.layerOf(Effect.succeed({
  settings: { instructions: null, permissions: [], runTimeoutMs: null, turnLimit: 1_000_000_000 },
  model: ScriptedModel.layer({ root: steps, tasks: new Map() }),
  store: SessionStore.layerMemory,
  locals: []
}))
const limits = Limits.withBounds({ base: { request_ids: 100_000_000 }, clientTools: { pending_calls: pendingCalls } })

await Effect.runPromise(
  Effect.flatMap(Stdio.open, ({ pipes }) => serve(pipes)).pipe(
    Effect.provide(Layer.mergeAll(
      startup,
      Layer.succeed(Limits.Limits, limits),
      Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
    ))
  )
)
process.exit(0)
