import { assert, describe, it } from "@effect/vitest"
import { Json, type JsonText } from "@errand/protocol"
import { Arbitrary, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import * as Redaction from "../src/Redaction.ts"
import { Noise } from "./Noise.ts"

interface Vector {
  readonly id: string
  readonly spec: string
  readonly note: string
  readonly kind: "text" | "structured"
  readonly input: string
  readonly output?: string
  readonly any_of?: ReadonlyArray<string>
  readonly absent?: ReadonlyArray<string>
  readonly present?: ReadonlyArray<string>
  readonly rejected?: boolean
}

const vectors = JSON.parse(
  readFileSync(new URL("../../protocol/fixtures/vectors/redaction.json", import.meta.url), "utf8")
) as { readonly cases: ReadonlyArray<Vector> }

const json = (text: string): string => {
  const result = Redaction.protectJson(text as JsonText)
  assert.isTrue(Result.isSuccess(result), text)
  return Result.getOrThrow(result)
}
const fault = (text: string): Redaction.ProtectionFault => {
  const result = Redaction.protectJson(text as JsonText)
  assert.isTrue(Result.isFailure(result), text)
  return (result as Result.Failure<JsonText, Redaction.ProtectionFault>).failure
}
const text = Redaction.protectText

describe("11 the vectors", () => {
  for (const vector of vectors.cases) {
    it(`${vector.spec} ${vector.id} ${vector.note}`, () => {
      if (vector.rejected === true) {
        assert.strictEqual(fault(vector.input).rule, "equal_keys")
        return
      }
      const protect = vector.kind === "text" ? text : json
      const output = protect(vector.input)
      if (vector.output !== undefined) assert.strictEqual(output, vector.output)
      if (vector.any_of !== undefined) assert.include(vector.any_of, output)
      for (const part of vector.absent ?? []) assert.notInclude(output, part)
      for (const part of vector.present ?? []) assert.include(output, part)
      assert.strictEqual(protect(output), output, "PRO-6")
    })
  }
})

const same = (...texts: ReadonlyArray<string>): void => {
  for (const one of texts) assert.strictEqual(text(one), one)
}
const becomes = (pairs: Record<string, string>): void => {
  for (const [input, output] of Object.entries(pairs)) assert.strictEqual(text(input), output)
}

describe("PRO-2 credential-like keys", () => {
  it("PRO-2 paging marks are none, also with a prefix and in any spelling", () => {
    const clean = "{\"pageToken\":\"a\",\"next_token\":\"b\",\"x-continuation-token\":\"c\",\"Sync Token\":\"d\"}"
    assert.strictEqual(json(clean), clean)
    assert.strictEqual(
      json("{\"homepage_tokens\":1,\"onepage\":2,\"apageToken\":3,\"getToken\":4}"),
      "{\"homepage_tokens\":1,\"onepage\":2,\"apageToken\":3,\"getToken\":\"[redacted]\"}"
    )
    same("next_page_token=abc", "\"nextToken\": \"abc\"")
  })
  it("PRO-2 only lower-casing folds a key: the Kelvin sign is a k, full-width letters are not letters", () => {
    assert.strictEqual(json("{\"to\u212aen\":1}"), "{\"to\u212aen\":\"[redacted]\"}")
    assert.strictEqual(json("{\"\uff54oken\":1}"), "{\"\uff54oken\":1}")
  })
  it("PRO-2 names that must be whole do not end longer keys", () => {
    const clean = "{\"db_passwd\":1,\"no-cookie\":2,\"reauthorization\":3}"
    assert.strictEqual(json(clean), clean)
  })
  it("PRO-2 what stands under a credential-like key is not looked into", () => {
    assert.strictEqual(json("{\"token\":{\"x\\u0000\":1,\"x\\u0001\":2}}"), "{\"token\":\"[redacted]\"}")
  })
})

describe("PRO-3 secrets in text", () => {
  it("PRO-3 a secret behind an escape of JSON text is found", () => {
    for (const secret of ["sk-abcDEF123456", "cookie: s1", "Bearer abc123", "passwd=x1"]) {
      assert.notInclude(json(JSON.stringify([`a\n${secret} b`])), secret)
      assert.notInclude(json(JSON.stringify([JSON.stringify(`a\t${secret} b`)])), secret)
    }
    assert.strictEqual(
      json("[\"token\\t\\t= x1\",\"Bearer\\tabc123\"]"),
      "[\"token\\t\\t= [redacted]\",\"Bearer\\t[redacted]\"]"
    )
    assert.strictEqual(json("[\"\\u0073k-abcDEF123456\"]"), "[\"[redacted]\"]")
  })
  it("PRO-3 web tokens go whole, with an empty signature and with five parts, also behind a word", () => {
    const head = "eyJhbGciOiJub25lIn0"
    becomes({
      [`a ${head}.eyJzdWIiOjF9. b`]: "a [redacted] b",
      [`a ${head}.QUJDRA.QUJD.QUJD.QUJD b`]: "a [redacted] b",
      [`x_${head}.eyJzdWIiOjF9.QUJD`]: "x_[redacted]"
    })
    same("eyJ", "eyJhbGciOiJub25lIn0", "eyJhbGciOiJub25lIn0.", "eyJhbGciOiJub25lIn0.a.b")
  })
  it("PRO-3 a private key that is cut off takes the rest, its bare first line does not", () => {
    becomes({
      "a -----BEGIN RSA PRIVATE KEY-----\nMIIEvQ": "a [redacted]",
      "a -----BEGIN PRIVATE KEY-----\\nMIIEvQ\\n-----END PRIVATE KEY-----\\n": "a [redacted]\\n",
      "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----": "[redacted]"
    })
    same("-----BEGIN PRIVATE KEY----- is how it begins", "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqh")
  })
  it("PRO-3 passwords in URLs go, users, hosts and ports stay", () => {
    becomes({
      "redis://:p1@h": "redis://:[redacted]@h",
      "ftp://a:b@c@h/x@y": "ftp://a:[redacted]@h/x@y",
      "https://x-access-token:abc@github.com/a": "https://x-access-token:[redacted]@github.com/a"
    })
    same("https://a@h/", "https://a:@h/", "http://h:80/?a=b@c", "mail a:b@c.d", "http://h:80 a@b")
  })
  it("PRO-3 schemes keep their label, and prose stays", () => {
    becomes({
      "Bearer abc123": "Bearer [redacted]",
      "BASIC dXNlcjpwYXNz": "BASIC [redacted]",
      "Authorization: Bearer abc": "Authorization: Bearer [redacted]",
      "Authorization: token abc": "Authorization: token [redacted]",
      "Proxy said Basic  QWxhZGRpbjpv.": "Proxy said Basic  [redacted]"
    })
    same(
      "Bearer of bad news",
      "basic understanding of Basic, and bearer authentication",
      "Bearer abc12",
      "Bearer [redacted]"
    )
  })
  it("PRO-3 WIR-47 a bearer is known by how tokens look, also by an inner dot or by letters without end", () => {
    becomes({
      "Bearer abcdefghijklmnop": "Bearer [redacted]",
      "Bearer abc.def.ghi": "Bearer [redacted]",
      "Bearer abc.def.ghi.": "Bearer [redacted]",
      "Bearer abc~def": "Bearer [redacted]"
    })
    same(
      "Bearer abcdefghijklmno",
      "bearer e.g. you",
      "the bearer and/or his heirs",
      "bearer shares... and so on",
      "Bearer a.b.c"
    )
  })
  it("PRO-3 WIR-47 a basic credential is base64 of a text with a colon, or too long for a word", () => {
    becomes({
      "Basic YTpi": "Basic [redacted]",
      "Basic OnBhc3M=": "Basic [redacted]",
      "(Basic YTpi)": "(Basic [redacted])",
      "Basic dTpww6TDtg.": "Basic [redacted]",
      "Basic dTo_Pj8-": "Basic [redacted]"
    })
    same(
      "Basic 3-step guide",
      "Basic IPv4 routing",
      "Basic Only",
      "Basic 1406",
      "basic telecommunications",
      "Basic reading/writing/arithmetic",
      "Basic YTpi-not",
      "basic example.com setup",
      "Basic key=value pairs"
    )
  })
  it("PRO-3 pairs of every spelling lose their value only", () => {
    becomes({
      "password = x y": "password = [redacted] y",
      "password: x, y": "password: [redacted], y",
      "password => 'x y', 2": "password => '[redacted]', 2",
      "(api key: x)": "(api key: [redacted])",
      "{token:x}": "{token:[redacted]}",
      "c[\"secret\"] = b\"x\\\"y\"; z": "c[\"secret\"] = b\"[redacted]\"; z",
      "\\\"token\\\":\\\"x\\\\\\\"y\\\",\\\"n\\\":1": "\\\"token\\\":\\\"[redacted]\\\",\\\"n\\\":1",
      "token='x y\nz": "token='[redacted]\nz",
      "Cookie: a=b; c=d\nz": "Cookie: [redacted]\nz",
      "password=a]b]": "password=[redacted]]",
      "password=[redacted]x": "password=[redacted]"
    })
    same(
      "password",
      "password:",
      "password=",
      "password: \"\"",
      "token: {",
      "password=[redacted]",
      "the tokens: 5",
      "keyed=1"
    )
  })
  it("PRO-3 WIR-48 a list under a credential-like key goes whole, as it does in structured", () => {
    becomes({
      "secret: ['x', 'y'], z": "secret: '[redacted]', z",
      "{\"password\":[\"one\",\"TWO\"],\"n\":1}": "{\"password\":\"[redacted]\",\"n\":1}",
      "{\"password\":[{\"a\":\"b\",\"c\":[1,\"]\",{}]}],\"n\":1}": "{\"password\":\"[redacted]\",\"n\":1}",
      "{\\\"token\\\":[\\\"x]\\\",\\\"y\\\"],\\\"n\\\":1}": "{\\\"token\\\":\\\"[redacted]\\\",\\\"n\\\":1}",
      "token: [\n  \"x\",\n  \"y\"\n]\nz": "token: \"[redacted]\"\nz",
      "\"{\\\"token\\\":[\\n  \\\"x\\\",\\n  \\\"y\\\"\\n]}\"": "\"{\\\"token\\\":\\\"[redacted]\\\"}\"",
      "password: [x, y], z": "password: [redacted], z",
      "password: [1, \"y\"]": "password: [redacted]",
      "password = (\"x\"\n  \"y\")\nz": "password = \"[redacted]\"\nz",
      "password: [\"x\", \"y\n\nz": "password: \"[redacted]\"\n\nz",
      "password: [x, y\nz": "password: [redacted]\nz",
      "say \"{\\\"token\\\":[\\\"x\", \\\"y\" now": "say \"{\\\"token\\\":\\\"[redacted]\\\"\", \\\"y\" now"
    })
    // an object is looked into: it may be a schema
    same("{\"password\":{\"type\":[\"string\",\"null\"]}}")
    same("token: [", "token: []", "token: {\n  type: String\n}", "token: [\n  one\n]")
  })
  it("PRO-3 WIR-48 a quoted value may have several lines; one that is not closed ends with its first", () => {
    becomes({
      "password=\"first\nSECOND\" z": "password=\"[redacted]\" z",
      "password='first\r\ndon't\r\nlast', z": "password='[redacted]', z",
      "\\\"password\\\": \\\"a\nb\\\", z": "\\\"password\\\": \\\"[redacted]\\\", z",
      "password=\"first\n\nz\"": "password=\"[redacted]\n\nz\"",
      "password=\"first\r\n \r\nz\"": "password=\"[redacted]\r\n \r\nz\"",
      "password=\"first\nhe said \"z\"": "password=\"[redacted]\nhe said \"z\"",
      "'password=\"first\nz' y": "'password=\"[redacted]\nz' y",
      "token='a\ntoken=\"b\ntoken=`c\nz": "token='[redacted]\ntoken=\"[redacted]\ntoken=`[redacted]\nz"
    })
  })
  it("PRO-3 the length of a key shape decides, on both sides", () => {
    for (
      const [prefix, least] of [["ghp_", 16], ["github_pat_", 16], ["glpat-", 16], ["AIza", 20], ["sk-", 12], [
        "xoxb-",
        10
      ]] as const
    ) {
      const run = "aB3".repeat(10)
      same(`a ${prefix}${run.slice(0, least - 1)} b`)
      becomes({ [`a ${prefix}${run.slice(0, least)} b`]: "a [redacted] b" })
    }
    same("AKIAABCDEFGHIJKLMNO", "AKIAABCDEFGHIJKLMNOp")
    becomes({ AKIAABCDEFGHIJKLMNOP: "[redacted]" })
    same("task-management-2024-plan", "sk-fading-circle-and-more", "a xoxb-tokens-and-more b")
    becomes({
      "sk-abcdefghijklmnop": "[redacted]",
      "sk-proj-abcdefghijklmnop": "[redacted]",
      "a xoxb-abcdefghij b": "a [redacted] b"
    })
    same("sk-abcdefghijklmno", "sk-proj-abcdefghijklmno", "sk-responsible-understanding")
  })
})

describe("PRO-4 control characters", () => {
  it("PRO-4 cut-off sequences are removed, and the text of a title ends with its line", () => {
    becomes({
      "a\u001b[31": "a",
      "a\u001b[": "a",
      "a\u001b]0;t": "a",
      "a\u001b]0;t\nb": "a\nb",
      "a\u001b(Bb": "ab",
      "a\u001bPq\u001b\\b": "ab"
    })
  })
  it("PRO-4 WIR-49 a control string that is closed goes whole, also with line breaks and tabs in it", () => {
    for (const intro of ["\u001bP", "\u001b]", "\u001bX", "\u001b^", "\u001b_", "\u0090", "\u009d", "\u009f"]) {
      for (const end of ["\u0007", "\u001b\\", "\u009c"]) {
        becomes({ [`a${intro}q\r\nPAY\tLOAD\n\n${end}b\nc`]: "ab\nc" })
      }
    }
    becomes({
      "a\u001bPq\nb": "a\nb",
      "a\u001b]q\nb\u001b[0m\u0007c": "a\nb\ufffdc",
      "a\u001b]q\nb\u0018\u0007c": "a\nb\ufffd\ufffdc"
    })
  })
  it("PRO-4 an escape inside an escape leaves none behind", () => {
    becomes({ "a\u001b\u001b[0m[0mb": "a[0mb", "a\u001b[\u001b[0m0mb": "a0mb" })
  })
  it("PRO-4 the one-character spelling of a title counts only when it is ended", () => {
    becomes({ "a\u009d0;t\u009cb": "ab", "a\u009dbc": "a\ufffdbc" })
  })
  it("PRO-4 lone surrogates become U+FFFD, pairs stay", () => {
    becomes({ "a\ud83db": "a\ufffdb", "\udc00": "\ufffd", "\ud83d\ude00": "\ud83d\ude00" })
  })
})

describe("PRO-5 results", () => {
  const rejected = (input: string, path: string): void => {
    const found = fault(input)
    assert.deepStrictEqual([found.rule, found.path], ["equal_keys", path])
  }
  it("PRO-5 WIR-46 a changed key clashes with another one without case; unchanged keys may differ by case alone", () => {
    rejected("{\"a\":[{\"x\\u0000\":1,\"X\\u0000\":2}]}", ".a[0]")
    rejected("{\"X\\ufffd\":1,\"x\\u0000\":2}".replace("\\ufffd", "\ufffd"), "")
    assert.strictEqual(json("{\"A\":\"\\u0000\",\"a\":2,\"b\\u0000\":3}"), "{\"A\":\"\ufffd\",\"a\":2,\"b\ufffd\":3}")
  })
  it("PRO-5 keys are compared without Unicode normalisation", () => {
    assert.strictEqual(json("{\"\u00e9\\u0000\":1,\"e\u0301\\u0000\":2}"), "{\"\u00e9\ufffd\":1,\"e\u0301\ufffd\":2}")
  })
  it("PRO-5 the fault names no secret", () => {
    const found = fault("{\"AKIAIOSFODNN7EXAMPLE\":{\"x\\u0000\":\"PAYLOAD\",\"x\\u0001\":2}}")
    assert.strictEqual(found.path, ".[redacted]")
    assert.notInclude(JSON.stringify(found), "PAYLOAD")
    assert.isAtMost(fault(`{"${"k".repeat(999)}":{"x\\u0000":1,"x\\u0001":2}}`).path.length, 200)
  })
  it("PRO-5 text and structured share the bound: exactly as many bytes pass, one more does not", () => {
    const of = (input: Redaction.Protected, most: number) => Redaction.protectResult(input, most)
    for (
      const input of [{ text: "\u00e9".repeat(50) }, { text: "a".repeat(96), structured: "\"\u00e9\"" as JsonText }]
    ) {
      assert.deepStrictEqual(Result.getOrThrow(of(input, 100)), input)
      const over = of(input, 99)
      assert.strictEqual(Result.isFailure(over) ? over.failure.rule : "accepted", "result_bytes")
    }
    assert.isTrue(Result.isFailure(of({ text: "", structured: "{\"token\":1}" as JsonText }, 21)))
    assert.deepStrictEqual(
      Result.getOrThrow(of({ text: "", structured: "{\"token\":1}" as JsonText }, 22)),
      { text: "", structured: "{\"token\":\"[redacted]\"}" as JsonText }
    )
  })
  it("PRO-6 what is no JSON is a fault and no exception", () => {
    assert.strictEqual(fault("{\"token\":").rule, "invalid_json")
    assert.strictEqual(json(`${"[".repeat(1000)}"\\u0000"${"]".repeat(1000)}`).length, 2003)
  })
})

describe("TRN-7 MDL-3 SES-4 messages", () => {
  it("SES-4 a message is protected first and then cut between characters", () => {
    assert.strictEqual(Redaction.protectMessage("ab\ud83d\ude00c", 4), "ab\ud83d\ude00c")
    assert.strictEqual(Redaction.protectMessage("ab\ud83d\ude00c", 3), "ab\ud83d\ude00")
    assert.strictEqual(Redaction.protectMessage("ab\ud83d\ude00c", 2), "ab")
    assert.strictEqual(Redaction.protectMessage("ab", 0), "")
    assert.strictEqual(Redaction.protectMessage("no ghp_A1b2C3A1b2C3A1b2C3", 10), "no [redact")
  })
})

const Alphanumeric = Schema.Literals([..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"])
const run = (length: number, letters: Schema.Schema<string> = Alphanumeric) =>
  Arbitrary.map(
    Arbitrary.array(Arbitrary.schema(letters as typeof Alphanumeric), { minLength: length, maxLength: length }),
    (all) => all.join("")
  )
const Upper = Schema.Literals([..."ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"])
const shape = (make: (run: string) => string, length: number, letters?: Schema.Schema<string>) =>
  Arbitrary.map(run(length, letters), (body) => ({ secret: body, text: make(body) }))

/** Each shape of PRO-3 around a body that must be gone. */
const shapes = {
  "sk-": shape((body) => `sk-${body}`, 40),
  "ghp_": shape((body) => `ghp_${body}`, 36),
  "github_pat_": shape((body) => `github_pat_${body}`, 40),
  "glpat-": shape((body) => `glpat-${body}`, 20),
  "AKIA": shape((body) => `AKIA${body}`, 16, Upper as unknown as Schema.Schema<string>),
  "xoxb-": shape((body) => `xoxb-1${body}`, 24),
  "AIza": shape((body) => `AIza${body}`, 35),
  "web token": shape((body) => `eyJhbGciOiJIUzI1NiJ9.eyJ${body}.x${body}`, 30),
  "Bearer": shape((body) => `Bearer ${body}`, 24),
  "Basic": shape((body) => `Authorization: Basic ${body}==`, 24),
  "URL": shape((body) => `https://u:${body}@h/`, 12),
  "pair": shape((body) => `db_password=${body}`, 12),
  "quoted pair": shape((body) => `"clientSecret": "${body}"`, 12),
  "private key": shape((body) => `-----BEGIN EC PRIVATE KEY-----\n${body}\n-----END EC PRIVATE KEY-----`, 40)
}
const options = { arbitrary: { runs: 400 } }

/** The same JSON string with every character written as an escape. */
const escaped = (value: string): string =>
  `"${
    Array.from({ length: value.length }, (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
  }"`

describe("PRO-6 properties", () => {
  it.prop("PRO-6 protection of text is idempotent, and its outcome is well-formed and plain", [Noise], ([input]) => {
    const output = text(input)
    assert.strictEqual(text(output), output)
    assert.isTrue(output.isWellFormed())
    assert.notMatch(output, /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
  }, options)
  it.prop(
    "PRO-3 a JSON string and a key are protected as the text they spell, however they are escaped",
    [Noise],
    ([input]) => {
      const value = input.toWellFormed()
      const output = JSON.stringify(text(value))
      for (const spelled of [JSON.stringify(value), escaped(value)]) {
        assert.strictEqual(json(`[${spelled}]`), output === JSON.stringify(value) ? `[${spelled}]` : `[${output}]`)
      }
      const key = json(`{${JSON.stringify(value)}:0}`)
      assert.strictEqual(key.slice(1, key.lastIndexOf(":")), output)
      assert.strictEqual(json(key), key)
    },
    options
  )
  it.prop("PRO-5 a result never exceeds its bound", [Noise, Noise, Schema.Int], ([left, right, most]) => {
    const result = Redaction.protectResult({ text: left, structured: Json.quote(right.toWellFormed()) }, most)
    if (Result.isSuccess(result)) {
      assert.isAtMost(Json.byteLength(result.success.text) + Json.byteLength(result.success.structured ?? ""), most)
    }
  }, options)
  for (const [name, secrets] of Object.entries(shapes)) {
    it.prop(`PRO-3 ${name}: no body survives in text, strings and keys, with other text around it`, [
      secrets,
      Schema.String,
      Schema.String
    ], ([{ secret, text: shown }, before, after]) => {
      const whole = `${before.toWellFormed()} ${shown} ${after.toWellFormed()}`
      assert.notInclude(text(whole), secret)
      assert.notInclude(text(JSON.stringify({ log: whole })), secret)
      for (const spelled of [JSON.stringify(whole), escaped(whole)]) {
        assert.notInclude(json(`{"a":[${spelled}]}`), secret)
        assert.notInclude(json(`{${spelled}:null}`), secret)
      }
    }, { arbitrary: { runs: 100 } })
  }
  it.prop("PRO-2 numbers and key order survive beside what is redacted", [
    Arbitrary.array(Arbitrary.schema(Schema.String), { maxLength: 5 })
  ], ([keys]) => {
    const plain = [...new Set(keys.map((key) => `k${key.replace(/[^a-z0-9]/gi, "")}`))].filter((key) =>
      !/(?:token|secret|password|key)$/i.test(key)
    )
    const members = plain.map((key, at) => `"${key}":${at}.50e+1`)
    assert.strictEqual(
      json(`{${["\"token\":1", ...members].join(",")}}`),
      `{${["\"token\":\"[redacted]\"", ...members].join(",")}}`
    )
  })
})
