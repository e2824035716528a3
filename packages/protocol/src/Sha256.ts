/**
 * SHA-256, for fingerprints and digests (DEL-2, SUS-2, SUS-6).
 *
 * Rule: `node:crypto` is loaded by the first digest and not by an import: it is a tenth of the time a server needs to
 * start, and most starts digest nothing.
 */

/** The digest of a text's UTF-8 bytes in lower-case hex. */
export const hex = (text: string): string =>
  process.getBuiltinModule("node:crypto").createHash("sha256").update(text, "utf8").digest("hex")
