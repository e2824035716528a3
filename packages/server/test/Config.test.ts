import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Config from "../src/Config.ts"

/** The path that a message begins with. */
const placeOf = (config: unknown): string | null => {
  const decoded = Config.decode(JSON.stringify(config))
  return Result.isSuccess(decoded) ? null : decoded.failure.split(": ", 1)[0]!
}

describe("program 1: the config file", () => {
  it("PGM-6 it may hold each of its fields", () => {
    const whole: Config.Config = {
      model: "openai-compatible:m",
      base_url: "http://localhost:8080/v1",
      instructions: "system.txt",
      catalog: "compact",
      permissions: [{ tool: "client__*", surface: "code", allow: "ask" }],
      hooks: [{ event: "before", tool: "*", command: ["true"], timeout_ms: 1 }],
      mcpServers: {
        a: { command: "x", args: ["y"], env: { A: "b" } },
        b: { type: "http", url: "https://h/mcp", headers: {} }
      },
      turn_limit: 1,
      run_timeout_ms: 1,
      request_ids: 64,
      code_mode: { enabled: false, memory_bytes: 1, time_ms: 1 }
    }
    assert.deepStrictEqual(Result.getOrThrow(Config.decode(JSON.stringify(whole))), whole)
    assert.strictEqual(placeOf({}), null)
    assert.strictEqual(placeOf({ request_ids: 1_000_000 }), null)
  })

  it("PGM-6 REQ-5 a fault is told at its path, as all paths are written", () => {
    const faults: ReadonlyArray<readonly [string, unknown]> = [
      ["the file", []],
      ["more", { more: 1 }],
      ["model", { model: null }],
      ["base_url", { base_url: "localhost" }],
      ["base_url", { base_url: "ftp://host" }],
      ["base_url", { base_url: "" }],
      ["catalog", { catalog: "half" }],
      ["permissions", { permissions: {} }],
      ["permissions[1].allow", { permissions: [{ tool: "a", allow: true }, { tool: "a", allow: "maybe" }] }],
      ["permissions[0].allow", { permissions: [{ tool: "a" }] }],
      ["permissions[0].tool", { permissions: [{ tool: "*a", allow: true }] }],
      ["permissions[0].tool", { permissions: [{ tool: "", allow: true }] }],
      ["permissions[0].surface", { permissions: [{ tool: "a", allow: true, surface: "both" }] }],
      ["hooks[0].command", { hooks: [{ event: "after", tool: "a", command: [] }] }],
      ["hooks[0].command[1]", { hooks: [{ event: "after", tool: "a", command: ["x", 1] }] }],
      ["mcpServers.a.args", { mcpServers: { a: { command: "x", args: "y" } } }],
      ["mcpServers.a b", { mcpServers: { "a b": { command: "x" } } }],
      ["turn_limit", { turn_limit: 0 }],
      ["run_timeout_ms", { run_timeout_ms: 1.5 }],
      ["request_ids", { request_ids: 63 }],
      ["request_ids", { request_ids: 1_000_001 }],
      ["code_mode.time_ms", { code_mode: { time_ms: -1 } }]
    ]
    for (const [place, config] of faults) assert.strictEqual(placeOf(config), place, JSON.stringify(config))
  })
})
