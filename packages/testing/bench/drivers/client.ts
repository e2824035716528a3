/** Errand's own client with a typed tool, on Errand's server. */
import { make, Tool } from "@errand/client"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { fileURLToPath } from "node:url"
import { drive, Stopwatch } from "../driver.ts"
import { answerTo } from "../job.ts"

const watch = new Stopwatch()

const lookup = Tool.make("lookup_record", {
  description: "Finds a record.",
  parameters: Schema.Struct({ text: Schema.optionalKey(Schema.String), size: Schema.optionalKey(Schema.Int) }),
  success: Schema.Struct({ text: Schema.String })
}).handle((ask) => {
  watch.begin()
  return Effect.succeed({ text: answerTo(ask) })
})

const server = fileURLToPath(new URL("server-errand.mjs", import.meta.url))

await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const client = yield* make({
    server: { command: process.execPath, args: [server, process.argv[2]!] },
    tools: [lookup]
  })
  drive(() =>
    Effect.runPromise(Effect.gen(function*() {
      const session = yield* client.createSession
      yield* session.ask("go")
      watch.end()
      return watch.take()
    }))
  )
  yield* Effect.never
})))
