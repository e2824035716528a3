import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import type { JsonText } from "@errand/protocol"
import type { Message, ModelRequest } from "@errand/runtime"
import { Arbitrary, Schema } from "effect"
import { Template } from "../src/index.ts"

const json = (text: string) => text as JsonText

const bare: ModelRequest = { instructions: null, messages: [], tools: [], agent: null }

const call = (id: string) => ({ id, name: "client__a", arguments: "{}" })

const result = (id: string, content = `{"text":"done"}`) =>
  ({ id, name: "client__a", outcome: "success", content: json(content) }) as const

const conversation: ReadonlyArray<Message> = [
  { role: "user", text: "first" },
  { role: "assistant", text: "", toolCalls: [call("old")] },
  { role: "tool", results: [result("old")] },
  { role: "assistant", text: "", toolCalls: [call("one"), call("two")] },
  { role: "tool", results: [result("one"), result("two", `{"text":"t","structured":[9007199254740993,1.50,-0]}`)] }
]

const request: ModelRequest = {
  instructions: "Be brief.",
  messages: conversation,
  tools: [
    {
      name: "client__a",
      description: `Says "a".`,
      inputSchema: json(`{"type":"object","const":12345678901234567890}`)
    },
    { name: "read_file", description: "", inputSchema: json(`{"type":"object"}`) }
  ],
  agent: null
}

const text = (template: string, of: ModelRequest = request) =>
  Template.render(Template.compile([template]), of).join("")

describe("SCR-3 replacements", () => {
  it("SCR-3 results are those after the last assistant message, in call order, each digit kept", () => {
    assert.strictEqual(
      text("{{results}}"),
      `[{"id":"one","name":"client__a","outcome":"success","result":{"text":"done"}},` +
        `{"id":"two","name":"client__a","outcome":"success","result":{"text":"t","structured":[9007199254740993,1.50,-0]}}]`
    )
  })

  it("SCR-3 results are found behind a later user message, and are none after an assistant message without calls", () => {
    const later: ReadonlyArray<Message> = [...conversation, { role: "user", text: "second" }]
    assert.strictEqual(text("{{results}}", { ...request, messages: later }), text("{{results}}"))
    const answered: ReadonlyArray<Message> = [...later, { role: "assistant", text: "hm", toolCalls: [] }]
    assert.strictEqual(text("{{results}}", { ...request, messages: answered }), "[]")
    assert.strictEqual(text("{{results}}", bare), "[]")
  })

  it("SCR-3 tools are the offered names, and a tool is shown with its schema unchanged", () => {
    assert.strictEqual(text("{{tools}}"), `["client__a","read_file"]`)
    assert.strictEqual(
      text("{{tool:client__a}}"),
      `{"name":"client__a","description":"Says \\"a\\".","input_schema":{"type":"object","const":12345678901234567890}}`
    )
    assert.strictEqual(text("{{tool:client__A}}"), "null")
    assert.strictEqual(text("{{tool:}}"), "null")
    assert.strictEqual(text("{{tools}}", bare), "[]")
  })

  it("SCR-3 roles count the instructions as a system message where there are any", () => {
    assert.strictEqual(text("{{roles}}"), `["system","user","assistant","tool","assistant","tool"]`)
    assert.strictEqual(text("{{roles}}", bare), "[]")
  })

  it("SCR-3 the prompt is the last user text, or empty", () => {
    assert.strictEqual(text("<{{prompt}}>"), "<first>")
    assert.strictEqual(text("<{{prompt}}>", bare), "<>")
  })

  it("SCR-3 nothing but roles looks further back than the last assistant message, or the last prompt", () => {
    const messages = [
      ...Array.from({ length: 1000 }, () => conversation[0]!),
      ...conversation,
      { role: "user", text: "last" } as const
    ]
    for (let old = 0; old < 1003; old++) {
      Object.defineProperty(messages, old, { get: () => assert.fail(`message ${old} was read`) })
    }
    const of = { ...request, messages }
    assert.strictEqual(
      text("{{results}}{{tools}}{{tool:x}}{{prompt}}plain", of),
      `${text("{{results}}{{tools}}")}nulllastplain`
    )
  })

  it("SCR-3 what is no replacement stays as it stands", () => {
    for (
      const plain of [
        "{{Prompt}}",
        "{{ prompt }}",
        "{prompt}",
        "{{prompt}",
        "{{toolbox}}",
        "{{tool:a{b}}",
        "{{}}",
        "}}{{"
      ]
    ) {
      assert.strictEqual(text(plain), plain)
    }
    assert.strictEqual(text("{{{prompt}}}"), "{first}")
  })

  it("SCR-3 what is inserted is never replaced again, nor together with what follows it", () => {
    const said = (prompt: string) => ({ ...bare, messages: [{ role: "user", text: prompt }] as const })
    assert.strictEqual(text("{{prompt}}", said("{{tools}}")), "{{tools}}")
    assert.strictEqual(text("{{prompt}}prompt}}", said("{{")), "{{prompt}}")
  })

  it("SCR-3 marks cut over deltas are found and the deltas stay several", () => {
    const deltas = Template.compile(["{{pro", "mpt}}|", "{{roles}}", "", "end"])
    assert.deepStrictEqual(Template.render(deltas, request), ["first", "|", text("{{roles}}"), "end"])
  })

  const pieces = Schema.Array(
    Schema.Literals([
      "{{prompt}}",
      "{{tools}}",
      "{{results}}",
      "{{tool:x}}",
      "{{roles}}",
      "{{",
      "}}",
      "{",
      "prompt",
      "a",
      "😀"
    ])
  )
  const cuts = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 80 }))), {
    maxLength: 12
  })

  it.prop("SCR-3 no way to cut a text into deltas changes what is read", { parts: pieces, cuts }, ({ cuts, parts }) => {
    const whole = parts.join("")
    const places = [0, ...cuts.filter((at) => at < whole.length).sort((a, b) => a - b), whole.length]
    const deltas = places.slice(1).map((end, index) => whole.slice(places[index], end))
    assert.strictEqual(deltas.join(""), whole)
    const rendered = Template.render(Template.compile(deltas), request)
    assert.strictEqual(rendered.join(""), text(whole))
    assert.isFalse(rendered.includes(""))
  }, { arbitrary: { runs: 400 } })

  it.prop("SCR-3 a text without marks passes delta by delta", { deltas: Schema.Array(Schema.String) }, ({ deltas }) => {
    if (deltas.join("").includes("{{")) return
    assert.deepStrictEqual(Template.render(Template.compile(deltas), request), deltas.filter((delta) => delta !== ""))
  })

  it.prop(
    "SCR-3 results are JSON whatever ids and texts hold",
    { id: Schema.String, name: Schema.String, said: Schema.String },
    ({ id, name, said }) => {
      const content = json(`{"text":${Json.quote(said)}}`)
      const messages: ReadonlyArray<Message> = [{ role: "tool", results: [{ id, name, outcome: "unknown", content }] }]
      const read = JSON.parse(text("{{results}}", { ...bare, messages }))
      assert.deepStrictEqual(read, [{ id, name, outcome: "unknown", result: { text: said } }])
    }
  )
})
