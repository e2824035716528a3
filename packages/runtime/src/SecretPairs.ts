/**
 * Pairs inside text whose key is credential-like: `key=value`, `key: value`, `"key": "value"`, escaped or not (PRO-3).
 *
 * Rule: what is looked at behind a separator is consumed, and what is looked at before it ends at the separator before, so
 * time is linear (PRO-6).
 */
import * as SecretKeys from "./SecretKeys.ts"
import { Edit, marker, valueEnd } from "./SecretMarker.ts"
import { Values } from "./SecretValues.ts"

/** Where the key before a separator ends, blanks, quotes, escapes and a closing bracket between them left out. */
const keyEnd = (text: string, separator: number): number => {
  let end = separator
  while (end > 0) {
    switch (text.charCodeAt(end - 1)) {
      case 0x20:
      case 0x09:
      case 0x22:
      case 0x27:
      case 0x60:
      case 0x5c:
      case 0x5d:
        end--
        continue
    }
    break
  }
  return end
}

/** Whether what stands before a separator is a credential-like key. */
export const hasCredentialKey = (text: string, separator: number): boolean =>
  SecretKeys.endsAt(text, keyEnd(text, separator))

/** Finds the separators of pairs with a credential-like key, from left to right. */
class Pairs {
  private readonly text: string
  private colon: number
  private equals: number
  constructor(text: string) {
    this.text = text
    this.colon = text.indexOf(":")
    this.equals = text.indexOf("=")
  }
  /** The place of the next such separator from `from` on, or -1. */
  next(from: number): number {
    if (this.colon >= 0 && this.colon < from) this.colon = this.text.indexOf(":", from)
    if (this.equals >= 0 && this.equals < from) this.equals = this.text.indexOf("=", from)
    while (this.colon >= 0 || this.equals >= 0) {
      const at = this.equals < 0 || (this.colon >= 0 && this.colon < this.equals) ? this.colon : this.equals
      if (hasCredentialKey(this.text, at)) return at
      if (at === this.colon) this.colon = this.text.indexOf(":", at + 1)
      else this.equals = this.text.indexOf("=", at + 1)
    }
    return -1
  }
}

const operatorRest = /[:=>~]{0,3}[ \t]*/y
const quoteOpening = /(?:[bruf]{1,2}|[@$L])?(\\*)(["'`])/y
const listOpening = /[[(](?:[[{(\s]|\\+[nrt])*(?:[bruf]{1,2}|[@$L])?((\\*)["'`])|\[(?=[ \t]*[^\s\]])/y
const schemeValue = /(?:bearer|basic|digest|negotiate|token|apikey)[ \t]+(?=[^\s"'`\\&,;<>])/iy
const opensOnly = /^[{[(]+$/
const headerRest = /[;,][ \t]*(?=[^\s"'`\\&,;<>])/y

/** Whether the pair at `separator` is the user part of a URL, whose password is the marker already. */
const isUrlUser = (text: string, separator: number, value: number): boolean =>
  text.startsWith(`${marker}@`, value) &&
  /:\/\/[^\s/?#@:"'`<>]*$/.test(text.slice(Math.max(0, separator - 64), separator))

/** Replaces the values of such pairs; keys, quotes and the name of an authorization scheme stay. */
export const redact = (text: string): string => {
  const edit = new Edit(text)
  const pairs = new Pairs(text)
  const values = new Values(text)
  for (let at = pairs.next(0); at >= 0;) {
    operatorRest.lastIndex = at + 1
    operatorRest.test(text)
    let start = operatorRest.lastIndex
    let end: number
    let around = ""
    const opening = openingAt(quoteOpening, text, start)
    const list = opening === null && !text.startsWith(marker, start) ? openingAt(listOpening, text, start) : null
    if (opening !== null) {
      start = quoteOpening.lastIndex
      end = values.quoted(start, opening[1]!.length, opening[2]!)
    } else if (list !== null) {
      end = values.bracketed(start, list[2]?.length)
      around = list[1] ?? ""
    } else {
      schemeValue.lastIndex = start
      if (schemeValue.test(text)) start = schemeValue.lastIndex
      end = valueEnd(text, start)
      if (text[at] === ":" && SecretKeys.endsWithHeader(text, keyEnd(text, at))) {
        for (headerRest.lastIndex = end; headerRest.test(text); headerRest.lastIndex = end) {
          end = valueEnd(text, headerRest.lastIndex)
        }
      }
      if (opensOnly.test(text.slice(start, Math.min(end, start + 9))) || isUrlUser(text, at, start)) end = start
    }
    if (end > start) edit.redact(start, end, around)
    at = pairs.next(Math.max(end, at + 1))
  }
  return edit.done()
}

const openingAt = (opening: RegExp, text: string, start: number): RegExpExecArray | null => {
  opening.lastIndex = start
  return opening.exec(text)
}
