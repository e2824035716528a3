import { assert, describe, it } from "@effect/vitest"
import { Json } from "@errand/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { EventStream } from "../../src/mcp/EventStream.ts"
import * as McpMessage from "../../src/mcp/McpMessage.ts"
import * as McpTool from "../../src/mcp/McpTool.ts"

const Name = Schema.String.check(Schema.isMaxLength(80))
const Server = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,32}$/))

const only = (json: string): McpMessage.McpMessage => {
  const [message, ...more] = McpMessage.read(json)
  assert.deepStrictEqual(more, [])
  return message!
}

describe("program 3: names and descriptions of MCP tools", () => {
  it("BLT-5 WIR-37 a legal name is kept; what is illegal, too long or ambiguous gets a mark", () => {
    assert.strictEqual(McpTool.nameOf("files", "read_file-2"), "mcp__files__read_file-2")
    assert.strictEqual(McpTool.nameOf("s", "x".repeat(56)), `mcp__s__${"x".repeat(56)}`)
    assert.match(McpTool.nameOf("s", "x".repeat(57)), /^mcp__s__x{47}_[0-9a-f]{8}$/)
    assert.match(McpTool.nameOf("s", "a.b"), /^mcp__s__a_b_[0-9a-f]{8}$/)
    assert.notStrictEqual(McpTool.nameOf("s", "a.b"), McpTool.nameOf("s", "a/b"))
    assert.strictEqual(McpTool.nameOf("a", "b__c"), "mcp__a__b__c")
    assert.match(McpTool.nameOf("a__b", "c"), /^mcp__a__b__c_[0-9a-f]{8}$/)
    assert.match(McpTool.nameOf("a_", "b"), /^mcp__a___b_[0-9a-f]{8}$/)
    assert.match(McpTool.nameOf("s", ""), /^mcp__s___[0-9a-f]{8}$/)
  })

  it.prop(
    "BLT-5 every name is legal, and two tools have one name only when they are the same",
    {
      servers: Arbitrary.schema(Schema.Tuple([Server, Server])),
      tools: Arbitrary.schema(Schema.Tuple([Name, Name]))
    },
    ({ servers: [s1, s2], tools }) => {
      // the reader of messages refuses lone surrogates, so no server can have them in a name
      const [t1, t2] = tools.map((tool) => tool.toWellFormed()) as [string, string]
      for (const [left, right] of [[[s1, t1], [s2, t2]], [[s1, t1], [s1, t2]], [[s1, t1], [s2, t1]]] as const) {
        const names = [McpTool.nameOf(...left), McpTool.nameOf(...right)]
        for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
        assert.strictEqual(names[0] === names[1], left[0] === right[0] && left[1] === right[1])
      }
    }
  )

  const tools = (json: string) => {
    const message = only(`{"jsonrpc":"2.0","id":1,"result":{"tools":${json}}}`)
    const told = message._tag === "Answer" ? McpMessage.member(message.result, "tools") : []
    return McpTool.listed("s", told as ReadonlyArray<unknown>)
  }

  it("BLT-5 PRO-4 WIR-38 descriptions are cleaned and bounded", () => {
    const described = (text: string) => tools(JSON.stringify([{ name: "t", description: text }])).tools[0]!.description
    assert.strictEqual(described("a\u001b[31mred\u001b[0m \u202e b\u0000"), "ared \ufffd b\ufffd")
    assert.strictEqual(described("key sk-ant-REDACTED"), "key [redacted]")
    assert.strictEqual(described("ä".repeat(2048)), "ä".repeat(2048))
    assert.strictEqual(described("ä".repeat(2049)), `${"ä".repeat(2046)} …`)
    assert.strictEqual(described(" \n"), "The tool t of the MCP server s.")
  })

  it("BLT-5 a tool without a usable name or schema is left out, and the others stay", () => {
    const schema = (bytes: number) => `{"type":"object","x":"${"y".repeat(bytes - 24)}"}`
    const all = [
      `{"inputSchema":{}}`,
      `{"name":"list","inputSchema":[]}`,
      `{"name":"fits","inputSchema":${schema(65_536)}}`,
      `{"name":"over","inputSchema":${schema(65_537)}}`,
      `{"name":"none"}`,
      `{"name":"none"}`,
      `5`
    ]
    const { faults, tools: kept } = tools(`[${all.join(",")}]`)
    assert.deepStrictEqual(kept.map(({ name }) => name), ["mcp__s__fits", "mcp__s__none"])
    assert.deepStrictEqual(faults, [
      "the tool  has no name",
      "the tool list has no object schema of at most 65536 bytes",
      "the tool over has no object schema of at most 65536 bytes",
      "the tool none is there twice",
      "the tool  has no name"
    ])
  })

  it("BLT-5 WIR-42 a text that only repeats the structured value is dropped, another one stays", () => {
    const outcome = (text: string) => {
      const result = `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":{"a":1.0}}`
      const message = only(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
      return message._tag === "Answer" ? McpTool.outcomeOf(message.result, 100) : undefined
    }
    assert.deepStrictEqual(outcome("{ \"a\": 1.0 }"), { _tag: "Success", text: "", structured: "{\"a\":1.0}" } as never)
    assert.deepStrictEqual(outcome("{\"a\":2}"), {
      _tag: "Success",
      text: "{\"a\":2}",
      structured: "{\"a\":1.0}"
    } as never)
    assert.deepStrictEqual(McpTool.outcomeOf({}, 100), { _tag: "Success", text: "" })
    assert.deepStrictEqual(McpTool.outcomeOf(null, 100), { _tag: "Success", text: "" })
  })
})

describe("program 3: messages of MCP servers", () => {
  it("BLT-5 FRM-6 whatever a server says is one of the known kinds, and a broken answer still ends its call", () => {
    assert.deepStrictEqual(only(`{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}`), {
      _tag: "Error",
      id: 3,
      code: -1,
      message: "no"
    })
    assert.deepStrictEqual(only(`{"id":"x","method":"ping"}`), {
      _tag: "Request",
      id: "\"x\"",
      method: "ping"
    } as never)
    assert.include(only(`{"id":4,"result":{"a":1,"a":2}}`), { _tag: "Invalid", id: 4 })
    assert.include(only(`{"id":5}`), { _tag: "Invalid", id: 5 })
    for (
      const text of [
        "",
        "nonsense",
        "[",
        "[[]]",
        "[5]",
        "null",
        "5",
        "{}",
        "{\"id\":null,\"result\":{}}",
        "{\"id\":\"7\",\"result\":1}"
      ]
    ) {
      assert.include(only(text), { _tag: "Invalid", id: undefined })
    }
  })

  it("BLT-5 WIR-43 the messages of a batch are read one by one, with what is opaque in them; one that is broken ends all its calls", () => {
    const structured = `{"n":12345678901234567890}`
    const batch =
      ` [{"method":"m"},{"id":1,"result":{"structuredContent":${structured}}},{"id":2,"error":{}},{"id":"a","method":"ping"}]`
    const [notification, answer, error, request, ...more] = McpMessage.read(batch)
    assert.include(notification, { _tag: "Notification", method: "m" })
    const result = answer?._tag === "Answer" ? McpMessage.member(answer.result, "structuredContent") : undefined
    assert.strictEqual(result instanceof Json.Opaque ? result.text : undefined, structured as never)
    assert.include(error, { _tag: "Error", id: 2 })
    assert.include(request, { _tag: "Request", id: "\"a\"" } as never)
    assert.deepStrictEqual(more, [])
    assert.deepStrictEqual(McpMessage.read("[]"), [])
    const broken = McpMessage.read(`[{"id":1,"result":{}},{"id":2,"result":{"a":1,"a":2}}]`)
    assert.deepStrictEqual(broken.map((one) => [one._tag, "id" in one && one.id]), [["Invalid", 1], ["Invalid", 2]])
  })

  it("BLT-5 FRM-12 the id of a server's request goes back digit for digit", () => {
    for (const id of ["9007199254740993", "1.0", "-0", "\"é\"", "null"]) {
      assert.deepStrictEqual(only(`{"id":${id},"method":"ping"}`), { _tag: "Request", id, method: "ping" } as never)
    }
    assert.include(only(`{"id":3.0,"result":{}}`), { _tag: "Answer", id: 3 })
  })

  it.prop(
    "BLT-5 events come out the same however their text is cut",
    {
      lines: Arbitrary.array(
        Arbitrary.schema(
          Schema.Literals(["data: a", "data:b", "data:", "", "", "id: 1", ": c", "data", "event: message"])
        ),
        { maxLength: 12 }
      ),
      end: Arbitrary.schema(Schema.Literals(["\n", "\r\n", "\r"])),
      cuts: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))), {
        maxLength: 6
      })
    },
    ({ cuts, end, lines }) => {
      const text = `${lines.join(end)}${end}${end}`
      const whole: Array<string> = []
      new EventStream((data) => whole.push(data)).push(text)
      const cut: Array<string> = []
      const stream = new EventStream((data) => cut.push(data))
      const at = [0, ...cuts.filter((one) => one < text.length).sort((a, b) => a - b), text.length]
      for (let i = 1; i < at.length; i++) stream.push(text.slice(at[i - 1], at[i]))
      assert.deepStrictEqual(cut, whole)
      const expected = lines.join("\n").split("\n\n").flatMap((event) => {
        const data = event.split("\n").flatMap((line) =>
          line.startsWith("data:") ? [line.slice(5).replace(/^ /, "")] : []
        )
        return data.join("\n").trim() === "" ? [] : [data.join("\n")]
      })
      assert.deepStrictEqual(whole, expected)
    }
  )
})
