/**
 * The request ids that a connection has used (REQ-3).
 *
 * Rule: an id is taken once, whatever it looks like. Ids that count up, as most clients make them, are one run of numbers
 * behind their prefix and cost nothing to remember; the others are kept one by one.
 */
import { Ids } from "@errand/protocol"

/** Numbers behind one prefix that were all used. */
interface Run {
  readonly prefix: string
  readonly from: number
  to: number
}

/** How many prefixes have a run: ids that do not count up could begin one each. */
const MOST_RUNS = 8
/** Digits that a number surely holds. */
const MOST_DIGITS = 15

/** Where the decimal number at the end of an id begins; its length when there is none that is spelled in one way only. */
const numberAt = (id: string): number => {
  let at = id.length
  while (at > 0 && id.length - at <= MOST_DIGITS) {
    const code = id.charCodeAt(at - 1)
    if (code < 0x30 || code > 0x39) break
    at--
  }
  const digits = id.length - at
  return digits > MOST_DIGITS || (digits > 1 && id.charCodeAt(at) === 0x30) ? id.length : at
}

/** A set of ids that only grows. */
export class UsedIds {
  private readonly runs: Array<Run> = []
  private readonly others = new Set<string>()

  /** Takes an id; false when it was taken before. */
  take(id: string): boolean {
    if (this.others.has(id)) return false
    const at = numberAt(id)
    if (at === id.length) return this.keep(id)
    const number = Number(id.slice(at))
    const run = this.runs.find(({ prefix }) => prefix.length === at && id.startsWith(prefix))
    if (run === undefined) {
      if (this.runs.length === MOST_RUNS) return this.keep(id)
      this.runs.push({ prefix: Ids.detached(id.slice(0, at)), from: number, to: number })
      return true
    }
    if (number >= run.from && number <= run.to) return false
    if (number !== run.to + 1) return this.keep(id)
    run.to = number
    // Ids that overtook this one are part of the run now.
    while (this.others.size > 0 && this.others.delete(`${run.prefix}${run.to + 1}`)) run.to++
    return true
  }

  private keep(id: string): true {
    this.others.add(Ids.detached(id))
    return true
  }
}
