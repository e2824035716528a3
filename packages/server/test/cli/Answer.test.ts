import { assert, describe, it } from "@effect/vitest"
import * as Answer from "../../src/cli/Answer.ts"

type Event = Parameters<typeof Answer.step>[1]

const delta = (text: string, messageId = "m"): Event => ({ _tag: "Delta", messageId, text })
const message = (text: string, messageId = "m"): Event => ({ _tag: "Message", messageId, text })

const written = (terminal: boolean, ...events: ReadonlyArray<Event>) => {
  let answer = Answer.empty
  let all = ""
  for (const event of events) {
    const next = Answer.step(answer, event, terminal)
    answer = next.answer
    all += next.text
  }
  return all
}

describe("PGM-3 the text on stdout", () => {
  it("PGM-3 a program reads whole messages, each with a line feed, as they are", () => {
    const events = [delta("o"), message("one\x1b"), delta("x", "n"), message("two", "n")]
    assert.strictEqual(written(false, ...events), "one\x1b\ntwo\n")
  })

  it("PGM-3 a terminal sees the pieces as they come, and each only once", () => {
    assert.strictEqual(written(true, delta("o"), delta("n")), "on")
    assert.strictEqual(written(true, delta("o"), delta("n"), message("one")), "one\n")
    assert.strictEqual(written(true, message("one"), delta("t", "n"), message("two", "n")), "one\ntwo\n")
  })

  it("PGM-3 TRN-4 a terminal sees the whole message again when a piece was left out", () => {
    assert.strictEqual(written(true, delta("o"), delta("e"), message("one")), "oe\none\n")
  })

  it("PGM-3 a terminal cannot be steered by the text", () => {
    assert.strictEqual(written(true, delta("\x1b]0;x\x07"), message("\x1b]0;x\x07\r")), "\ufffd]0;x\ufffd\ufffd\n")
  })
})
