/**
 * What a demo has to show, and whether it did (PGM-2).
 *
 * Rule: a fact counts when it was observed from outside of the server, not when it was meant to happen.
 */
import { LEDGER } from "./DemoTools.ts"
import { ink, type Line } from "./Ink.ts"
import type { Happening, Story } from "./Story.ts"

/** The facts, and how a person reads them. */
export const texts = {
  outOfOrder: "two calls at once, answered out of order",
  exact: "a number of 25 digits came back without losing one",
  failure: "a tool failed, and the turn went on",
  timeout: "a call ran out of time, and its cancel notice stopped the handler",
  cancelled: "a turn was cancelled while a call waited",
  goesOn: "the session went on after that",
  clean: "the server ended with code 0"
}

/** One thing to be shown. */
export type Fact = keyof typeof texts

/** What has been shown so far. */
export type Facts = ReadonlySet<Fact>

/** The fact that happens, given the story so far and what was shown before; undefined when there is none. */
export const shown = (story: Story, happening: Happening, facts: Facts): Fact | undefined => {
  switch (happening._tag) {
    case "ToolAnswered": {
      if (happening.status === "error") return "failure"
      const [first] = story.calls.keys()
      return first !== undefined && first !== happening.call.callId ? "outOfOrder" : undefined
    }
    case "Message":
      return happening.text.includes(`:${LEDGER}}`) ? "exact" : undefined
    case "ToolCancelled":
      return happening.reason === "timeout" && story.calls.get(happening.callId)?.stopped === true
        ? "timeout"
        : undefined
    case "TurnCancelled":
      return happening.status === "cancelled" && [...story.calls.values()].some(({ stopped }) => stopped === true)
        ? "cancelled"
        : undefined
    case "Finished":
      return happening.status === "completed" && facts.has("cancelled") ? "goesOn" : undefined
    default:
      return undefined
  }
}

/** All facts as lines with a mark each. */
export const lines = (facts: Facts): ReadonlyArray<Line> =>
  (Object.keys(texts) as ReadonlyArray<Fact>).map((fact) => {
    const seen = facts.has(fact)
    return [ink(seen ? "good" : "bad", seen ? "  ✓ " : "  ✗ "), ink("plain", texts[fact])]
  })

/** Whether everything was shown. */
export const complete = (facts: Facts): boolean => facts.size === Object.keys(texts).length
