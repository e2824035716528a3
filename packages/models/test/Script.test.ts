import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import { Result, Schema } from "effect"
import { Script } from "../src/index.ts"

const file = (body: string) => `{"format":"errand.script","version":1,${body}}`

const decoded = (text: string) => Result.getOrThrow(Script.decode(text))

const fault = (text: string) => {
  const read = Script.decode(text)
  return Result.isFailure(read) ? read.failure.message : "no fault"
}

const plain: Script.Step = { deltas: [""], calls: [], delayMs: 0, error: null, times: 1 }

describe("SCR-1, SCR-2 the script file", () => {
  it("SCR-2 everything a step may hold is read, with the defaults for what it leaves out", () => {
    const script = decoded(file(`
      "root": [
        {},
        {"text": "a", "times": 3},
        {"deltas": ["a", "b"], "delay_ms": 5, "tool_calls": [
          {"id": "c1", "name": "x", "arguments": {"b": [9007199254740993, 1.50, -0], "a": {"__proto__": null}}},
          {"name": "y", "arguments_text": "{broken"},
          {"name": "z", "arguments": "text"}
        ]},
        {"error": {"message": "out"}},
        {"error": {"message": "busy", "retryable": true}}
      ],
      "tasks": {"check": [{"text": "done"}], "__proto__": []}`))
    assert.deepStrictEqual(script.root, [
      plain,
      { ...plain, deltas: ["a"], times: 3 },
      {
        ...plain,
        deltas: ["a", "b"],
        delayMs: 5,
        calls: [
          { id: "c1", name: "x", arguments: `{"b":[9007199254740993,1.50,-0],"a":{"__proto__":null}}` },
          { id: null, name: "y", arguments: "{broken" },
          { id: null, name: "z", arguments: `"text"` }
        ]
      },
      { ...plain, error: { message: "out", retryable: false } },
      { ...plain, error: { message: "busy", retryable: true } }
    ])
    assert.deepStrictEqual([...script.tasks], [["check", [{ ...plain, deltas: ["done"] }]], ["__proto__", []]])
  })

  it("SCR-1 tasks may be absent", () => {
    assert.deepStrictEqual(decoded(file(`"root":[]`)), { root: [], tasks: new Map() })
  })

  it("SCR-2 arguments may nest deeper than a frame may, so that the runtime has something to refuse", () => {
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`
    assert.strictEqual(
      decoded(file(`"root":[{"tool_calls":[{"name":"x","arguments":${deep}}]}]`)).root[0]?.calls[0]?.arguments,
      deep
    )
  })

  const faults: ReadonlyArray<readonly [text: string, message: string]> = [
    [`[]`, `expected an object`],
    [`{"version":1,"root":[]}`, `expected the field "format"`],
    [`{"format":"other","version":1,"root":[]}`, `format: expected "errand.script"`],
    [`{"format":"errand.script","version":2,"root":[]}`, `version: expected 1`],
    [`{"format":"errand.script","root":[]}`, `expected the field "version"`],
    [file(`"tasks":{}`), `expected the field "root"`],
    [file(`"root":[],"more":1`), `unknown field "more"`],
    [file(`"root":{}`), `root: expected an array`],
    [file(`"root":[{"text":"a"},{"text":5}]`), `root[1].text: expected a string`],
    [file(`"root":[{"text":null}]`), `root[0].text: expected a string`],
    [file(`"root":[{"tekst":"a"}]`), `root[0]: unknown field "tekst"`],
    [file(`"root":["a"]`), `root[0]: expected an object`],
    [file(`"root":[{"text":"a","deltas":[]}]`), `root[0]: expected "text" or "deltas", not both`],
    [file(`"root":[{"deltas":["a",1]}]`), `root[0].deltas[1]: expected a string`],
    [file(`"root":[{"delay_ms":-1}]`), `root[0].delay_ms: expected an integer from 0`],
    [file(`"root":[{"delay_ms":0.5}]`), `root[0].delay_ms: expected an integer from 0`],
    [file(`"root":[{"times":0}]`), `root[0].times: expected an integer from 1`],
    [file(`"root":[],"tasks":[]`), `tasks: expected an object`],
    [file(`"root":[],"tasks":{"x\\"y":[{"times":"many"}]}`), `tasks["x\\"y"][0].times: expected an integer from 1`],
    [file(`"root":[{"error":"out"}]`), `root[0].error: expected an object`],
    [file(`"root":[{"error":{}}]`), `root[0].error: expected the field "message"`],
    [file(`"root":[{"error":{"message":"m","retryable":1}}]`), `root[0].error.retryable: expected true or false`],
    [file(`"root":[{"error":{"message":"m","code":1}}]`), `root[0].error: unknown field "code"`],
    [file(`"root":[{"tool_calls":{}}]`), `root[0].tool_calls: expected an array`],
    [
      file(`"root":[{"tool_calls":[{"name":"x"}]}]`),
      `root[0].tool_calls[0]: expected one of "arguments" and "arguments_text"`
    ],
    [
      file(`"root":[{"tool_calls":[{"name":"x","arguments":1,"arguments_text":""}]}]`),
      `root[0].tool_calls[0]: expected one of "arguments" and "arguments_text"`
    ],
    [file(`"root":[{"tool_calls":[{"arguments":1}]}]`), `root[0].tool_calls[0]: expected the field "name"`],
    [
      file(`"root":[{"tool_calls":[{"id":null,"name":"x","arguments":1}]}]`),
      `root[0].tool_calls[0].id: expected a string`
    ],
    [
      file(`"root":[{"tool_calls":[{"name":"x","arguments_text":{}}]}]`),
      `root[0].tool_calls[0].arguments_text: expected a string`
    ],
    [file(`"root":[{"tool_calls":[{"name":"x","args":{}}]}]`), `root[0].tool_calls[0]: unknown field "args"`]
  ]
  it("REQ-5 WIR-3 SCR-4 keys that are long are cut, and keys that are secrets are not repeated", () => {
    const long = "x".repeat(5000)
    const cut = `${"x".repeat(63)}…`
    assert.strictEqual(fault(file(`"root":[{"${long}":1}]`)), `root[0]: unknown field "${cut}"`)
    assert.strictEqual(
      fault(file(`"root":[],"tasks":{"${long}":[{"times":0}]}`)),
      `tasks["${cut}"][0].times: expected an integer from 1`
    )
    const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2"
    for (
      const text of [
        file(`"root":[{"${secret}":1}]`),
        file(`"root":[],"tasks":{"${secret}":[{"times":0}]}`),
        file(`"root":[{"${secret}":nul}]`)
      ]
    ) {
      assert.notInclude(fault(text), "A1b2C3")
      assert.include(fault(text), "[redacted]")
    }
  })

  for (const [text, message] of faults) {
    it(`SCR-4 is refused: ${message}`, () => assert.strictEqual(fault(text), message))
  }

  it("SCR-4 a text that is no JSON, or holds a key twice, is refused with its place", () => {
    for (const one of [fault("not json"), fault(file(`"root":[{"text":"a","text":"b"}]`))]) {
      assert.strictEqual(one.match(/ at byte \d+/g)?.length, 1, one)
      assert.match(one, /at byte \d+$/)
    }
    assert.match(fault(file(`"root":[{"text":"a","text":"b"}]`)), /^root\[0\]/)
  })

  it.prop("SCR-2 any JSON passes as arguments without a change", { value: Schema.Json }, ({ value }) => {
    const node = Json.fromPlain(value)
    if (Result.isFailure(node)) return // a lone surrogate, which no text may hold
    const text = Json.write(node.success)
    const script = decoded(file(`"root":[{"tool_calls":[{"name":"x","arguments":${text}}]}]`))
    assert.strictEqual(script.root[0]?.calls[0]?.arguments, text)
  })
})
