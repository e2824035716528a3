/**
 * Lines of styled text and how they become what a terminal or a file gets.
 *
 * Rule: text that came from elsewhere can never steer a terminal, and no line is wider than it was asked to be.
 */

/** What a piece of text means; `paint` says how it looks. */
export type Style = "plain" | "dim" | "bold" | "good" | "bad" | "warn" | "accent"

/** A piece of a line in one style. */
export interface Span {
  readonly text: string
  readonly style: Style
}

/** One line, without its line feed. */
export type Line = ReadonlyArray<Span>

const sgr: { readonly [S in Style]: string } = {
  plain: "",
  dim: "2",
  bold: "1",
  good: "32",
  bad: "31",
  warn: "33",
  accent: "36"
}

const unsafe = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Text whose control characters and reversals are made visible as U+FFFD; line feed and tab stay. */
export const visible = (text: string): string => text.replaceAll(unsafe, "\ufffd").toWellFormed()

/** One piece of text on one line. */
export const ink = (style: Style, text: string): Span => ({ style, text: visible(text).replaceAll(/[\n\t]/g, " ") })

/** A line as it is written. */
export const paint = (line: Line, colour: boolean): string =>
  line.map(({ style, text }) => colour && sgr[style] !== "" ? `\x1b[${sgr[style]}m${text}\x1b[0m` : text).join("")

/** How many cells a line takes. */
export const width = (line: Line): number => line.reduce((cells, { text }) => cells + [...text].length, 0)

/** The line cut to at most `columns` cells; a cut is marked. */
export const fit = (line: Line, columns: number): Line => {
  if (width(line) <= columns) return line
  const cells = cellsOf(line).slice(0, Math.max(0, columns - 1))
  return joined([...cells, { text: "…", style: "dim" }])
}

/**
 * The line broken at spaces and behind commas, or within a word that is too long; later rows begin below its first letter
 * or digit.
 */
export const wrap = (line: Line, columns: number): ReadonlyArray<Line> => {
  const rows: Array<Line> = []
  const cells = cellsOf(line)
  const indent = Math.min(
    Math.max(0, cells.findIndex(({ text }) => /[\p{L}\p{N}]/u.test(text))),
    Math.floor(columns / 2)
  )
  let from = 0
  let margin = 0
  while (margin + cells.length - from > columns) {
    const most = from + Math.max(1, columns - margin)
    const least = rows.length === 0 ? indent + 1 : from + 1
    let at = most
    // A space right behind the room is as good a place as one inside of it.
    while (at >= least && cells[at]!.text !== " " && cells[at - 1]!.text !== ",") at--
    if (at < least) at = most
    rows.push(indented(cells.slice(from, at), margin))
    from = cells[at]!.text === " " ? at + 1 : at
    margin = indent
  }
  return [...rows, indented(cells.slice(from), margin)]
}

const indented = (cells: Line, margin: number): Line =>
  joined(margin === 0 ? cells : [{ text: " ".repeat(margin), style: "plain" }, ...cells])

const cellsOf = (line: Line): ReadonlyArray<Span> =>
  line.flatMap(({ style, text }) => Array.from(text, (cell) => ({ style, text: cell })))

const joined = (cells: Line): Line => {
  const spans: Array<{ text: string; style: Style }> = []
  for (const { style, text } of cells) {
    const last = spans.at(-1)
    if (last?.style === style) last.text += text
    else spans.push({ text, style })
  }
  return spans
}
