import { assert, describe, it } from "@effect/vitest"
import { ClientTool, Decimal, InputSchema, Json, Limits, Registry, WireError } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"

const vectors = <A>(name: string): ReadonlyArray<A> =>
  JSON.parse(readFileSync(new URL(`../fixtures/vectors/${name}.json`, import.meta.url), "utf8")).cases as ReadonlyArray<
    A
  >

const registry = vectors<{ id: string; note: string; text: string; valid: boolean; path?: string; single: boolean }>(
  "registry"
)

const section = (path: string | undefined): string =>
  path === undefined ? "CLT-2 CLT-3" : path.includes("input_schema.") ? "SCH-1" : "CLT-2 CLT-3"

describe("8. client.tools: vectors", () => {
  for (const { id, note, path, text, valid } of registry) {
    it(`${section(path)} ${id} ${valid ? "accepts" : "refuses"}: ${note}`, () => {
      const result = Registry.decode(text)
      assert.strictEqual(Result.isSuccess(result), valid)
      if (Result.isSuccess(result)) {
        const nodes = Result.getOrThrow(Json.read(text)) as ReadonlyArray<ReadonlyMap<string, Json.JsonNode>>
        assert.deepStrictEqual(result.success.map((tool) => tool.name), nodes.map((node) => node.get("name") as string))
        assert.deepStrictEqual(
          result.success.map((tool) => tool.inputSchema),
          nodes.map((node) => Json.write(node.get("input_schema")!))
        )
      } else {
        assert.strictEqual(result.failure.code, "invalid_params")
        assert.isTrue(result.failure.message.startsWith(path!), result.failure.message)
      }
    })
  }

  for (
    const { canonical, descriptor, effective, note, sha256 } of vectors<Record<string, string>>("fingerprints")
  ) {
    it(`DEL-2 CLT-7 fingerprint: ${note}`, () => {
      const tool = Result.getOrThrow(Registry.decode(`[${descriptor}]`))[0]!
      assert.strictEqual(ClientTool.effective(tool), effective)
      assert.strictEqual(Json.canonical(Result.getOrThrow(Json.read(effective!))), canonical)
      assert.strictEqual(tool.fingerprint, sha256)
      assert.strictEqual(ClientTool.fingerprint(tool), sha256)
    })
  }
})

const tool = (extra: Record<string, unknown> = {}) =>
  JSON.stringify([{ name: "client__a", description: "A.", input_schema: { type: "object" }, ...extra }])

const message = (result: Result.Result<unknown, WireError>): string => {
  assert.isTrue(Result.isFailure(result))
  return Result.isFailure(result) ? result.failure.message : ""
}

describe("8. client.tools: declarations", () => {
  it("CLT-2 WIR-9 a time-out may be written as any integer, and its effective form is plain digits", () => {
    for (const text of ["5000", "5000.0", "5e3", "50e2", "500000e-2"]) {
      const tools = Result.getOrThrow(Registry.decode(tool({ timeout_ms: 7 }).replace("7", text)))
      assert.strictEqual(tools[0]!.timeoutMs, 5000)
      assert.isTrue(ClientTool.effective(tools[0]!).endsWith("\"timeout_ms\":5000}"))
    }
  })

  it("CLT-2 CLT-6 the bounds are those in force", () => {
    const limits = Limits.withBounds({
      clientTools: { name_bytes: 9, description_bytes: 2, max_timeout_ms: 2000, tools: 1 }
    })
    assert.isTrue(Result.isSuccess(Registry.decode(tool({ timeout_ms: 2000 }), limits)))
    assert.match(message(Registry.decode(tool({ timeout_ms: 2001 }), limits)), /^client_tools\[0\]\.timeout_ms: /)
    assert.match(message(Registry.decode(tool({ name: "client__ab" }), limits)), /^client_tools\[0\]\.name: /)
    assert.match(message(Registry.decode(tool({ description: "A.." }), limits)), /^client_tools\[0\]\.description: /)
    assert.match(message(Registry.decode(`[${tool().slice(1, -1)},${tool().slice(1, -1)}]`, limits)), /at most 1 /)
  })

  it("CLT-3 E8 text that is no strict JSON is refused with its place", () => {
    assert.match(message(Registry.decode("[{\"name\":1,\"name\":2}]")), /^client_tools\[0\]\.name: a duplicate key/)
    assert.match(message(Registry.decode("{}")), /^client_tools: expected an array/)
    assert.match(message(Registry.decode("[")), /^client_tools/)
  })

  it("REQ-5 a message never repeats what was sent", () => {
    const secret = "hunter2-do-not-repeat"
    for (
      const extra of [{ timeout_ms: secret }, { name: secret }, { description: [secret] }, { input_schema: secret }]
    ) {
      assert.notInclude(message(Registry.decode(tool(extra))), secret)
    }
    assert.isBelow(message(Registry.decode(tool({ ["k".repeat(30_000)]: 1 }))).length, 200)
  })

  it("SCH-1 to SCH-3 all faults are found, each with its path, and data is not walked", () => {
    const schema = `{"type":"object","$ref":"#","properties":{"a":{"type":"text"},"$ref":{"const":{"$ref":1}}},
      "allOf":[true,{"minLength":-1},5],"patternProperties":{"(":{"items":[]}},"multipleOf":1e-400,"minimum":1e308}`
    const found = InputSchema.faults(Result.getOrThrow(Json.read(schema)), "s")
    assert.deepStrictEqual(found.map(({ path }) => path), [
      "s.$ref",
      "s.properties.a.type",
      "s.allOf[1].minLength",
      "s.allOf[2]",
      "s.patternProperties.(.items"
    ])
  })

  it("SCH-1 F4 a wrong type of the root is one fault", () => {
    for (const type of ["\"Object\"", "[\"object\"]", "[\"object\",\"null\"]", "null"]) {
      const found = InputSchema.faults(Result.getOrThrow(Json.read(`{"type":${type}}`)), "s")
      assert.deepStrictEqual(found, [{ path: "s.type", problem: "the root must have the type \"object\"" }])
    }
  })

  it("SCH-1 numbers are judged by their digits", () => {
    const integers = [
      "0",
      "-0",
      "0.0",
      "0e5",
      "1.0",
      "10e-1",
      "1.50e1",
      "5e3",
      "100.00e-2",
      "1e300",
      "-5",
      "900719925474099300e-2"
    ]
    const others = ["0.5", "1e-1", "15e-2", "1.05e1", "1e-400", "9007199254740993.5", "1.0000000000000000000001"]
    for (const text of integers) assert.isTrue(Decimal.isInteger(text), text)
    for (const text of others) assert.isFalse(Decimal.isInteger(text), text)
    const accepts = (keyword: string, text: string) =>
      InputSchema.faults(Result.getOrThrow(Json.read(`{"type":"object","${keyword}":${text}}`)), "s").length === 0
    for (const text of ["1e-400", "0.000001", "5"]) assert.isTrue(accepts("multipleOf", text), text)
    for (const text of ["0", "-0", "0e9", "0.000", "-1e-400"]) assert.isFalse(accepts("multipleOf", text), text)
    for (const text of ["-0", "0.0", "3.0"]) assert.isTrue(accepts("minItems", text), text)
    for (const text of ["-1", "-1e-400", "1e-400"]) assert.isFalse(accepts("minItems", text), text)
  })

  it("SCH-4 a pattern is not compiled and a reference in data is not followed", () => {
    assert.isTrue(Result.isSuccess(
      Registry.decode(
        tool({
          input_schema: { type: "object", pattern: "(", patternProperties: { "[": {} }, const: { $ref: "http://x" } }
        })
      )
    ))
  })

  it.prop(
    "CLT-3 any value whatever is decoded or refused with a message that names client_tools",
    { value: Schema.Json, field: Schema.Literals(["name", "description", "input_schema", "timeout_ms", "other"]) },
    ({ field, value }) => {
      for (
        const text of [
          JSON.stringify(value),
          tool({ [field]: value }),
          tool({ input_schema: { type: "object", not: value } })
        ]
      ) {
        const result = Registry.decode(text)
        if (Result.isFailure(result)) assert.match(result.failure.message, /^client_tools/)
      }
    },
    { arbitrary: { runs: 200, seed: "registry" } }
  )
})

describe("8. client.tools: the service", () => {
  it.effect("CLT-4 CLT-5 F7 tools keep their order and are found by exact name only", () =>
    Effect.gen(function*() {
      const service = yield* Registry
      assert.deepStrictEqual(service.tools.map((one) => one.name), ["client__z", "client__a"])
      assert.strictEqual(service.get("client__a"), service.tools[1])
      for (const name of ["client__A", "toString", "constructor", "__proto__", ""]) {
        assert.isUndefined(service.get(name))
      }
      assert.isTrue(service.negotiated)
    }).pipe(Effect.provide(Registry.layer(
      `[${tool({ name: "client__z" }).slice(1, -1)},${tool({ timeout_ms: 1000 }).slice(1, -1)}]`
    ))))

  it.effect("CLT-3 one faulty descriptor builds nothing", () =>
    Effect.gen(function*() {
      const exit = yield* Registry.pipe(
        Effect.provide(Registry.layer(`[${tool().slice(1, -1)},null]`)),
        Effect.exit
      )
      assert.deepStrictEqual(exit, Exit.fail(new WireError("invalid_params", "client_tools[1]: expected an object")))
    }))

  it.effect("CLT-6 the layer uses the limits in force", () =>
    Effect.gen(function*() {
      const exit = yield* Registry.pipe(Effect.provide(Registry.layer(tool())), Effect.exit)
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Effect.provideService(Limits.Limits, Limits.withBounds({ clientTools: { tools: 0 } }))))

  it.effect("CLT-1 without the capability there are no tools", () =>
    Effect.gen(function*() {
      const service = yield* Registry
      assert.deepStrictEqual([service.tools, service.negotiated, service.get("client__a")], [[], false, undefined])
    }).pipe(Effect.provide(Registry.layerEmpty)))
})
