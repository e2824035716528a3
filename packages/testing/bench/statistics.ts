/** Medians, order by chance, and tables for a terminal. */

/** The middle of some values; NaN of none. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The same items in an order by chance. */
export const shuffle = <A>(items: ReadonlyArray<A>): Array<A> => {
  const mixed = [...items]
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    const one = mixed[i]!
    mixed[i] = mixed[j]!
    mixed[j] = one
  }
  return mixed
}

/** Rows with aligned columns, the first row being the head. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)).join("  ")
  ).join("\n")
}
