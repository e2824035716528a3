import { assert, describe, it } from "@effect/vitest"
import { Json, type JsonText } from "@errand/protocol"
import { Arbitrary, Schema } from "effect"
import * as Bounds from "../src/Bounds.ts"
import * as HistoryCheck from "../src/HistoryCheck.ts"
import type { Message, ModelToolCall } from "../src/ModelTurn.ts"

const call = (id: string, more: Partial<ModelToolCall> = {}): ModelToolCall => ({
  id,
  name: "client__a",
  arguments: "{}",
  ...more
})
const assistant = (...toolCalls: ReadonlyArray<ModelToolCall>): Message => ({ role: "assistant", text: "", toolCalls })
const tool = (...calls: ReadonlyArray<ModelToolCall>): Message => ({
  role: "tool",
  results: calls.map(({ id, name }) => ({ id, name, outcome: "success", content: "{\"text\":\"\"}" as JsonText }))
})
const user = (text = "go"): Message => ({ role: "user", text })
const rules = (...messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  HistoryCheck.check(messages).map(({ rule, message, index }) =>
    `${rule} ${message}${index === undefined ? "" : `.${index}`}`
  )
const withContent = (content: string): Message => ({
  role: "tool",
  results: [{ id: "a", name: "client__a", outcome: "success", content: content as JsonText }]
})

const [a, b] = [call("a"), call("b")]
const longest = "x".repeat(64)

describe("SES-11 the check", () => {
  it("SES-11 conversations with and without calls pass", () => {
    assert.deepStrictEqual(rules(), [])
    assert.deepStrictEqual(
      rules(user(), assistant(), user(), assistant(a, b), tool(a, b), assistant(call("c")), tool(call("c")), user()),
      []
    )
  })
  it("SES-11 each call has its result before anything else", () => {
    assert.deepStrictEqual(rules(assistant(a), user()), ["missing_results 0"])
    assert.deepStrictEqual(rules(assistant(a), assistant(), tool(a)), ["missing_results 0", "orphan_results 2.0"])
    assert.deepStrictEqual(rules(user(), assistant(a)), ["missing_results 1"])
    assert.deepStrictEqual(rules(assistant(a, b), tool(a)), ["missing_results 0"])
  })
  it("SES-11 results come in call order and carry the call's id and name", () => {
    assert.deepStrictEqual(rules(assistant(a, b), tool(b, a)), ["result_order 1.0", "result_order 1.1"])
    assert.deepStrictEqual(rules(assistant(a), tool(call("a", { name: "other" }))), ["result_order 1.0"])
  })
  it("SES-11 no result is without a call, and no tool message is empty", () => {
    assert.deepStrictEqual(rules(tool(a)), ["orphan_results 0.0"])
    assert.deepStrictEqual(rules(assistant(a), tool(a, b)), ["orphan_results 1.1"])
    assert.deepStrictEqual(rules(assistant(a), tool(a), tool(a)), ["orphan_results 2.0"])
    assert.deepStrictEqual(rules(user(), tool()), ["empty_results 1"])
  })
  it("SES-11 names and ids have 1 to 64 legal characters", () => {
    for (
      const [value, ok] of [
        ["a", true],
        [longest, true],
        ["A-_9", true],
        ["", false],
        [`${longest}x`, false],
        ["a.b", false],
        ["é", false],
        ["a\n", false]
      ] as const
    ) {
      const named = call("a", { name: value })
      assert.deepStrictEqual(rules(assistant(named), tool(named)), ok ? [] : ["illegal_name 0.0"])
      assert.deepStrictEqual(rules(assistant(call(value)), tool(call(value))), ok ? [] : ["illegal_id 0.0"])
    }
  })
  it("SES-11 faults A9 ids are unique in a message and in the whole conversation", () => {
    assert.deepStrictEqual(rules(assistant(a, a), tool(a, a)), ["repeated_id 0.1"])
    assert.deepStrictEqual(rules(assistant(a), tool(a), assistant(b, a), tool(b, a)), ["repeated_id 2.1"])
  })
  it("SES-11 arguments are JSON text of an object", () => {
    const of = (text: string) => rules(assistant(call("a", { arguments: text })), tool(a))
    assert.deepStrictEqual(of("{\"a\": [1]}"), [])
    for (
      const text of [
        "",
        "[]",
        "\"x\"",
        "5",
        "null",
        "{",
        "{\"a\":1,\"a\":2}",
        "{}{}",
        "{\"a\":\"\ud83d\"}",
        "{\"a\":\"\\ud83d\"}"
      ]
    ) {
      assert.deepStrictEqual(of(text), ["arguments 0.0"], text)
    }
  })
  it("SES-11 HRN-D2 the deepest value that an answer may hold is content, and a deeper one is none", () => {
    const content = (depth: number) => withContent(`{"text":"","structured":${"[".repeat(depth)}${"]".repeat(depth)}}`)
    assert.deepStrictEqual(rules(assistant(a), content(1000)), [])
    assert.deepStrictEqual(rules(assistant(a), content(1001)), ["content 1.0"])
  })

  it("SES-11 contents and provider data are JSON text", () => {
    assert.deepStrictEqual(rules(assistant(a), withContent("5")), [])
    assert.deepStrictEqual(rules(assistant(a), withContent("{\"text\":")), ["content 1.0"])
    assert.deepStrictEqual(rules(assistant(a), withContent("\"\udc00\"")), ["content 1.0"])
    const thinking = (provider: string): Message => ({
      role: "assistant",
      text: "",
      toolCalls: [],
      provider: provider as JsonText
    })
    assert.deepStrictEqual(rules(thinking("{}")), [])
    assert.deepStrictEqual(rules(thinking("x")), ["provider 0"])
  })
  it("SES-11 faults E1 text is well-formed Unicode", () => {
    assert.deepStrictEqual(rules(user("\ud83d\ude00")), [])
    assert.deepStrictEqual(rules(user("\ud83d"), { role: "assistant", text: "\ude00", toolCalls: [] }), [
      "surrogate 0",
      "surrogate 1"
    ])
  })
})

describe("SES-11 the check from a message on", () => {
  it("SES-11 goes on where it stopped, with the open calls and the ids of what it does not check again", () => {
    const before = [user("\ud83d"), assistant(a)]
    assert.deepStrictEqual(HistoryCheck.check([...before, tool(a)], 2), [])
    assert.deepStrictEqual(HistoryCheck.check([...before, user()], 2), [{ rule: "missing_results", message: 1 }])
    assert.deepStrictEqual(HistoryCheck.check([...before, tool(b)], 2), [{
      rule: "result_order",
      message: 2,
      index: 0
    }])
    assert.deepStrictEqual(HistoryCheck.check([...before, tool(a), assistant(a), tool(a)], 3), [{
      rule: "repeated_id",
      message: 3,
      index: 0
    }])
    assert.deepStrictEqual(HistoryCheck.check([...before, tool(a)], 3), [])
    assert.deepStrictEqual(HistoryCheck.check(before, 0).map(({ rule }) => rule), ["surrogate", "missing_results"])
  })
})

describe("SES-11 the check of a conversation that grows", () => {
  it("SES-11 what was found damaged stays so, whatever comes after it", () => {
    const messages = [user(), assistant(a), tool(a), user("\ud83d")]
    const checker = new HistoryCheck.Checker(messages)
    for (let turn = 0; turn < 3; turn++) {
      assert.deepStrictEqual(checker.advance(), [{ rule: "surrogate", message: 3 }])
      messages.push(assistant(), user())
    }
  })
  it("SES-11 a call whose results come after all is no fault any more", () => {
    const messages = [user(), assistant(a)]
    const checker = new HistoryCheck.Checker(messages)
    assert.deepStrictEqual(checker.advance(), [{ rule: "missing_results", message: 1 }])
    messages.push(tool(a))
    assert.deepStrictEqual(checker.advance(), [])
    messages.push(assistant(a), tool(a))
    assert.deepStrictEqual(checker.advance(), [{ rule: "repeated_id", message: 3, index: 0 }])
  })
})

describe("SES-11 repairs", () => {
  it("SES-11 WIR-14 legal names stay, others are mended", () => {
    for (
      const [name, legal] of [
        ["client__a", "client__a"],
        [longest, longest],
        [`${longest}y`, longest],
        ["a.b c", "a_b_c"],
        ["\ud83d\ude00", "_"],
        ["", "_"]
      ] as const
    ) {
      assert.strictEqual(HistoryCheck.legalName(name), legal)
    }
  })
  it("SES-11 WIR-14 faults A9 a legal id that is free stays, any other is replaced until one is free", () => {
    const make = () => {
      let n = 0
      return () => `fresh-${n++}`
    }
    assert.strictEqual(HistoryCheck.legalId("a", new Set(["b"]), make()), "a")
    assert.strictEqual(HistoryCheck.legalId("a", new Set(["a"]), make()), "fresh-0")
    assert.strictEqual(HistoryCheck.legalId("a", new Set(["a", "fresh-0"]), make()), "fresh-1")
    assert.strictEqual(HistoryCheck.legalId("a b", new Set(), make()), "fresh-0")
    assert.strictEqual(HistoryCheck.legalId(`${longest}x`, new Set(), make()), "fresh-0")
  })
  it("SES-11 WIR-14 FRM-12 arguments of an object become compact and lose no digit, anything else becomes {}", () => {
    assert.strictEqual(
      Bounds.recorded(Bounds.read("{ \"b\" : 9007199254740993, \"a\":-0 }")),
      "{\"b\":9007199254740993,\"a\":-0}"
    )
    for (const raw of ["", " ", "[]", "null", "{\"a\":1", "{\"a\":1,\"a\":2}"]) {
      assert.strictEqual(Bounds.recorded(Bounds.read(raw)), "{}")
    }
  })
  it("SES-11 faults E1 lone surrogates become U+FFFD and pairs stay", () => {
    assert.strictEqual(HistoryCheck.wellFormed("a\ud83d\ude00b\ud83dc\udc00"), "a\ud83d\ude00b\ufffdc\ufffd")
  })
  const Rough = Arbitrary.map(
    Arbitrary.array(
      Arbitrary.schema(Schema.Literals(["a", "B", "7", "_", "-", ".", " ", "é", "\ud83d", "\ude00", longest])),
      {
        maxLength: 5
      }
    ),
    (parts) => parts.join("")
  )
  const Raw = Schema.Literals(["", "{}", "[1]", "{\"a\":\"\\ud83d\"}", "{ \"a\" : 1.0 }", "nul", "{\"a\":{}}"])
  it.prop("SES-11 whatever a model calls passes after the repairs", [
    Arbitrary.array(Arbitrary.all([Rough, Rough, Arbitrary.schema(Raw), Rough]), { maxLength: 8 })
  ], ([said]) => {
    const taken = new Set<string>()
    let fresh = 0
    const messages: Array<Message> = []
    for (const [id, name, raw, text] of said) {
      const checked = messages.length
      const calls = [id, id].map((id) => {
        const legal = HistoryCheck.legalId(id, taken, () => `fresh-${fresh++}`)
        taken.add(legal)
        return { id: legal, name: HistoryCheck.legalName(name), arguments: Bounds.recorded(Bounds.read(raw)) }
      })
      messages.push({ role: "assistant", text: HistoryCheck.wellFormed(text), toolCalls: calls }, tool(...calls))
      assert.deepStrictEqual(HistoryCheck.check(messages, checked), [])
      assert.strictEqual(Json.kindOf(calls[0]!.arguments), "object")
    }
    assert.deepStrictEqual(HistoryCheck.check(messages), [])
  }, { arbitrary: { runs: 300 } })
})
