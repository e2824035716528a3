/**
 * Keys whose values are credentials (PRO-2).
 *
 * Rule: keys are compared without case and without `-`, `_`, `.` and space. What `isCredential` says of a key,
 * `endsAt` says of a text that ends with that key, so that a scan of JSON text never overlooks one.
 */

const suffixes = ["password", "secret", "token", "apikey", "privatekey"]
const wholes = new Set([
  "passwd",
  "passphrase",
  "accesskey",
  "secretkey",
  "authorization",
  "cookie",
  "setcookie",
  "credential",
  "credentials"
])
const pagingMarks = ["pagetoken", "nexttoken", "continuationtoken", "synctoken"]

/** Whether a member of this name holds a credential: a key of the list of PRO-2, or one with a listed ending. */
export const isCredential = (key: string): boolean => {
  const name = key.toLowerCase().replace(/[-_. ]/g, "")
  return wholes.has(name) ||
    (suffixes.some((suffix) => name.endsWith(suffix)) && !pagingMarks.some((mark) => name.endsWith(mark)))
}

const KELVIN = 0x212a

const isSeparator = (code: number): boolean => code === 0x2d || code === 0x5f || code === 0x2e || code === 0x20

const isAlphanumeric = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)

/** Lower case as `toLowerCase` makes it, for all characters whose lower case is an ASCII letter. */
const lower = (code: number): number => code >= 0x41 && code <= 0x5a ? code + 32 : code === KELVIN ? 0x6b : code

/** Where `name` begins if it stands just before `end`, separators within or after it not counting; else -1. */
const startOf = (name: string, text: string, end: number): number => {
  let at = end
  for (let rest = name.length - 1; rest >= 0; rest--) {
    while (isSeparator(text.charCodeAt(at - 1))) at--
    if (lower(text.charCodeAt(at - 1)) !== name.charCodeAt(rest)) return -1
    at--
  }
  return at
}

/** Whether a word begins at `start`: nothing before it, or no letter, digit or joining mark; `\n` in JSON text is a break. */
const isWordStart = (text: string, start: number): boolean => {
  let at = start
  while (at > 0 && text.charCodeAt(at - 1) !== 0x20 && isSeparator(text.charCodeAt(at - 1))) at--
  const before = text.charCodeAt(at - 1)
  return !isAlphanumeric(before) ||
    (text.charCodeAt(at - 2) === 0x5c && (before === 0x6e || before === 0x72 || before === 0x74))
}

/** The names by their last letter, as `[suffixes, wholes]`. */
const byLastLetter: ReadonlyArray<readonly [ReadonlyArray<string>, ReadonlyArray<string>]> = Array.from(
  { length: 128 },
  (_, code) => {
    const ending = (name: string): boolean => name.charCodeAt(name.length - 1) === code
    return [suffixes.filter(ending), [...wholes].filter(ending)]
  }
)

/** Which two letters end some name, as `before << 7 | last`: most keys are told apart by them. */
const endings = new Uint8Array(1 << 14)
for (const name of [...suffixes, ...wholes]) {
  endings[name.charCodeAt(name.length - 2) << 7 | name.charCodeAt(name.length - 1)] = 1
}

/** Whether the text before `end` ends with a credential-like key; `end` stands behind the key's last character. */
export const endsAt = (text: string, end: number): boolean => {
  let at = end
  while (isSeparator(text.charCodeAt(at - 1))) at--
  const last = lower(text.charCodeAt(at - 1))
  const before = lower(text.charCodeAt(at - 2))
  if (!(last < 128) || (!isSeparator(before) && !(before < 128 && endings[before << 7 | last] === 1))) return false
  const names = byLastLetter[last]!
  for (const name of names[0]) {
    const start = startOf(name, text, at)
    if (start >= 0 && !(name === "token" && pagingMarks.some((mark) => startOf(mark, text, at) >= 0))) return true
  }
  for (const name of names[1]) {
    const start = startOf(name, text, at)
    if (start >= 0 && isWordStart(text, start)) return true
  }
  return false
}

/** Whether the text before `end` ends with the key of a header that carries credentials in several words. */
export const endsWithHeader = (text: string, end: number): boolean =>
  startOf("authorization", text, end) >= 0 || startOf("cookie", text, end) >= 0
