/**
 * What a host says for one run, looked at before anything runs: times that a suspension can hold, texts that a history can.
 *
 * Rule: what would only be found out when the run ends, or by the run after it, is refused at the door.
 */
import * as Data from "effect/Data"
import type { Fault } from "./JsonValue.ts"

/** The run does not start: `path` is the name of what is wrong, `rule` says why. */
export class RunInputInvalid extends Data.TaggedError("RunInputInvalid")<{ readonly details: Fault }> {
  readonly code = "run_input_invalid"
  override get message(): string {
    return `The run cannot start: ${this.details.path} ${this.details.rule}.`
  }
}

/** How long a suspension may be resumable, in milliseconds: three thousand years, so that its end is a time with four digits of year. */
export const longestMs = 100_000_000_000_000

/** What is wrong with what a host says for one run, or null. */
export const check = (given: { readonly expiresInMs?: number }): RunInputInvalid | null => {
  const { expiresInMs } = given
  if (expiresInMs !== undefined && !(typeof expiresInMs === "number" && expiresInMs >= 0 && expiresInMs <= longestMs)) {
    const rule = `must be a number of milliseconds from 0 to ${longestMs}; leave it out for no end`
    return new RunInputInvalid({ details: { path: "expiresInMs", rule } })
  }
  return null
}
