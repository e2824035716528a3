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

const invalid = (path: string, rule: string) => new RunInputInvalid({ details: { path, rule } })

const texts = ["prompt", "input", "threadId", "parentRunId"] as const

/** What a host says for one run, as far as it is looked at here. */
export type Given = { readonly [Name in typeof texts[number]]?: string | null } & { readonly expiresInMs?: number }

/** What is wrong with what a host says for one run, or null. Half a surrogate pair would be in the thread for ever (faults E1). */
export const check = (given: Given): RunInputInvalid | null => {
  for (const name of texts) {
    const text: unknown = given[name] ?? ""
    if (typeof text !== "string" || !text.isWellFormed()) return invalid(name, "must be text without lone surrogates")
  }
  const { expiresInMs } = given
  return expiresInMs === undefined ||
      (typeof expiresInMs === "number" && expiresInMs >= 0 && expiresInMs <= longestMs)
    ? null
    : invalid("expiresInMs", `must be a number of milliseconds from 0 to ${longestMs}; leave it out for no end`)
}
