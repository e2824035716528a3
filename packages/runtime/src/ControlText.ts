/**
 * Text without characters that steer a terminal or reverse what is read (PRO-4).
 *
 * Rule: what leaves here holds no control character but LF, CR and tab, no bidirectional override and no lone surrogate;
 * a sequence is removed whole, so that nothing can hide a secret by splitting it.
 */

/** What leaves no text: first and last code unit of each range. */
export const unsafeRanges = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0x202a, 0x202e],
  [0x2066, 0x2069]
] as const
const escaped = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`
const unsafe = new RegExp(`[${unsafeRanges.map(([from, to]) => `${escaped(from)}-${escaped(to)}`).join("")}]`)
const unsafeAll = new RegExp(unsafe.source, "g")

/** What no control string holds. */
const notText = "\\x00-\\x07\\x0e-\\x1f\\x7f-\\x9f"
const closed = `[^${notText}]*(?:\\x07|\\x9c|\\x1b\\\\)`

/**
 * ECMA-48 sequences, cut-off ones too. The text of a control string has lines and tabs where it is closed; one that is
 * cut off ends where any control character stands. The 8-bit spellings count only when complete: mis-decoded text holds
 * their first characters by accident.
 */
const sequences = new RegExp(
  [
    "\\x1b\\[[0-?]*[ -/]*[@-~]?",
    `\\x1b[\\]PX^_](?:${closed}|[^\\x00-\\x1f\\x7f-\\x9f]*)`,
    "\\x1b[ -/]*[0-~]?",
    "\\x9b[0-?]*[ -/]*[@-~]",
    `[\\x90\\x98\\x9d-\\x9f]${closed}`
  ].join("|"),
  "g"
)

/** Removes terminal control sequences; other control characters, overrides and lone surrogates become U+FFFD (PRO-4). */
export const plain = (text: string): string =>
  unsafe.test(text) ? text.replace(sequences, "").replace(unsafeAll, "\ufffd").toWellFormed() : text.toWellFormed()
