/**
 * The marker that stands for a secret, and how a text is rewritten with it (PRO-2, PRO-3).
 *
 * Rule: the marker is one thing: no value ends inside it, so that a protected text is read as it was written (PRO-6).
 */

/** What stands for a secret. */
export const marker = "[redacted]"

/** Collects the parts of a text between which secrets are replaced. */
export class Edit {
  private readonly text: string
  private kept = 0
  private out = ""
  constructor(text: string) {
    this.text = text
  }
  /** `around` stands on both sides of the marker: the quotes of a value that had more than one. */
  redact(start: number, end: number, around = ""): void {
    this.out += this.text.slice(this.kept, start) + around + marker + around
    this.kept = end
  }
  done(): string {
    return this.kept === 0 ? this.text : this.out + this.text.slice(this.kept)
  }
}

// What ends a value without quotes: white space, quotes, a backslash and `& , ; < >`.
const valueStops = /[\s"'`\\&,;<>]/g

/** Where a value without quotes ends; brackets that close behind it are not part of it, but the marker is whole. */
export const valueEnd = (text: string, start: number): number => {
  valueStops.lastIndex = start
  let end = valueStops.test(text) ? valueStops.lastIndex - 1 : text.length
  const least = text.startsWith(marker, start) ? start + marker.length : start
  while (end > least && ")]}".includes(text[end - 1]!)) end--
  return end
}
