import { assert, describe, it } from "@effect/vitest"
import { Events, JsonSchema, Requests } from "@errand/protocol"
import { readFileSync } from "node:fs"

describe("JSON Schema", () => {
  it("the committed schema is the one that the tables make; `npm run schema` writes it anew", () => {
    const committed = readFileSync(new URL("../schema/protocol.schema.json", import.meta.url), "utf8")
    assert.strictEqual(committed, JsonSchema.text(), "run `npm run schema` and commit what it writes")
  })

  it("PGM-4 REQ-10 every request, result and event is there, and every object of ours is closed", () => {
    const definitions = JsonSchema.document()["$defs"] as Record<string, { additionalProperties?: boolean }>
    assert.deepStrictEqual(Object.keys(definitions), [
      ...Requests.methods.map((method) => `request:${method}`),
      ...Requests.methods.map((method) => `result:${method}`),
      ...Events.names.map((name) => `event:${name}`),
      "error"
    ])
    for (const [name, schema] of Object.entries(definitions)) assert.isFalse(schema.additionalProperties, name)
  })

  it("CAL-1 RES-1 a call and a result have exactly their fields, and only structured is optional", () => {
    const definitions = JsonSchema.document()["$defs"] as Record<string, Record<string, never>>
    const inner = (name: string, member: string) =>
      (definitions[name]!["properties"]! as Record<string, { properties: object; required: ReadonlyArray<string> }>)[
        member
      ]!
    const call = ["session_id", "run_id", "call_id", "task_id", "subagent_id", "name", "arguments", "timeout_ms"]
    assert.sameMembers(Object.keys(inner("event:client.tool.call", "data").properties), call)
    assert.sameMembers([...inner("event:client.tool.call", "data").required], call)
    const result = ["instance_id", "session_id", "run_id", "call_id", "task_id", "subagent_id", "status", "text"]
    assert.sameMembers(Object.keys(inner("request:client.tool.result", "params").properties), [...result, "structured"])
    assert.sameMembers([...inner("request:client.tool.result", "params").required], result)
  })
})
