import { assert, describe, it } from "@effect/vitest"
import { Json, SchemaCheck } from "@errand/protocol"
import { Result } from "effect"

const node = (text: string): Json.JsonNode => Result.getOrThrow(Json.read(text))

/** Each row: a schema, texts that fit, and texts that do not with the place and the problem. */
const rows: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<readonly [string, string]>]> = [
  [`true`, ["1", "{}"], []],
  [`false`, [], [["1", "must not be there"]]],
  [`{"type":"integer"}`, ["1", "1.0", "10e-1", "9007199254740993"], [["1.5", "expected integer"], [
    `"1"`,
    "expected integer"
  ]]],
  [`{"type":["number","null"]}`, ["1.5", "2", "null"], [["true", "expected number or null"]]],
  [`{"enum":["a",1,{"x":[1.0]}]}`, [`"a"`, "1.0", `{"x":[1]}`], [["2", "expected one of the listed values"]]],
  [`{"const":9007199254740993}`, ["9007199254740993"], [["9007199254740992", "expected 9007199254740993"]]],
  [`{"const":-1}`, ["-1.0"], [["1", "expected -1"]]],
  [`{"required":["a","__proto__"]}`, [`{"a":1,"__proto__":2}`, "1"], [[`{"a":1}`, "__proto__: missing"]]],
  [
    `{"properties":{"a":{"type":"string"},"toString":{"type":"null"}},"additionalProperties":false}`,
    ["{}", `{"a":""}`],
    [[`{"a":1}`, "a: expected string"], [`{"toString":1}`, "toString: expected null"], [
      `{"valueOf":1}`,
      "valueOf: must not be there"
    ]]
  ],
  [
    `{"properties":{"n":{}},"patternProperties":{"^x":{"type":"number"}},"additionalProperties":{"type":"string"}}`,
    [`{"n":null,"x1":1,"y":""}`],
    [[`{"x1":""}`, "x1: expected number"], [`{"y":1}`, "y: expected string"]]
  ],
  [`{"propertyNames":{"pattern":"^[ab]$"}}`, [`{"a":1}`], [[`{"c":1}`, "c: expected a match of ^[ab]$"]]],
  [`{"items":{"type":"null"}}`, ["[]", "[null]"], [["[null,1]", "[1]: expected null"]]],
  [
    `{"prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`,
    ["[]", `["a"]`, `["a",1]`],
    [[`["a","b"]`, "[1]: expected number"], [`["a",1,2]`, "[2]: must not be there"]]
  ],
  [`{"contains":{"const":1},"maxContains":2}`, ["[1]", "[1,2,1]"], [["[2]", "0 items"], ["[1,1,1]", "3 items"]]],
  [`{"contains":{"const":1},"minContains":0}`, ["[]"], []],
  [`{"uniqueItems":true}`, [`[1,"1",[1]]`], [["[1,1.0]", "expected distinct items"], [
    `[{"a":1,"b":2},{"b":2,"a":1}]`,
    "expected distinct"
  ]]],
  [`{"uniqueItems":false}`, ["[1,1]"], []],
  [`{"allOf":[{"type":"number"},{"minimum":2}]}`, ["2"], [["1", "at least 2"]]],
  [`{"anyOf":[{"type":"number"},{"type":"string"}]}`, ["2", `""`], [["null", "fits none"]]],
  [`{"oneOf":[{"minimum":2},{"maximum":4}]}`, ["1", "5"], [["3", "fits 2"]]],
  [`{"not":{"type":"string"}}`, ["1"], [[`""`, "must not be"]]],
  [`{"pattern":"^\\\\p{Lu}"}`, [`"Ä"`, "1"], [[`"ä"`, "expected a match"]]],
  [`{"multipleOf":0.1}`, ["0.3", "7", `""`], [["0.25", "multiple of 0.1"]]],
  [`{"minimum":0,"maximum":2}`, ["0", "2", `""`], [["-0.1", "at least 0"], ["2.1", "at most 2"]]],
  [`{"exclusiveMinimum":0,"exclusiveMaximum":2}`, ["0.1", "1.9"], [["0", "above 0"], ["2", "below 2"]]],
  [`{"minLength":1,"maxLength":2}`, [`"a"`, `"😀😀"`, "1"], [[`""`, "at least 1"], [`"abc"`, "at most 2"]]],
  [`{"minItems":1,"maxItems":2}`, ["[1]", "[1,2]"], [["[]", "at least 1"], ["[1,2,3]", "at most 2"]]],
  [`{"minProperties":1,"maxProperties":1}`, [`{"a":1}`], [["{}", "at least 1"], [`{"a":1,"b":2}`, "at most 1"]]],
  [`{"format":"date-time","description":"d","default":1,"$comment":"c","$defs":{"a":false}}`, [`"no"`], []],
  [
    `{"properties":{"a":{"items":{"properties":{"b":{"type":"null"}}}}}}`,
    [`{"a":[{"b":null}]}`],
    [[`{"a":[{},{"b":1}]}`, "a[1].b: expected null"]]
  ]
]

describe("CLI-1 arguments against a raw schema", () => {
  for (const [schema, fitting, faulty] of rows) {
    it(`${schema} is judged by the text`, () => {
      const check = SchemaCheck.compile(node(schema))
      for (const text of fitting) assert.isUndefined(check(node(text)), text)
      for (const [text, expected] of faulty) {
        const misfit = check(node(text))
        assert.include(misfit === undefined ? undefined : SchemaCheck.describe(misfit), expected, text)
      }
    })
  }
})

describe("RUN-4 schemas beyond section 8", () => {
  const judged = (schema: string, value: string) => {
    const misfit = SchemaCheck.compile(node(schema))(node(value))
    return misfit === undefined ? undefined : SchemaCheck.describe(misfit)
  }

  it("a reference reaches into the same schema, and one that leads elsewhere or nowhere constrains nothing", () => {
    const tree =
      `{"properties":{"kids":{"items":{"$ref":"#"}},"n":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"null"}}}`
    assert.isUndefined(judged(tree, `{"kids":[{"kids":[]}],"n":null}`))
    assert.strictEqual(judged(tree, `{"kids":[{"kids":[{"n":1}]}]}`), "kids[0].kids[0].n: expected null")
    for (const reference of ["#/nowhere", "other.json#/a", "#/toString"]) {
      assert.isUndefined(judged(`{"$ref":"${reference}"}`, "1"))
    }
  })

  it("endless references end with a misfit, in depth and in number", () => {
    assert.include(judged(`{"$ref":"#"}`, "1"), "too long")
    const doubling = Array.from(
      { length: 40 },
      (_, i) => `"d${i}":{"allOf":[{"$ref":"#/$defs/d${i + 1}"},{"$ref":"#/$defs/d${i + 1}"}]}`
    )
    assert.include(judged(`{"$defs":{${doubling.join(",")}},"$ref":"#/$defs/d0"}`, "1"), "too long")
  })

  it("a keyword with a value of a wrong type, or that nobody knows, constrains nothing", () => {
    const schema =
      `{"type":7,"enum":"a","required":"a","properties":[],"items":3,"prefixItems":{},"allOf":{},"anyOf":"",
      "oneOf":null,"not":5,"pattern":8,"minimum":"1","maxLength":{},"$ref":1,"contains":1,"if":false}`
    for (const value of ["1", "[]", "[1]", `{"a":1}`, `"b"`, "null"]) assert.isUndefined(judged(schema, value), value)
  })

  it("a pattern that is no expression constrains nothing, and is told to who asks", () => {
    const schema = node(`{"pattern":"(","patternProperties":{"[":false}}`)
    const told: Array<string> = []
    const check = SchemaCheck.compile(schema, (problem) => told.push(problem))
    assert.isUndefined(check("("))
    assert.isUndefined(check(node(`{"[":1}`)))
    assert.lengthOf(told, 2)
  })
})
