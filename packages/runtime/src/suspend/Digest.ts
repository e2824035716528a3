/**
 * The only place that hashes: SHA-256, HMAC-SHA-256 and comparison in constant time (SUS-2, SUS-6, DCL-10).
 *
 * Rule: a digest is compared, never parsed for meaning beyond its algorithm and key id.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { createHash, createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from "node:crypto"

/** One signing key; its secret stays inside the key object, which prints without it. */
export interface Key {
  readonly id: string
  readonly secret: KeyObject
}

/** The keys of a host, newest first: the first one signs, all of them verify (SUS-2). Never empty. */
export interface Keys {
  readonly all: readonly [Key, ...Array<Key>]
}

/** A list of keys that cannot be used; `rule` says what is wrong, without the secret. */
export class KeysInvalid extends Data.TaggedError("KeysInvalid")<{ readonly keyId: string; readonly rule: string }> {
  readonly code = "keys_invalid"
  override get message(): string {
    return `key ${JSON.stringify(this.keyId)}: ${this.rule}`
  }
}

/** The shortest secret that is accepted, in bytes. */
export const minSecretBytes = 32

const keyId = /^[A-Za-z0-9_.-]{1,64}$/

/** Keys from ids and secrets, newest first. Ids are 1 to 64 of `A-Z a-z 0-9 _ . -` and differ; secrets have 32 bytes or more. */
export const makeKeys = (
  keys: ReadonlyArray<{ readonly id: string; readonly secret: Uint8Array }>
): Result.Result<Keys, KeysInvalid> => {
  const seen = new Set<string>()
  const all: Array<Key> = []
  for (const { id, secret } of keys) {
    const fault = !keyId.test(id)
      ? "the id must be 1 to 64 of A-Z a-z 0-9 _ . -"
      : seen.has(id)
      ? "the id must be unique"
      : secret.length < minSecretBytes
      ? `the secret must have at least ${minSecretBytes} bytes`
      : null
    if (fault !== null) return Result.fail(new KeysInvalid({ keyId: id, rule: fault }))
    seen.add(id)
    all.push({ id, secret: createSecretKey(secret) })
  }
  const [first, ...rest] = all
  return first === undefined
    ? Result.fail(new KeysInvalid({ keyId: "", rule: "the list must hold at least one key" }))
    : Result.succeed({ all: [first, ...rest] })
}

/** SHA-256 of a text's UTF-8 bytes, lower-case hex. */
export const sha256 = (text: string): string => hash("sha256", text)

/** A text to compare by: itself while it is short, else its SHA-256. */
export const brief = (text: string): string => text.length <= 512 ? text : sha256(text)

/** Hands over small pieces together, since a call costs more than their bytes, and large ones without copying them. */
const sum = (pieces: ReadonlyArray<string>, key: Key | null): string => {
  let characters = 0
  for (const piece of pieces) characters += piece.length
  if (key === null && characters < 8192) return `sha256:${sha256(pieces.join(""))}`
  const whole = key === null ? createHash("sha256") : createHmac("sha256", key.secret)
  let small = ""
  for (const piece of pieces) {
    if (small.length + piece.length < 8192) {
      small += piece
      continue
    }
    if (small !== "") whole.update(small, "utf8")
    small = ""
    whole.update(piece, "utf8")
  }
  if (small !== "") whole.update(small, "utf8")
  return key === null ? `sha256:${whole.digest("hex")}` : `hmac-sha256:${key.id}:${whole.digest("hex")}`
}

const equal = (a: string, b: string): boolean => {
  const left = Buffer.from(a, "utf8")
  const right = Buffer.from(b, "utf8")
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The digest of a text given in pieces: signed with the newest key when there are keys, else a checksum (SUS-2). */
export const seal = (pieces: ReadonlyArray<string>, keys: Keys | null): string =>
  sum(pieces, keys === null ? null : keys.all[0])

/** Why a digest is refused: `unkeyed` (a key is required), `unknown_key`, or `mismatch`. */
export type Refusal = "unkeyed" | "unknown_key" | "mismatch"

/** Null when the digest is that of the pieces under the host's keys, else the reason (SUS-2). */
export const verify = (digest: string, pieces: ReadonlyArray<string>, keys: Keys | null): Refusal | null => {
  if (!digest.startsWith("hmac-sha256:")) {
    if (keys !== null) return "unkeyed"
    return equal(digest, sum(pieces, null)) ? null : "mismatch"
  }
  const id = digest.slice("hmac-sha256:".length, digest.lastIndexOf(":"))
  const key = keys?.all.find((key) => key.id === id)
  if (key === undefined) return "unknown_key"
  return equal(digest, sum(pieces, key)) ? null : "mismatch"
}

/** Whether a digest is one that a key protects. */
export const isKeyed = (digest: string): boolean => digest.startsWith("hmac-sha256:")
