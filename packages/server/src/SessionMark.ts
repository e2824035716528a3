/**
 * How many records of a session were acknowledged, in a file beside it: what was cut off its log is told by it (SES-10).
 *
 * Rule: it is written after the commit that it counts, so it never promises what storage does not have; it costs no
 * synchronisation, and a mark that is missing, old or unreadable promises nothing.
 *
 * An edge: synchronous.
 */
import * as fs from "node:fs"
import * as SessionFiles from "./SessionFiles.ts"

/** The checksum, which is loaded with the first session. */
type Crc32 = (text: string) => number

/** Bytes of a mark; always the same, so that writing one never needs more of the disk. */
const WIDTH = 32

const textOf = (crc32: Crc32, seq: number): string => `${seq} ${crc32(String(seq))}`.padEnd(WIDTH - 1) + "\n"

/** How many records were acknowledged for sure. */
export const read = (crc32: Crc32, path: string): number => {
  const text = SessionFiles.unlessMissing(() => fs.readFileSync(path, "latin1"), "")
  const seq = parseInt(text)
  return text === textOf(crc32, seq) ? seq : 0
}

/** Writes the mark of one session; its file is made by the first. */
export class Marker {
  private descriptor: number | undefined
  private readonly crc32: Crc32
  private readonly path: string

  constructor(crc32: Crc32, path: string) {
    this.crc32 = crc32
    this.path = path
  }

  /** A mark that cannot be written is left out: the records are stored. */
  write(seq: number): void {
    try {
      this.descriptor ??= fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
      fs.writeSync(this.descriptor, textOf(this.crc32, seq), 0, "latin1")
    } catch {
      // the next one may succeed
    }
  }

  close(): void {
    if (this.descriptor !== undefined) fs.closeSync(this.descriptor)
    this.descriptor = undefined
  }
}
