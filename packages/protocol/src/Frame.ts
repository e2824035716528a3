/**
 * Bytes to frames and back: lines that end in LF, and nothing else does (FRM-1 to FRM-4, FRM-8, FRM-10, FRM-11).
 *
 * Rule: the decoder never holds more of an unfinished line than the limit, and looks at each byte once. It does nothing
 * by itself: the consumer takes frames with `next` and may stop between any two.
 */
import { Buffer, isUtf8 } from "node:buffer"
import * as Json from "./Json.ts"

/** One line of input. `bytes` counts raw bytes without LF. After `Overflow` nothing more comes (FRM-4). */
export type FrameItem =
  | { readonly _tag: "Frame"; readonly text: string; readonly bytes: number }
  | { readonly _tag: "Invalid"; readonly reason: string }
  | { readonly _tag: "Overflow" }

const LF = 0x0a

const isBlank = (line: Uint8Array): boolean => {
  for (let i = 0; i < line.length; i++) {
    const byte = line[i]
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  }
  return true
}

/** Takes chunks cut anywhere and hands out the frames in them, one at a time. */
export class FrameDecoder {
  private readonly limit: number
  private readonly chunks: Array<Buffer> = []
  private offset = 0
  private held = Buffer.alloc(0)
  private size = 0
  private over = false

  /** `limit`: bytes of a frame without its LF (`input_frame_bytes`). */
  constructor(limit: number) {
    this.limit = limit
  }

  /** Adds a chunk; it must not be changed before `next` has given all of it. */
  push(chunk: Uint8Array): void {
    if (this.over || chunk.length === 0) return
    this.chunks.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
  }

  /** The next line that is not blank, or nothing until there is more input. */
  next(): FrameItem | undefined {
    while (this.chunks.length > 0) {
      const chunk = this.chunks[0]!
      const end = chunk.indexOf(LF, this.offset)
      const length = (end < 0 ? chunk.length : end) - this.offset
      if (this.size + length > this.limit) return this.overflow()
      const part = chunk.subarray(this.offset, this.offset + length)
      this.offset += length + 1
      if (this.offset >= chunk.length) {
        this.chunks.shift()
        this.offset = 0
      }
      if (end < 0) this.hold(part)
      else {
        const item = this.line(part)
        if (item !== undefined) return item
      }
    }
    return undefined
  }

  private line(part: Buffer): FrameItem | undefined {
    let bytes = part
    if (this.size > 0) {
      this.hold(part)
      bytes = this.held.subarray(0, this.size)
      this.size = 0
    }
    if (isBlank(bytes)) return undefined
    return isUtf8(bytes)
      ? { _tag: "Frame", text: bytes.toString("utf8"), bytes: bytes.length }
      : { _tag: "Invalid", reason: "the line is not UTF-8" }
  }

  private hold(part: Buffer): void {
    const size = this.size + part.length
    if (size > this.held.length) {
      const grown = Buffer.alloc(Math.min(this.limit, Math.max(size, 2 * this.held.length, 1024)))
      grown.set(this.held.subarray(0, this.size))
      this.held = grown
    }
    this.held.set(part, this.size)
    this.size = size
  }

  private overflow(): FrameItem {
    this.over = true
    this.chunks.length = 0
    this.held = Buffer.alloc(0)
    this.size = 0
    return { _tag: "Overflow" }
  }
}

/** A frame as it is written: the text and LF. The text must be compact JSON. */
export const encode = (text: string): string => `${text}\n`

/** The bytes of a frame on the wire, LF included (FRM-3). */
export const byteLength = (text: string): number => Json.byteLength(text) + 1

/** Whether a frame, LF included, keeps within `limit` bytes (`output_frame_bytes`, FRM-3). */
export const fits = (text: string, limit: number): boolean =>
  // A UTF-16 unit is at most three bytes, so most frames need no counting.
  text.length * 3 < limit || byteLength(text) <= limit
