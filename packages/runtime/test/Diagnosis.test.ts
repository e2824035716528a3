import { assert, describe, it } from "@effect/vitest"
import { Json, WireError } from "@errand/protocol"
import { AgentRunner, Conversation, Diagnosis } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { scripted } from "./RunnerRig.ts"

const run = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v2W3x4Y5z6"
const long = run + run
const secrets = [
  `sk-${run}`,
  `ghp_${long}`,
  `github_pat_${long}`,
  `glpat-${long}`,
  `AIza${long}`,
  `xoxb-${long}`,
  `Bearer ${long}`,
  `password=${long}`,
  `token: ${run}`,
  `https://user:${run.slice(0, 20)}@host`,
  `https://user:${long}@host`,
  `eyJ${long}.eyJ${long}.${run}`,
  `-----BEGIN PRIVATE KEY-----\n${long}`,
  `${"x ".repeat(26)}ghp_${long}`
]

describe("section 2: what messages repeat", () => {
  for (const secret of secrets) {
    it(`REQ-5 a key that is a secret is told by none of its parts: ${secret.slice(0, 20)}`, () => {
      const { path } = Result.getOrThrow(Result.flip(Json.fromPlain({ a: { [secret]: undefined } })))
      for (
        const message of [
          Diagnosis.told(WireError.invalidParams(path, "unknown field")).message,
          Diagnosis.told(WireError.unsupportedCapability(["a", secret, "b"])).message,
          Diagnosis.quoted(secret)
        ]
      ) {
        assert.notInclude(message, "A1b2C3")
        assert.include(message, "[redacted]")
      }
    })
  }

  it("REQ-5 ordinary keys are told, credential-like ones too, and what was wrong with them", () => {
    for (const key of ["a.b", "token", "api_key", "properties.password", "x".repeat(63), "skeleton-of-a-long-name"]) {
      const error = WireError.invalidParams(key, "unknown field")
      assert.strictEqual(Diagnosis.told(error), error)
    }
  })

  it("REQ-5 a message that protection made longer is cut again", () => {
    const error = Diagnosis.told(WireError.unsupportedCapability(Array.from({ length: 100 }, () => "token=a1")))
    assert.isBelow(error.message.length, 1000)
    assert.lengthOf(error.details?.["capabilities"] as ReadonlyArray<string>, 100)
  })

  it.effect("TRN-7 REQ-5 the message of a run that failed has fewer than 1,000 UTF-16 units", () =>
    Effect.gen(function*() {
      for (const said of ["😀".repeat(1000), `a${"😀".repeat(1000)}`]) {
        const end = yield* AgentRunner.turn(yield* Conversation.memory(), "go").pipe(
          Effect.provide(AgentRunner.layerOf([])),
          Effect.provide(scripted({ error: { message: said } }))
        )
        const message = end.error?.message ?? ""
        assert.isTrue(message.length > 900 && message.length < 1000 && message.isWellFormed())
      }
    }))
})
