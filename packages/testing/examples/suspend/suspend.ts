/** The first process: the run ends suspended, and what it waits for goes into a file. */
import { Suspension } from "@errand/runtime/suspend"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { harness } from "./agent.ts"

const calls = [
  { id: "c1", name: "lookup_record", arguments: { record_id: "7" } },
  { id: "c2", name: "close_record", arguments: { record_id: "7" } }
]

const program = Effect.gen(function*() {
  const { run } = yield* harness({ text: "I look first.", tool_calls: calls })
  const result = yield* run({ prompt: "Close record 7, if it is open." })
  if (result._tag !== "Suspended") return yield* Effect.die(result)
  writeFileSync("suspension.json", Suspension.stringify(result.suspension))
  const { approvals, calls: external } = result.suspension.requests
  // oxlint-disable-next-line no-console
  console.log(`suspended: ${external.length} call and ${approvals.length} approval are pending`)
})

Effect.runPromise(program)
