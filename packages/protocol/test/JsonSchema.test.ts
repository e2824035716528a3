import { assert, describe, it } from "@effect/vitest"
import { Events, Json, JsonSchema, Requests, SchemaCheck } from "@errand/protocol"
import * as Result from "effect/Result"
import { readdirSync, readFileSync } from "node:fs"

const read = (text: string): Json.JsonNode => Result.getOrThrow(Json.read(text, { maxDepth: 40 }))

/** What the published schema of one frame says of a text; undefined: it fits. */
const judge = (definition: string) => {
  const check = SchemaCheck.compile(
    read(JSON.stringify({ ...JsonSchema.document(), anyOf: [{ $ref: `#/$defs/${definition}` }] }))
  )
  return (text: string) => check(read(text))
}

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

  it("PGM-4 REQ-2 every frame that is accepted fits the schema that is printed", () => {
    const folder = new URL("../fixtures/accept/", import.meta.url)
    for (const type of readdirSync(folder)) {
      const fits = judge(`${Events.isEvent(type) ? "event" : "request"}:${type}`)
      for (const name of readdirSync(new URL(type, folder))) {
        assert.isUndefined(fits(readFileSync(new URL(`${type}/${name}`, folder), "utf8")), `${type}/${name}`)
      }
    }
  })

  it("PGM-4 REQ-2 CLT-2 CAL-1 what the schema can say of ids, descriptors and arguments, it says", () => {
    const tool = (fields: object) =>
      JSON.stringify({
        id: "i",
        method: "initialize",
        params: {
          required_capabilities: ["client.tools"],
          client_tools: [{ name: "client__a", description: "A tool.", input_schema: { type: "object" }, ...fields }]
        }
      })
    const initialize = judge("request:initialize")
    assert.isUndefined(initialize(tool({})))
    for (
      const faulty of [
        { name: "lookup" },
        { name: "client__a-b" },
        { name: `client__${"a".repeat(57)}` },
        { description: "" },
        { description: " \n" },
        { input_schema: { type: "array" } },
        { input_schema: null },
        { timeout_ms: 999 },
        { timeout_ms: 300_001 },
        { timeout_ms: null },
        { more: 1 }
      ]
    ) assert.isDefined(initialize(tool(faulty)), JSON.stringify(faulty))
    const asked = (client_tools: unknown) =>
      JSON.stringify({
        id: "i",
        method: "initialize",
        params: { required_capabilities: ["client.tools"], client_tools }
      })
    assert.isDefined(initialize(asked(null)))
    assert.isDefined(initialize(asked({})))
    assert.isDefined(initialize(asked(Array.from({ length: 33 }, () => ({})))))

    const status = judge("request:status")
    for (const id of ["", "a b", "é", "x".repeat(129)]) {
      assert.isDefined(status(JSON.stringify({ id, method: "status" })), id)
    }
    const start = judge("request:turn.start")
    assert.isDefined(
      start(JSON.stringify({ id: "i", method: "turn.start", params: { session_id: "s", prompt: " \n" } }))
    )

    const identity = { session_id: "s", run_id: "r", call_id: "c", task_id: null, subagent_id: null }
    const data = { ...identity, name: "client__a", arguments: [], timeout_ms: 1000 }
    assert.isDefined(
      judge("event:client.tool.call")(JSON.stringify({ event: "client.tool.call", instance_id: "i", seq: 1, data }))
    )
  })
})
