/**
 * Where lines are drawn: a terminal, whose last rows are drawn again and again, or a plain stream of lines.
 *
 * Rule: what was printed stays as it is, and the cursor is visible again whatever ends the program. This is an edge: it
 * writes to stdout and stderr.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { writeSync } from "node:fs"
import type { WriteStream } from "node:tty"
import { type Line, paint, width, wrap } from "./Ink.ts"

/** Somewhere to draw. */
export interface Screen {
  /** Whether it is a terminal that can be drawn upon. */
  readonly live: boolean
  readonly columns: () => number
  /** Prints the lines for good and draws the picture below them, in place of the former one. */
  readonly draw: (lines: ReadonlyArray<Line>, picture: ReadonlyArray<Line>) => Effect.Effect<void>
}

/** What is read of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Whether a stream wants colours: a terminal, unless `NO_COLOR` or `TERM=dumb` say otherwise. */
export const hasColour = (stream: { readonly isTTY?: boolean }, env: Environment): boolean =>
  stream.isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb"

const hide = "\x1b[?25l"
const show = "\x1b[?25h"

/** A screen on a stream, for as long as the scope lasts. */
export const make = (
  stream: Pick<WriteStream, "isTTY" | "columns" | "rows" | "write"> & { readonly fd: number },
  env: Environment
): Effect.Effect<Screen, never, Scope.Scope> => {
  const colour = hasColour(stream, env)
  if (!stream.isTTY || env["TERM"] === "dumb") {
    return Effect.succeed({
      live: false,
      columns: () => Infinity,
      draw: (lines) => Effect.sync(() => lines.length > 0 && stream.write(text(lines, false)))
    })
  }
  const columns = () => Math.max(20, stream.columns || 80)
  let drawn: ReadonlyArray<number> = []
  // A terminal that became narrower has broken the rows that were drawn.
  const erase = () => {
    const rows = drawn.reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / columns())), 0)
    return rows === 0 ? "" : `\x1b[${rows}A\r\x1b[J`
  }
  const restore = () => {
    writeSync(stream.fd, show)
  }
  const screen: Screen = {
    live: true,
    columns,
    draw: (lines, picture) =>
      Effect.sync(() => {
        const rows = picture.slice(-Math.max(1, (stream.rows || 24) - 2))
        const printed = lines.flatMap((line) => wrap(line, columns()))
        stream.write(erase() + text(printed, colour) + text(rows, colour))
        drawn = rows.map(width)
      })
  }
  return Effect.acquireRelease(
    Effect.sync(() => {
      process.on("exit", restore)
      stream.write(hide)
      return screen
    }),
    () =>
      Effect.sync(() => {
        stream.write(erase() + show)
        process.off("exit", restore)
      })
  )
}

const text = (lines: ReadonlyArray<Line>, colour: boolean): string =>
  lines.map((line) => `${paint(line, colour)}\n`).join("")
