import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { DemoScript, Script } from "../src/index.ts"

describe("PGM-2 the demo script", () => {
  it("PGM-2 SCR-4 is a valid script that calls the four demo tools, each call with an id of its own", () => {
    const { root, tasks } = Result.getOrThrow(Script.decode(DemoScript.text))
    assert.deepStrictEqual(root.map((step) => step.calls.map(({ id, name }) => `${name}:${id}`)), [
      ["client__lookup_record:lookup", "client__render_report:report"],
      ["client__lookup_record:ledger"],
      ["client__delete_record:delete"],
      ["client__slow_export:export"],
      [],
      ["client__slow_export:again"],
      []
    ])
    assert.isTrue(root.every((step) => step.deltas.join("") !== "" && step.error === null))
    assert.strictEqual(tasks.size, 0)
  })
})
