import { assert, describe, it } from "@effect/vitest"
import { TestServer } from "@errand/testing"
import { Effect, Result } from "effect"
import { report } from "../src/cli/Check.ts"
import * as Config from "../src/Config.ts"

const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2"
const tool = (extra: object) => TestServer.tool("client__a", extra)
const schema = (extra: object) => tool({ input_schema: { type: "object", ...extra } })
const descriptors: Record<string, object> = {
  "a field": tool({ [secret]: 1 }),
  "a keyword": schema({ [secret]: 1 }),
  "a property": schema({ properties: { [secret]: 5 } })
}

describe("section 2: messages repeat no secret that stands as a key", () => {
  const required_capabilities = ["client.tools"]
  const requests: Record<string, object> = {
    "an envelope": { id: "q", method: "status", [secret]: 1 },
    "params": { id: "q", method: "status", params: { [secret]: 1 } },
    "params of initialize": { id: "q", method: "initialize", params: { required_capabilities: [], [secret]: 1 } },
    "a capability": { id: "q", method: "initialize", params: { required_capabilities: [secret] } },
    ...Object.fromEntries(
      Object.entries(descriptors).map(([where, one]) => [
        `${where} of a descriptor`,
        { id: "q", method: "initialize", params: { required_capabilities, client_tools: [one] } }
      ])
    )
  }
  for (const [where, request] of Object.entries(requests)) {
    it.effect(`REQ-5 in ${where}`, () =>
      Effect.gen(function*() {
        const { duplex, peer } = yield* TestServer.start()
        duplex.write(`${JSON.stringify(request)}\n`)
        const { error } = yield* peer.response("q")
        assert.notInclude(error?.message, "A1b2C3")
        assert.include(error?.message, "[redacted]")
      }))
  }

  it("REQ-5 PGM-6 in the config file, whose long keys are cut too", () => {
    const decode = (value: object) => Result.getOrThrow(Result.flip(Config.decode(JSON.stringify(value))))
    for (
      const value of [
        { [secret]: 1 },
        { mcpServers: { [secret]: { command: 1 } } },
        { mcpServers: { [secret.repeat(3)]: { command: "x" } } },
        { code_mode: { [secret]: 1 } }
      ]
    ) {
      assert.notInclude(decode(value), "A1b2C3")
      assert.include(decode(value), "[redacted]")
    }
    assert.match(decode({ ["z".repeat(50_000)]: 1 }), /^z{63}…: ./)
    assert.match(decode({ token: 1 }), /^token: [^[]*$/)
  })

  for (const [where, one] of Object.entries(descriptors)) {
    it(`REQ-5 PGM-4 errand check: in ${where} of a descriptor`, () => {
      const lines = report(JSON.stringify([one])).lines.join("\n")
      assert.notInclude(lines, "A1b2C3")
      assert.include(lines, "[redacted]")
    })
  }
})
