import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Approval from "../../src/cli/Approval.ts"

const question = { approvalId: "p", name: "run_command", summary: "run ls", expiresInMs: 1000 }

describe("PGM-3 questions for permission", () => {
  it("PGM-3 only a typed yes is a yes", () => {
    for (const line of ["y", "Y", "yes", " YES "]) assert.isTrue(Approval.isYes(line))
    for (const line of ["", "n", "no", "yy", "yes please", "j", "ye"]) assert.isFalse(Approval.isYes(line))
  })

  it("PGM-3 a question cannot steer the terminal", () => {
    assert.strictEqual(
      Approval.questionText({ name: "a\x1b[2J", summary: "b\u202e" }),
      "Allow a\ufffd[2J? b\ufffd [y/N] "
    )
  })

  it.effect("PGM-3 the answer waits until the question had its turn, and is no without a terminal", () =>
    Effect.gen(function*() {
      const desk = Approval.desk()
      const answer = yield* Effect.forkChild(desk.approve(question), { startImmediately: true })
      assert.isUndefined(answer.pollUnsafe())
      yield* desk.ask(question)
      assert.isFalse(yield* Fiber.join(answer))
    }))

  it.effect("PGM-3 a question that is closed before its turn is not waited for", () =>
    Effect.gen(function*() {
      const desk = Approval.desk()
      const answer = yield* Effect.forkChild(desk.approve(question), { startImmediately: true })
      yield* Fiber.interrupt(answer)
      yield* desk.ask(question)
    }))
})
