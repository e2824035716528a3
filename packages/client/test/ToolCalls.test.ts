import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { make, Tool, type ToolHandler } from "../src/index.ts"
import { type FakeOptions, FakeServer } from "./FakeServer.ts"

const lookup = Tool.make("lookup_record", {
  description: "Looks up a record.",
  parameters: Schema.Struct({ record_id: Schema.String, limit: Schema.optionalKey(Schema.Int) }),
  success: Schema.Struct({ title: Schema.String, at: Schema.Date })
}).handle(({ record_id }) => Effect.succeed({ title: `record ${record_id}`, at: new Date(0) }))

const settle = Effect.promise(() => new Promise<void>((done) => setImmediate(done)))

/** A client with these tools on a fake server, with a turn that runs. */
const started = <R>(tools: ReadonlyArray<ToolHandler<R>>, options: FakeOptions = {}) =>
  Effect.gen(function*() {
    const fake = new FakeServer(options)
    const client = yield* make({ server: fake.source, tools })
    return { fake, client }
  })

describe("14. the client's duties", () => {
  it.effect("CLI-1 arguments are decoded and a typed success becomes the structured value", () =>
    Effect.gen(function*() {
      const { fake } = yield* started([lookup])
      fake.call("c-1", "client__lookup_record", `{"record_id":"7"}`, { task_id: "t-1", subagent_id: "a-1" })
      yield* settle
      assert.deepStrictEqual(fake.answers, [{
        instance_id: "i-1",
        session_id: "s-1",
        run_id: "r-1",
        call_id: "c-1",
        task_id: "t-1",
        subagent_id: "a-1",
        status: "success",
        text: "",
        structured: { title: "record 7", at: "1970-01-01T00:00:00.000Z" }
      }])
    }))
})
