import { assert, describe, it } from "@effect/vitest"
import { AskUser, ClientTool, ClientToolset, Results, Surface } from "@errand/runtime/suspend"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { failed, lookup, ok, raw } from "./Fixture.ts"

const minimal = { name: "t", description: "d", parameters: { type: "object" } } as const

const fault = (overrides: Record<string, unknown>) => {
  const { code, field, path, rule, tool } = failed(ClientTool.raw({ ...minimal, ...overrides } as never))
  return { code, field, path, rule, tool }
}

const accepts = (overrides: Record<string, unknown>) =>
  Result.isSuccess(ClientTool.raw({ ...minimal, ...overrides } as never))

describe("harness 1: declarations", () => {
  it("DCL-1 a raw declaration has its defaults and keeps its schema as text in its own key order", () => {
    const tool = ok(
      ClientTool.raw({ ...minimal, parameters: { type: "object", properties: { b: true, a: { minimum: -0 } } } })
    )
    assert.strictEqual(tool.parameters, "{\"type\":\"object\",\"properties\":{\"b\":true,\"a\":{\"minimum\":-0}}}")
    assert.strictEqual(
      tool.canonicalParameters,
      "{\"properties\":{\"a\":{\"minimum\":-0},\"b\":true},\"type\":\"object\"}"
    )
    const { instruction, lateAnswer, metadata, permission, retrySafe, schemas, timeoutMs } = tool
    assert.deepStrictEqual({
      instruction,
      lateAnswer,
      metadata: metadata as string,
      permission,
      retrySafe,
      schemas,
      timeoutMs
    }, {
      instruction: null,
      lateAnswer: "record",
      metadata: "{}",
      permission: "inherit",
      retrySafe: false,
      schemas: null,
      timeoutMs: null
    })
  })

  it("DCL-1 HRN-D3 any other field is refused by name", () => {
    assert.deepStrictEqual(fault({ handler: () => 1 }), {
      code: "client_tool_invalid",
      tool: "t",
      field: "handler",
      path: "handler",
      rule: "is no field of a client tool"
    })
    assert.strictEqual(fault({ success: Schema.String }).field, "success")
  })

  it.each([
    ["permission", "ask"],
    ["retrySafe", 1],
    ["timeoutMs", 0],
    ["timeoutMs", 1.5],
    ["lateAnswer", "drop"],
    ["instruction", " "],
    ["description", "\n"],
    ["description", 1],
    ["description", "\ud800"],
    ["parameters", null],
    ["parameters", []],
    ["metadata", []]
  ])("DCL-1 a wrong %s is a fault of that field (%j)", (field, value) => {
    assert.strictEqual(fault({ [field]: value }).field, field)
  })

  it.each(["a", "_", "A9_.:-", "a".repeat(256)])(
    "DCL-1 the name %j is legal",
    (name) => assert.isTrue(accepts({ name }))
  )

  it.each(["", " ", "9a", "-a", "a b", "café", "a/b", "a\n", "a".repeat(257)])(
    "DCL-1, faults F1 the name %j is refused",
    (name) => {
      assert.strictEqual(fault({ name }).field, "name")
    }
  )

  it.each(["description", "instruction"])(
    "limits: a %s has 1 to 16,384 characters, counted in code points",
    (field) => {
      assert.isTrue(accepts({ [field]: "😀".repeat(16_384) }))
      assert.strictEqual(fault({ [field]: "x".repeat(16_385) }).path, field)
    }
  )

  it("limits: an argument schema has at most 65,536 bytes of canonical JSON", () => {
    const schema = (filler: number) => ({ type: "object", title: "é".repeat(filler / 2) })
    const empty = JSON.stringify(schema(0)).length
    const even = (65_536 - empty) % 2
    assert.isTrue(accepts({ parameters: { ...schema(65536 - empty - even) } }))
    assert.strictEqual(fault({ parameters: schema(65_536 - empty + 2) }).field, "parameters")
  })

  it("limits: metadata has at most 16,384 bytes of canonical JSON", () => {
    const metadata = (bytes: number) => ({ k: "x".repeat(bytes - "{\"k\":\"\"}".length) })
    assert.isTrue(accepts({ metadata: metadata(16_384) }))
    assert.strictEqual(fault({ metadata: metadata(16_385) }).field, "metadata")
  })

  it.each([{}, { type: ["object"] }, { type: "array" }, { oneOf: [{ type: "object" }] }])(
    "limits, faults F4 the root type is exactly object (%j)",
    (parameters) => assert.strictEqual(fault({ parameters }).path, "parameters.type")
  )

  it.each([
    ["errand.tool", true],
    ["errand.client-tool", true],
    ["errand.tool-identity", true],
    ["Errand.Tool", false],
    ["AUTHORIZATION", true],
    ["credential", true],
    ["Credentials", true],
    ["grant", true],
    ["invocation_grant", true],
    ["Policy", true],
    ["server_correlation", true],
    ["policies", false],
    ["__proto__", false]
  ])("DCL-6 the metadata key %j at any depth: refused %j", (key, refused) => {
    const metadata = { a: [{ b: JSON.parse(`{${JSON.stringify(key)}:1}`) as unknown }] }
    assert.strictEqual(accepts({ metadata }), !refused)
    if (refused) assert.match(fault({ metadata }).path, /^metadata\.a\[0\]\.b/)
  })

  it.each<[string, unknown, string]>([
    ["NaN", { a: [NaN] }, "metadata.a[0]"],
    ["Infinity", { a: Infinity }, "metadata.a"],
    ["undefined", { a: undefined }, "metadata.a"],
    ["a function", { a: () => 1 }, "metadata.a"],
    ["a symbol", { a: Symbol("x") }, "metadata.a"],
    ["a bigint", { a: { b: 1n } }, "metadata.a.b"],
    ["a date", { a: new Date(0) }, "metadata.a"],
    ["a lone surrogate", { a: "\ud83d" }, "metadata.a"]
  ])("DCL-8 %s is refused with its path", (_, metadata, path) => {
    assert.strictEqual(fault({ metadata }).path, path)
    assert.strictEqual(
      fault({ parameters: { type: "object", x: metadata } }).path,
      path.replace("metadata", "parameters.x")
    )
  })

  it("DCL-8 a cycle is refused with its path, a value that occurs twice is not", () => {
    const cyclic: Record<string, unknown> = {}
    cyclic["a"] = [cyclic]
    assert.strictEqual(fault({ metadata: cyclic }).path, "metadata.a[0]")
    const shared = { x: 1 }
    assert.isTrue(accepts({ metadata: { a: shared, b: shared } }))
  })

  it("DCL-5 later changes of the caller's objects have no effect, and a declaration is frozen", () => {
    const parameters = { type: "object", properties: { a: { type: "string" } } }
    const metadata = { a: [1] }
    const tools = [ok(ClientTool.raw({ ...minimal, parameters, metadata }))]
    const toolset = ok(ClientToolset.make("s", tools))
    parameters.properties.a.type = "number"
    metadata.a.push(2)
    tools.length = 0
    assert.strictEqual(toolset.tools.length, 1)
    assert.strictEqual(toolset.tools[0]?.metadata, "{\"a\":[1]}")
    assert.isNull(toolset.tools[0]?.checkArguments("{\"a\":\"x\"}") ?? null)
    assert.isTrue(Object.isFrozen(toolset) && Object.isFrozen(toolset.tools) && Object.isFrozen(toolset.tools[0]))
  })
})

describe("harness 1: declarations from Effect Schemas", () => {
  const Part = Schema.Struct({ $ref: Schema.String, at: Schema.optionalKey(Schema.Date) }).annotate({
    identifier: "Part"
  })
  const tool = ok(ClientTool.make({
    name: "typed",
    description: "d",
    parameters: Schema.Struct({ left: Part, right: Part }),
    success: Schema.Struct({ when: Schema.Date }),
    failure: Schema.Struct({ tries: Schema.Int })
  }))

  it("DCL-2 the JSON Schema is derived, closed, with everything inlined", () => {
    const part = {
      type: "object",
      properties: { $ref: { type: "string" }, at: { type: "string" } },
      required: ["$ref"],
      additionalProperties: false
    }
    assert.deepStrictEqual(JSON.parse(tool.parameters), {
      type: "object",
      properties: { left: part, right: part },
      required: ["left", "right"],
      additionalProperties: false
    })
  })

  it("DCL-2 HRN-D3 a recursive schema is an error of its own, in whatever field", () => {
    interface Tree {
      readonly kids: ReadonlyArray<Tree>
    }
    const Tree: Schema.Codec<Tree> = Schema.Struct({
      kids: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
    })
    const asParameters = failed(ClientTool.make({ name: "t", description: "d", parameters: Tree }))
    assert.deepStrictEqual([asParameters.code, asParameters.field], ["client_tool_schema_recursive", "parameters"])
    const asSuccess = failed(
      ClientTool.make({ name: "t", description: "d", parameters: Schema.Struct({}), success: Tree })
    )
    assert.deepStrictEqual([asSuccess.code, asSuccess.field], ["client_tool_schema_recursive", "success"])
  })

  it("DCL-2 inlining that would grow without bound is refused, not carried out", () => {
    let schema: Schema.Codec<unknown> = Schema.String as never
    for (let level = 0; level < 40; level++) {
      schema = Schema.Struct({ a: schema, b: schema }).annotate({ identifier: `Level${level}` }) as never
    }
    assert.match(failed(ClientTool.make({ name: "t", description: "d", parameters: schema })).rule, /grows/)
  })

  it("DCL-2 a schema whose root is no object, or that has no JSON form, is refused", () => {
    assert.strictEqual(
      failed(ClientTool.make({ name: "t", description: "d", parameters: Schema.String })).path,
      "parameters.type"
    )
    assert.strictEqual(
      failed(ClientTool.make({ name: "t", description: "d", parameters: {} as never })).field,
      "parameters"
    )
  })

  it("DCL-2 arguments and answers are typed on both sides and decoded", () => {
    const request = {
      argumentsText: "{\"left\":{\"$ref\":\"a\",\"at\":\"2026-11-01T00:00:00.000Z\"},\"right\":{\"$ref\":\"b\"}}"
    }
    const args = ok(Results.argumentsOf(tool, request))
    assert.deepStrictEqual({ ...args.left }, { $ref: "a", at: new Date("2026-11-01T00:00:00.000Z") })
    const answer = ok(Results.success(tool, { when: new Date(0) }))
    assert.deepStrictEqual(answer, { status: "success", value: { when: "1970-01-01T00:00:00.000Z" } })
    assert.deepStrictEqual(ok(Results.failureWith(tool, "no", { tries: 3 })), {
      status: "error",
      message: "no",
      content: { tries: 3 }
    })
    assert.strictEqual(failed(Results.failureWith(tool, "no", { tries: 0.5 })).path, "content.tries")
  })

  it("DCL-2 decoding is strict: excess members and wrong types are refused with their path", () => {
    assert.strictEqual(lookup.checkArguments("{\"record_id\":\"7\"}"), null)
    assert.strictEqual(lookup.checkArguments("{\"record_id\":7}")?.path, "arguments.record_id")
    assert.strictEqual(lookup.checkArguments("{\"record_id\":\"7\",\"more\":1}")?.path, "arguments.more")
    assert.strictEqual(lookup.checkArguments("{")?.path, "arguments")
    assert.strictEqual(lookup.checkSuccess({ title: 1 }, "{}")?.path, "value.title")
  })

  it("SUS-1, faults E7 a number that would round is refused rather than rounded", () => {
    const parameters = Schema.Struct({ n: Schema.Number })
    const counting = ok(ClientTool.make({ name: "t", description: "d", parameters }))
    for (const exact of ["0.1", "1e21", "9007199254740992", "-0", "1.50", "123456789012345680000"]) {
      assert.strictEqual(ok(Results.argumentsOf(counting, { argumentsText: `{"n":${exact}}` })).n, Number(exact), exact)
    }
    for (const rounding of ["9007199254740993", "0.1000000000000000055", "1e400", "1e-400"]) {
      assert.isTrue(Result.isFailure(Results.argumentsOf(counting, { argumentsText: `{"n":${rounding}}` })), rounding)
    }
  })
})

describe("harness 1: toolsets", () => {
  const named = (name: string) => ok(ClientTool.raw({ ...minimal, name }))
  const many = (count: number, prefix = "t") => Array.from({ length: count }, (_, index) => named(`${prefix}${index}`))

  it("DCL-3 a toolset has an id and at least one tool", () => {
    assert.strictEqual(failed(ClientToolset.make("s", [])).code, "client_toolset_invalid")
    assert.strictEqual(failed(ClientToolset.make(" ", many(1))).code, "client_toolset_invalid")
    assert.isTrue(Result.isSuccess(ClientToolset.make("é".repeat(256), many(1))))
    assert.strictEqual(failed(ClientToolset.make("é".repeat(257), many(1))).code, "client_toolset_invalid")
  })

  it("DCL-3 names are unique within a toolset", () => {
    const { code, tool } = failed(ClientToolset.make("s", [named("a"), named("a")]))
    assert.deepStrictEqual([code, tool], ["client_tool_duplicate", "a"])
  })

  it.each<[string, unknown]>([
    ["a blank id", { toolsetId: " ", tools: many(1) }],
    ["a long id", { toolsetId: "x".repeat(257), tools: many(1) }],
    ["half a surrogate pair", { toolsetId: "a\ud83d", tools: many(1) }],
    ["no tools", { toolsetId: "s", tools: [] }],
    ["tools that are no list", { toolsetId: "s" }],
    ["a tool twice", { toolsetId: "s", tools: [named("a"), named("a")] }],
    ["a copy with another name", { toolsetId: "s", tools: [{ ...named("a"), name: "bad name!" }] }],
    ["a tool that nobody declared", { toolsetId: "s", tools: [{ name: "a" }] }],
    ["no tool", { toolsetId: "s", tools: [null] }],
    ["no toolset", null],
    ["a text", "s"]
  ])("DCL-3 DCL-5 a toolset that was written down keeps the rules of one that was made: %s", (_, toolset) => {
    const error = failed(ClientToolset.spec({ defaultToolsets: [toolset as never] }))
    assert.match(error.code, /^client_toolset_invalid$|^client_tool_duplicate$/)
    const clientTools = ok(ClientToolset.spec({ allowRunOverride: true }))
    const surface = Surface.make({ clientTools, clientToolsets: [toolset as never], others: [], rules: [] })
    assert.strictEqual(failed(surface).code, error.code)
    const unlisted = Surface.make({ clientTools, clientToolsets: toolset as never, others: [], rules: [] })
    assert.strictEqual(failed(unlisted).code, "client_toolset_invalid")
  })

  it("DCL-5 later changes of a toolset that was written down have no effect", () => {
    const tools = [named("a")]
    const toolset = { toolsetId: "s", tools }
    const clientTools = ok(ClientToolset.spec({ defaultToolsets: [toolset] }))
    tools.length = 0
    toolset.toolsetId = "other"
    const { offered } = ok(Surface.make({ clientTools, others: [], rules: [] }))
    assert.deepStrictEqual(offered.map(({ name, toolsetId }) => `${toolsetId} ${name}`), ["s a"])
  })

  it("DCL-4 a spec has no toolsets and allows no override by default", () => {
    assert.deepStrictEqual({ ...ok(ClientToolset.spec()) }, { defaultToolsets: [], allowRunOverride: false })
  })

  it("DCL-7, faults F3 toolset ids and tool names are unique over the spec", () => {
    const a = ok(ClientToolset.make("s", [named("a")]))
    const b = ok(ClientToolset.make("s", [named("b")]))
    const c = ok(ClientToolset.make("u", [named("a")]))
    assert.strictEqual(failed(ClientToolset.spec({ defaultToolsets: [a, b] })).code, "client_toolset_duplicate")
    const { code, message, tool, toolsetId } = failed(ClientToolset.spec({ defaultToolsets: [a, c] }))
    assert.deepStrictEqual([code, tool, toolsetId], ["client_tool_duplicate", "a", "u"])
    assert.include(message, "\"s\"")
  })

  it("limits: 32 toolsets, 128 tools in all", () => {
    const sets = (count: number) =>
      Array.from({ length: count }, (_, index) => ok(ClientToolset.make(`s${index}`, many(4, `n${index}_`))))
    assert.isTrue(Result.isSuccess(ClientToolset.spec({ defaultToolsets: sets(32) })))
    const small = Array.from({ length: 33 }, (_, index) => ok(ClientToolset.make(`s${index}`, many(1, `n${index}_`))))
    assert.strictEqual(failed(ClientToolset.spec({ defaultToolsets: small })).code, "client_tools_too_many")
    assert.isTrue(Result.isSuccess(ClientToolset.make("s", many(128))))
    assert.strictEqual(failed(ClientToolset.make("s", many(129))).code, "client_tools_too_many")
  })
})

describe("harness 1: raw arguments", () => {
  const schema = {
    type: "object",
    required: ["a"],
    properties: {
      a: { $ref: "#/$defs/name" },
      n: { type: "integer", minimum: 1, exclusiveMaximum: 10, multipleOf: 0.5 },
      list: {
        type: "array",
        items: { type: ["string", "null"] },
        prefixItems: [{ const: 1 }],
        maxItems: 3,
        uniqueItems: true
      },
      pick: { oneOf: [{ type: "string" }, { type: "string", minLength: 3 }] },
      any: { anyOf: [{ enum: [1, { b: 2, a: 1 }] }, { type: "boolean" }], not: { const: false } },
      open: {
        type: "object",
        additionalProperties: { type: "number" },
        propertyNames: { maxLength: 2 },
        minProperties: 1
      },
      has: { contains: { type: "number" }, minContains: 2 }
    },
    additionalProperties: false,
    patternProperties: { "^x_": { type: "boolean" } },
    $defs: { name: { type: "string", minLength: 2, pattern: "^[a-z]+$" } }
  }
  const tool = ok(ClientTool.raw({ ...minimal, parameters: schema }))

  it.each([
    "{\"a\":\"ab\"}",
    "{\"a\":\"ab\",\"n\":9.0,\"x_1\":true}",
    "{\"a\":\"ab\",\"list\":[1,\"x\",null],\"pick\":\"ab\"}",
    "{\"a\":\"ab\",\"any\":{\"a\":1,\"b\":2},\"open\":{\"k\":1},\"has\":[1,\"\",2]}"
  ])("RUN-4 fits: %s", (text) => assert.isNull(tool.checkArguments(text)))

  it.each([
    ["{}", "arguments.a"],
    ["{\"a\":\"A\"}", "arguments.a"],
    ["{\"a\":\"AB\"}", "arguments.a"],
    ["{\"a\":1}", "arguments.a"],
    ["{\"a\":\"ab\",\"b\":1}", "arguments.b"],
    ["{\"a\":\"ab\",\"x_1\":1}", "arguments.x_1"],
    ["{\"a\":\"ab\",\"n\":0}", "arguments.n"],
    ["{\"a\":\"ab\",\"n\":10}", "arguments.n"],
    ["{\"a\":\"ab\",\"n\":1.5}", "arguments.n"],
    ["{\"a\":\"ab\",\"list\":[2]}", "arguments.list[0]"],
    ["{\"a\":\"ab\",\"list\":[1,2]}", "arguments.list[1]"],
    ["{\"a\":\"ab\",\"list\":[1,\"x\",\"x\"]}", "arguments.list"],
    ["{\"a\":\"ab\",\"pick\":\"abc\"}", "arguments.pick"],
    ["{\"a\":\"ab\",\"any\":false}", "arguments.any"],
    ["{\"a\":\"ab\",\"any\":2}", "arguments.any"],
    ["{\"a\":\"ab\",\"open\":{\"k\":\"1\"}}", "arguments.open.k"],
    ["{\"a\":\"ab\",\"open\":{\"kkk\":1}}", "arguments.open.kkk"],
    ["{\"a\":\"ab\",\"open\":{}}", "arguments.open"],
    ["{\"a\":\"ab\",\"has\":[1]}", "arguments.has"],
    ["[]", "arguments"]
  ])("RUN-4 does not fit: %s", (text, path) => assert.strictEqual(tool.checkArguments(text)?.path, path))

  it("RUN-4 HRN-D5 a reference to itself ends, and digits beyond a double are no fault of the type", () => {
    const looping = ok(ClientTool.raw({ ...minimal, parameters: { type: "object", $ref: "#" } }))
    assert.match(looping.checkArguments("{}")?.rule ?? "", /too long/)
    assert.isNull(raw.checkArguments("{\"n\":900719925474099300001}"))
  })
})

describe("harness 1: ask_user", () => {
  const option = (label: string) => ({ label })
  const question = (header: string, more: object = {}) => ({
    header,
    question: "Which?",
    options: [option("a"), option("b")],
    ...more
  })
  const request = (...questions: ReadonlyArray<object>) => ({ argumentsText: JSON.stringify({ questions }) })

  it("ask_user takes 1 to 4 questions with 2 to 4 options each", () => {
    const fits = (args: unknown) => AskUser.tool.checkArguments(JSON.stringify(args)) === null
    const options = (count: number) => Array.from({ length: count }, (_, index) => option(`o${index}`))
    assert.deepStrictEqual(
      [0, 1, 4, 5].map((count) => fits({ questions: Array.from({ length: count }, (_, at) => question(`h${at}`)) })),
      [
        false,
        true,
        true,
        false
      ]
    )
    assert.deepStrictEqual(
      [1, 2, 4, 5].map((count) => fits({ questions: [question("h", { options: options(count) })] })),
      [
        false,
        true,
        true,
        false
      ]
    )
    assert.isFalse(fits({ questions: [question(" ")] }))
    assert.isFalse(fits({ questions: [question("h".repeat(25))] }))
  })

  it("HRN-D1 ask_user tells the model in its schema that no text may be blank, and how long each is", () => {
    const told = AskUser.tool.parameters.matchAll(/"pattern":"\\\\S","maxLength":(\d+)/g)
    assert.deepStrictEqual([...told].map(([, most]) => most), ["24", "1000", "80", "400"])
  })

  it("HRN-D1 HRN-D27 ask_user counts code points, as the schema does that the model is told", () => {
    const misfit = (args: object) => AskUser.tool.checkArguments(JSON.stringify({ questions: [args] }))
    const labels = (label: string) => ({ options: [option(label), option("b")] })
    assert.isNull(misfit(question("😀".repeat(24), labels("😀".repeat(80)))))
    assert.isNotNull(misfit(question("😀".repeat(25))))
    assert.isNotNull(misfit(question("h", labels("😀".repeat(81)))))
    const text = (count: number) => [{ header: "h", selected: [], text: "😀".repeat(count) }]
    assert.isTrue(Result.isSuccess(AskUser.answer(request(question("h")), text(16_384))))
    assert.isTrue(Result.isFailure(AskUser.answer(request(question("h")), text(16_385))))
  })

  it("HRN-D27 ask_user takes headers and labels only that tell questions and options apart", () => {
    const misfit = (...questions: ReadonlyArray<object>) => AskUser.tool.checkArguments(JSON.stringify({ questions }))
    const same = { options: [option("a"), option("a")] }
    assert.isNull(misfit(question("h"), question("i")))
    assert.strictEqual(misfit(question("h"), question("h"))?.path, "arguments.questions")
    assert.strictEqual(misfit(question("h"), question("i", same))?.path, "arguments.questions[1].options")
  })

  it.each<[string, object, string | null]>([
    ["one option", { selected: ["a"] }, null],
    ["a text of one's own", { selected: [], text: "neither" }, null],
    ["an option and a text", { selected: ["b"], text: "but slowly" }, null],
    ["nothing", { selected: [] }, "value.answers[0]"],
    ["a blank text", { selected: [], text: " " }, "value.answers[0]"],
    ["no such option", { selected: ["c"] }, "value.answers[0].selected[0]"],
    ["two options where one is allowed", { selected: ["a", "b"] }, "value.answers[0].selected"],
    ["another header", { selected: ["a"], header: "x" }, "value.answers[0].header"]
  ])("ask_user answers are checked against the questions: %s", (_, given, path) => {
    const result = AskUser.answer(request(question("h")), [{ header: "h", ...given } as AskUser.Answer])
    assert.strictEqual(Result.isFailure(result) ? result.failure.path : null, path)
  })

  it("ask_user allows several options only with multi_select, each once, and wants one answer per question", () => {
    const many = request(question("h", { multi_select: true }))
    const give = (selected: ReadonlyArray<string>) => AskUser.answer(many, [{ header: "h", selected }])
    assert.deepStrictEqual(ok(give(["a", "b"])), {
      status: "success",
      value: { answers: [{ header: "h", selected: ["a", "b"] }] }
    })
    assert.isTrue(Result.isFailure(give(["a", "a"])))
    assert.strictEqual(
      failed(AskUser.answer(request(question("h"), question("i")), [{ header: "h", selected: ["a"] }])).path,
      "value.answers"
    )
  })

  it("ask_user declined is a failure with a message", () => {
    assert.deepStrictEqual(AskUser.decline(), { status: "error", message: "The person declined to answer." })
    assert.deepStrictEqual(AskUser.decline(" "), AskUser.decline())
    assert.deepStrictEqual(AskUser.decline("Not now."), { status: "error", message: "Not now." })
  })
})
