/**
 * Where a value in quotes or brackets ends that stands behind a credential-like key (PRO-3).
 *
 * Rule: what is looked at is the value, or is not looked at again: what a search has seen in vain is remembered, so time
 * is linear (PRO-6). No value goes beyond a blank line.
 */

/** Quotes behind more backslashes end with their line, so that few kinds of search can be in vain. */
const MOST_BACKSLASHES = 3

const isLineEnd = (char: string): boolean => char === "\n" || char === "\r"

const blankLine = /\r?\n[ \t]*[\r\n]/y
const isBlankLine = (text: string, at: number): boolean => {
  blankLine.lastIndex = at
  return blankLine.test(text)
}

/** Finds the ends of values in one text, from left to right. */
export class Values {
  private readonly text: string
  /** Up to where nothing closes a value, by the backslashes before its quote and the quote. */
  private readonly open = new Map<string, number>()
  constructor(text: string) {
    this.text = text
  }

  /**
   * Where the content of a quoted value ends. Behind `depth` backslashes the quote that closes has as many, while one of
   * the content has more. On a later line a quote closes right behind content and not inside a word; else the value ends
   * with its first line.
   */
  quoted(start: number, depth: number, quote: string): number {
    const { open, text } = this
    const kind = depth + quote
    let line = -1
    let backslashes = 0
    let at = start
    for (; at < text.length; at++) {
      const char = text[at]!
      if (isLineEnd(char)) {
        if (line < 0) {
          line = at
          if (depth > MOST_BACKSLASHES || at < (open.get(kind) ?? 0)) return line
        }
        if (isBlankLine(text, at)) break
      }
      if (char === quote) {
        const levels = (backslashes + 1) / (depth + 1)
        if (levels < 1) {
          if (line < 0) return at - backslashes
          break
        }
        if (levels % 2 === 1) {
          if (line < 0) return at - depth
          if (/\s/.test(text[at - depth - 1]!)) break
          if (!/\w/.test(text[at + 1] ?? "")) return at - depth
        }
      }
      backslashes = char === "\\" ? backslashes + 1 : 0
    }
    if (line < 0) return text.length
    open.set(kind, at)
    return line
  }

  /**
   * Where the value ends whose bracket opens at `start`: behind the one that closes it, else where its line does. With
   * `depth`, the backslashes before its quotes, it may have several lines, and ends with the text that it stands in.
   */
  bracketed(start: number, depth: number | undefined): number {
    const { text } = this
    let brackets = 0
    let backslashes = 0
    for (let at = start; at < text.length; at++) {
      const char = text[at]!
      if (isLineEnd(char) && (depth === undefined || isBlankLine(text, at))) return at
      if ("[{(".includes(char)) brackets++
      else if (")}]".includes(char) && --brackets === 0) return at + 1
      else if (char === "\"" || char === "'" || char === "`") {
        if (backslashes < (depth ?? 0)) return at - backslashes
        const end = this.quoted(at + 1, backslashes, char)
        at = text.startsWith("\\".repeat(backslashes) + char, end) ? end + backslashes : end - 1
        backslashes = 0
        continue
      }
      backslashes = char === "\\" ? backslashes + 1 : 0
    }
    return text.length
  }
}
