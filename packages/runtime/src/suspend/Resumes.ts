/**
 * Which suspensions were resumed in this process: one run each (RSM-6).
 *
 * Rule: a suspension is entered or found in one step, so that of any number who race exactly one starts the run; the others
 * get its outcome, or are told that it was consumed. Only a run that was interrupted gives way, and only to a recovery.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * The suspension was resumed already: with other results, or so long ago that its outcome is not kept any more, or by a run
 * that was interrupted and has none, which `recover` goes on from.
 */
export class SuspensionConsumed extends Data.TaggedError("SuspensionConsumed")<{
  readonly details: { readonly threadId: string; readonly runId: string }
}> {
  readonly code = "suspension_consumed"
  override get message(): string {
    return "The suspension was resumed already; it starts no second run."
  }
}

/** How many suspensions are remembered after their run has ended, and how many outcomes: each holds a whole history. */
export const limits = { remembered: 1024, outcomes: 4 } as const

interface Entry {
  /** What the suspension was resumed with. */
  readonly results: string
  readonly outcome: Deferred.Deferred<unknown, SuspensionConsumed>
  state: "running" | "ended" | "interrupted" | "forgotten"
}

/** The ledger of one process. */
export class Resumes {
  private readonly entries = new Map<string, Entry>()
  private readonly kept: Array<Entry> = []

  /**
   * Starts a run for a suspension that nobody resumed yet, or, to recover it, whose run was interrupted; gives anybody else
   * the outcome of that run.
   */
  once<A, E>(
    key: string,
    results: string,
    consumed: () => SuspensionConsumed,
    run: Effect.Effect<A, E>,
    recovers = false
  ): Effect.Effect<A, E | SuspensionConsumed> {
    // an interruption between the entry and the end that it waits for would leave it running for ever
    return Effect.uninterruptibleMask((restore): Effect.Effect<A, E | SuspensionConsumed> => {
      const known = this.entries.get(key)
      if (known !== undefined && !(recovers && known.state === "interrupted")) {
        return known.results === results && known.state !== "forgotten"
          ? restore(Deferred.await(known.outcome) as Effect.Effect<A, SuspensionConsumed>)
          : Effect.fail(consumed())
      }
      const entry: Entry = { results, outcome: Deferred.makeUnsafe<unknown, SuspensionConsumed>(), state: "running" }
      this.entries.set(key, entry)
      return Effect.onExit(restore(run), (exit) => {
        this.end(key, entry, Exit.isSuccess(exit) ? "ended" : "interrupted")
        return Deferred.done(entry.outcome, Exit.isSuccess(exit) ? Exit.succeed(exit.value) : Exit.fail(consumed()))
      })
    })
  }

  private end(key: string, entry: Entry, state: "ended" | "interrupted"): void {
    entry.state = state
    // from now on the age counts, not when it began
    this.entries.delete(key)
    this.entries.set(key, entry)
    if (state === "ended") this.kept.push(entry)
    if (this.kept.length > limits.outcomes) this.forget(this.kept.shift()!)
    if (this.entries.size <= limits.remembered) return
    for (const [oldest, { state }] of this.entries) {
      if (state === "running") continue
      this.entries.delete(oldest)
      break
    }
  }

  private forget(entry: Entry): void {
    entry.state = "forgotten"
    Object.assign(entry, { outcome: gone })
  }
}

const gone = Deferred.makeUnsafe<unknown, SuspensionConsumed>()

/** The ledger in force: one for the whole process, unless a program brings another. */
export const Ledger = Context.Reference<Resumes>("@errand/runtime/suspend/Resumes", {
  defaultValue: () => new Resumes()
})
