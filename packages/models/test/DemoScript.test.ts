import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { DemoScript, Script } from "../src/index.ts"

describe("PGM-2 the demo script", () => {
  it("PGM-2 SCR-4 is a valid script that calls the four demo tools, ids left to the model", () => {
    const { root, tasks } = Result.getOrThrow(Script.decode(DemoScript.text))
    assert.deepStrictEqual(root.map((step) => step.calls.map(({ id, name }) => `${name}:${id}`)), [
      ["client__lookup_record:null", "client__render_report:null"],
      ["client__lookup_record:null"],
      ["client__delete_record:null"],
      ["client__slow_export:null"],
      [],
      ["client__slow_export:null"],
      []
    ])
    assert.isTrue(root.every((step) => step.deltas.join("") !== "" && step.error === null))
    assert.strictEqual(tasks.size, 0)
  })
})
