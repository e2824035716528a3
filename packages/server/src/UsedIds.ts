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

  /** Whether an id was taken. */
  has(id: string): boolean {
    const at = numberAt(id)
    if (at < id.length) {
      const number = Number(id.slice(at))
      const run = this.runOf(id, at)
      if (run !== undefined && number >= run.from && number <= run.to) return true
    }
    return this.others.size > 0 && this.others.has(id)
  }

  /** Takes an id; false when it was taken before. */
  take(id: string): boolean {
    const at = numberAt(id)
    if (at < id.length && this.count(id, at)) return true
    if (this.has(id)) return false
    this.others.add(Ids.detached(id))
    return true
  }

  /** Takes an id that begins a run or comes next in one. */
  private count(id: string, at: number): boolean {
    const number = Number(id.slice(at))
    const run = this.runOf(id, at)
    if (run === undefined) {
      if (this.runs.length === MOST_RUNS || this.others.has(id)) return false
      this.runs.push({ prefix: Ids.detached(id.slice(0, at)), from: number, to: number })
      return true
    }
    if (number !== run.to + 1 || this.others.has(id)) return false
    run.to = number
    // Ids that overtook this one are part of the run now.
    while (this.others.size > 0 && this.others.delete(`${run.prefix}${run.to + 1}`)) run.to++
    return true
  }

  private runOf(id: string, length: number): Run | undefined {
    return this.runs.find(({ prefix }) => prefix.length === length && id.startsWith(prefix))
  }
}
