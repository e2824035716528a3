/**
 * Text without characters that steer a terminal or reverse what is read (PRO-4).
 *
 * Rule: what leaves here holds no control character but LF, CR and tab, no bidirectional override and no lone surrogate;
 * a sequence is removed whole, so that nothing can hide a secret by splitting it.
 */

const unsafe = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/
const unsafeAll = new RegExp(unsafe.source, "g")

/**
 * ECMA-48 sequences, cut-off ones too. The text of a string command ends where any control character stands. The 8-bit
 * spellings count only when complete: mis-decoded text holds their first characters by accident.
 */
const sequences = new RegExp(
  [
    "\\x1b\\[[0-?]*[ -/]*[@-~]?",
    "\\x1b[\\]PX^_][^\\x00-\\x1f\\x7f-\\x9f]*(?:\\x07|\\x9c|\\x1b\\\\)?",
    "\\x1b[ -/]*[0-~]?",
    "\\x9b[0-?]*[ -/]*[@-~]",
    "[\\x90\\x98\\x9d-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*(?:\\x07|\\x9c|\\x1b\\\\)"
  ].join("|"),
  "g"
)

const SCRATCH_BYTES = 65_536
const encoder = new TextEncoder()
const bytes = new Uint8Array(SCRATCH_BYTES)
const words = new Int32Array(bytes.buffer)

/** Whether a text is printable ASCII, LF, CR and tab throughout; `false` also when it is too long to tell at once. */
const isPlainAscii = (text: string): boolean => {
  if (text.length > SCRATCH_BYTES - 4) return false
  const { read, written } = encoder.encodeInto(text, bytes)
  if (read !== text.length || written !== read) return false
  // The last word is filled up with spaces, so that four bytes are looked at in one step.
  bytes[written] = bytes[written + 1] = bytes[written + 2] = 0x20
  const end = (written + 3) >> 2
  for (let at = 0; at < end; at++) {
    const word = words[at]!
    // The high bit of a byte is set where it is below 0x20, 0x7f, or not ASCII; the bytes of a hit are looked at singly.
    if ((((word - 0x20202020) & ~word) | word | (word + 0x01010101)) & 0x80808080) {
      for (let byte = at << 2; byte < (at << 2) + 4; byte++) {
        const code = bytes[byte]!
        if (code < 0x20 ? code !== 0x0a && code !== 0x0d && code !== 0x09 : code > 0x7e) return false
      }
    }
  }
  return true
}

/** Whether a text would go through `plain` unchanged. */
export const isPlain = (text: string): boolean => isPlainAscii(text) || (text.isWellFormed() && !unsafe.test(text))

/** Removes terminal control sequences; other control characters, overrides and lone surrogates become U+FFFD (PRO-4). */
export const plain = (text: string): string =>
  isPlain(text) ? text : text.replace(sequences, "").replace(unsafeAll, "\ufffd").toWellFormed()
