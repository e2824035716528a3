/**
 * Secrets inside text (PRO-3): private keys, web tokens, well-known key shapes, passwords in URLs, authorization schemes
 * and pairs whose key is credential-like.
 *
 * Rule: each character is walked a bounded number of times: every search goes on behind what it has looked at, and no
 * expression can try one run from each of its characters. Whoever adds a kind of secret here teaches `CleanText` to see it.
 */
import { Buffer, isUtf8 } from "node:buffer"
import { Edit, marker, valueEnd } from "./SecretMarker.ts"
import * as SecretPairs from "./SecretPairs.ts"

// Nothing or no letter and digit stands before a word, or an escape of JSON text, whose letter belongs to no word.
const wordStart = "(?:(?<![A-Za-z0-9])|(?<=\\\\[nrt]))"
/** Key shapes by their prefixes. */
export const shapes = new RegExp(
  "ghp_[A-Za-z0-9]{16}[\\w-]*|github_pat_\\w{16}[\\w-]*|glpat-[\\w-]{16,}|AKIA[A-Z0-9]{16}[A-Za-z0-9]*|AIza[\\w-]{20,}|" +
    `xox[a-z]-[\\w-]{10,}|${wordStart}sk-[\\w-]{12,}`
)
const shapesAll = new RegExp(shapes.source, "g")
/** `Bearer` or `Basic` and the white space behind it. */
export const scheme = new RegExp(`${wordStart}(bearer|basic)(?:[ \\t]|\\\\t)+`, "i")
/** How the first line of a PEM block begins. */
export const pemStart = "-----BEGIN "

/** Finds the next password in a URL from `from` on: between the first colon of the user part and its last `@`. */
export const nextUrlPassword = (
  text: string,
  from: number
): { readonly start: number; readonly end: number } | undefined => {
  for (let at = text.indexOf("://", from); at >= 0; at = text.indexOf("://", at + 3)) {
    let colon = -1
    let sign = -1
    for (let end = at + 3; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (code === 0x3a && colon < 0) colon = end
      else if (code === 0x40) sign = end
      else if (isUserPartStop(code)) break
    }
    if (colon >= 0 && sign > colon + 1) return { start: colon + 1, end: sign }
  }
  return undefined
}

/** White space, `/ ? #`, quotes and angle brackets. */
const isUserPartStop = (code: number): boolean =>
  code <= 0x20 || code === 0x2f || code === 0x3f || code === 0x23 || code === 0x22 || code === 0x27 || code === 0x60 ||
  code === 0x3c || code === 0x3e

const pemHead = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const pemEnd = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const pemBody = /[ \t]*(?:[\r\n]|\\+[rn]|[A-Za-z0-9+/=]{16})/y

/** A whole block goes; one that is cut off takes the rest of the text with it, the bare first line in prose does not. */
const redactPem = (text: string): string => {
  const edit = new Edit(text)
  let mayEnd = true
  for (let at = text.indexOf(pemStart); at >= 0;) {
    pemHead.lastIndex = at
    if (!pemHead.test(text)) {
      at = text.indexOf(pemStart, at + pemStart.length)
      continue
    }
    const body = pemHead.lastIndex
    pemEnd.lastIndex = body
    mayEnd = mayEnd && pemEnd.test(text)
    pemBody.lastIndex = body
    const end = mayEnd ? pemEnd.lastIndex : pemBody.test(text) ? text.length : body
    if (end > body) edit.redact(at, end)
    at = text.indexOf(pemStart, end)
  }
  return edit.done()
}

const isTokenCode = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x2d ||
  code === 0x5f

const tokenEnd = (text: string, start: number): number => {
  let end = start
  while (isTokenCode(text.charCodeAt(end))) end++
  return end
}

/** JSON Web Tokens: a base64url part that begins like `{"`, and two to four further parts, of which a signature may be empty. */
const redactWebTokens = (text: string): string => {
  const edit = new Edit(text)
  for (let at = text.indexOf("eyJ"); at >= 0;) {
    const head = tokenEnd(text, at)
    let end = head
    if (head - at >= 8 && text[head] === ".") {
      const payload = tokenEnd(text, head + 1)
      if (payload - head > 4 && (text[payload] === "." || text.startsWith("eyJ", head + 1))) {
        end = payload
        for (let part = 0; part < 3 && text[end] === "."; part++) end = tokenEnd(text, end + 1)
        edit.redact(at, end)
      }
    }
    at = text.indexOf("eyJ", end)
  }
  return edit.done()
}

/** Whether what stands behind a prefix looks made by a machine and not written in prose, as `sk-` may be. */
const looksRandom = (shape: string): boolean => {
  if (shape.startsWith("sk-")) return /[0-9A-Z]|[a-z]{16}/.test(shape.slice(3))
  return !shape.startsWith("xox") || /[0-9A-Z]|[a-z]{10}/.test(shape.slice(5))
}

const redactShapes = (text: string): string => text.replace(shapesAll, (found) => looksRandom(found) ? marker : found)

const redactUrls = (text: string): string => {
  if (!text.includes("@")) return text
  const edit = new Edit(text)
  for (let found = nextUrlPassword(text, 0); found !== undefined; found = nextUrlPassword(text, found.end)) {
    edit.redact(found.start, found.end)
  }
  return edit.done()
}

const schemeAll = new RegExp(scheme.source, "gi")
const looksBearer = (run: string): boolean =>
  run.length >= 6 && !run.includes("://") && /[0-9=+_~]|[a-z][A-Z]|[A-Za-z]\.[A-Za-z]|[A-Za-z]{16}/.test(run)

/** Base64 of a text with a colon, or more of it than a word of prose has; a short text that begins with one is a word. */
const looksBasic = (run: string): boolean => {
  if (!/^[\w+/-]+={0,2}$/.test(run) || !/[A-Za-z]/.test(run)) return false
  if (/^[A-Za-z0-9+/]{16,}=*$/.test(run) && /[0-9=+]|[a-z][A-Z]|[A-Za-z]{20}/.test(run)) return true
  const bytes = Buffer.from(run, "base64")
  const colon = bytes.indexOf(":")
  return (colon > 0 || (colon === 0 && run.length >= 8)) && isUtf8(bytes) && !/[\x00-\x1f\x7f]/.test(bytes.toString())
}

/** Where a run ends without the marks of the sentence that it stands in. */
const wordEnd = (text: string, start: number, end: number): number => {
  let last = end
  while (last > start && ".:!?".includes(text[last - 1]!)) last--
  return last
}

/** `Bearer` and `Basic` with what looks like a credential; `Basic understanding` is prose. */
const redactSchemes = (text: string): string => {
  const edit = new Edit(text)
  schemeAll.lastIndex = 0
  for (let found = schemeAll.exec(text); found !== null; found = schemeAll.exec(text)) {
    const start = schemeAll.lastIndex
    const looksCredential = found[1]!.toLowerCase() === "basic" ? looksBasic : looksBearer
    if (text.startsWith(marker, start)) continue
    const end = valueEnd(text, start)
    if (!looksCredential(text.slice(start, wordEnd(text, start, end)))) continue
    edit.redact(start, end)
    schemeAll.lastIndex = end
  }
  return edit.done()
}

const pass = (text: string): string =>
  SecretPairs.redact(redactSchemes(redactUrls(redactShapes(redactWebTokens(redactPem(text))))))

const MOST_PASSES = 8

/**
 * Replaces the secrets in a text by the marker, labels kept.
 *
 * A replacement can make a neighbour recognisable, so it goes on until nothing changes: the outcome is its own outcome
 * (PRO-6). A text that does not come to rest was made for that, and goes whole.
 */
export const redact = (text: string): string => {
  let before = text
  for (let round = 0; round < MOST_PASSES; round++) {
    const after = pass(before)
    if (after === before) return after
    before = after
  }
  return marker
}
