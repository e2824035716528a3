/** Another process, minutes or days later: it has the file and the agent, and nothing else. */
import { Effect, Result } from "effect"
import { readFileSync } from "node:fs"
import { harness } from "./agent.ts"

const program = Effect.gen(function*() {
  const { pending, resume } = yield* harness({ text: "Done: {{results}}" })
  const suspension = readFileSync("suspension.json", "utf8")
  const { approvals, calls } = Result.getOrThrow(pending(suspension))
  const answers = calls.map((call) => {
    const { record_id } = Result.getOrThrow(call.arguments)
    return call.succeed({ title: `Record ${record_id}`, open: true })
  })
  const decisions = approvals.map((approval) => approval.allow())
  const result = yield* resume(suspension, [...answers, ...decisions])
  if (result._tag !== "Completed") return yield* Effect.die(result)
  // oxlint-disable-next-line no-console
  console.log(result.output)
})

Effect.runPromise(program)
