/**
 * `read_file`: some lines of a text file (BLT-1).
 *
 * Rule: memory stays within the result's bound whatever the file's size; a file is read to its end, or to 64 MiB, only
 * to count its lines.
 */
import type { ToolOutcome } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as BuiltinTool from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"
import { type Opened, system, systemFailure, type Workspace } from "./Workspace.ts"

/** Bytes that one call reads at most. */
const SCAN_BYTES = 64 * 1024 * 1024

const CHUNK_BYTES = 64 * 1024

/** Where a NUL is looked for to tell a binary file. */
const BINARY_BYTES = 8192

/** Room for the lines that say what was left out. */
const NOTICE_BYTES = 256

const LF = 0x0a

const Arguments = Schema.Struct({
  path: BuiltinTool.NonEmpty,
  offset: Schema.optionalKey(BuiltinTool.Positive),
  limit: Schema.optionalKey(BuiltinTool.Positive)
})

/** Whether the beginning of a file tells that it is no text. */
export const isBinary = (start: Uint8Array): boolean => start.subarray(0, BINARY_BYTES).includes(0)

/** What a pass over a file found: the wanted lines as far as they fit, and how many lines there are. */
interface Scan {
  readonly kept: Buffer
  /** Bytes of the first wanted line. */
  readonly firstLine: number
  readonly lines: number
  readonly bytes: number
  readonly ended: boolean
}

/** Collects lines `offset` to `offset + limit - 1` of the chunks pushed, at most `max` bytes of them. */
class LineScan {
  lines = 0
  bytes = 0
  firstLine = 0
  kept = 0
  /** Whether the last byte seen was no line break. */
  open = false
  readonly parts: Array<Buffer> = []
  readonly offset: number
  readonly limit: number
  readonly max: number

  constructor(offset: number, limit: number, max: number) {
    this.offset = offset
    this.limit = limit
    this.max = max
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    let at = 0
    while (at < chunk.length) {
      const feed = chunk.indexOf(LF, at)
      const end = feed === -1 ? chunk.length : feed + 1
      const line = this.lines + 1
      if (line === this.offset) this.firstLine += end - at
      if (line >= this.offset && line - this.offset < this.limit && this.kept < this.max) {
        // Copied: the chunk's memory is used again.
        const part = Buffer.from(chunk.subarray(at, Math.min(end, at + this.max - this.kept)))
        this.parts.push(part)
        this.kept += part.length
      }
      if (feed !== -1) this.lines++
      this.open = feed === -1
      at = end
    }
  }
}

const scan = Effect.fnUntraced(function*(file: Opened, offset: number, limit: number, max: number) {
  const { handle, shown } = file
  const found = new LineScan(offset, limit, max)
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let ended = false
  for (;;) {
    const { bytesRead } = yield* Effect.mapError(
      system(() => handle.read(buffer, 0, CHUNK_BYTES, null)),
      (code) => systemFailure(shown, code)
    )
    ended = bytesRead === 0
    if (ended || found.bytes >= SCAN_BYTES) break
    if (found.bytes === 0 && isBinary(buffer.subarray(0, bytesRead))) {
      return yield* Effect.fail(
        BuiltinTool.failure(
          `${shown} is a binary file of ${Excerpt.counted(file.stat.size, "byte")}; read_file reads text only.`
        )
      )
    }
    found.push(buffer.subarray(0, bytesRead))
  }
  const result: Scan = {
    kept: Buffer.concat(found.parts),
    firstLine: found.firstLine,
    lines: found.lines + (found.open ? 1 : 0),
    bytes: found.bytes,
    ended
  }
  return result
})

const splitLines = (text: string): Array<string> => text.match(/[^\n]*\n|[^\n]+/g) ?? []

const render = (found: Scan, offset: number, size: number, budget: number): string => {
  const window = splitLines(found.kept.toString("utf8"))
  return Excerpt.listing(window, budget, NOTICE_BYTES, ({ cut, rest }) => {
    const next = offset + window.length - rest
    const notices: Array<string> = []
    if (cut > 0) {
      notices.push(`line ${Excerpt.count(offset)} is cut here; it has ${Excerpt.counted(found.firstLine, "byte")}`)
    }
    if (!found.ended) {
      notices.push(`more lines; the file has ${Excerpt.counted(size, "byte")}. Continue with offset ${next}`)
    } else if (next <= found.lines) {
      notices.push(`${Excerpt.counted(found.lines - next + 1, "more line")}. Continue with offset ${next}`)
    }
    return notices
  })
}

/** Makes the tool for a workspace; `max` bounds the result's bytes. */
export const make = (workspace: Workspace["Service"], max: number): BuiltinTool.BuiltinTool =>
  BuiltinTool.make({
    name: "read_file",
    description:
      "Reads a text file of the workspace. Long files are cut, and the last line then says where to continue. "
      + "Bytes that are not UTF-8 are replaced; binary files are refused.",
    properties: {
      path: { type: "string", minLength: 1, description: "Path relative to the workspace." },
      offset: { type: "integer", minimum: 1, description: "The first line to read, counted from 1. Default 1." },
      limit: { type: "integer", minimum: 1, description: "How many lines to read at most. Default: as many as fit." }
    },
    required: ["path"],
    arguments: Arguments,
    inspection: true,
    asks: false,
    summary: ({ path }) => `read ${Excerpt.oneLine(path)}`,
    run: Effect.fnUntraced(function*({ limit = Number.MAX_SAFE_INTEGER, offset = 1, path }) {
      const file = yield* workspace.open(path)
      // One byte more than may be shown, so that a line that is not there whole never counts as shown.
      const found = yield* scan(file, offset, limit, max + 1)
      if (found.kept.length === 0) return nothing(file.shown, found, offset)
      return BuiltinTool.success(
        Excerpt.fit(max, (budget) => render(found, offset, file.stat.size, budget))
      )
    }, Effect.scoped)
  })

const nothing = (shown: string, found: Scan, offset: number): ToolOutcome => {
  if (!found.ended) {
    return BuiltinTool.failure(
      `Line ${Excerpt.count(offset)} of ${shown} lies beyond its first ${Excerpt.counted(SCAN_BYTES, "byte")}, `
        + "which is as far as read_file goes."
    )
  }
  return found.lines === 0 && offset === 1
    ? BuiltinTool.success("(the file is empty)")
    : BuiltinTool.failure(
      `${shown} has ${Excerpt.counted(found.lines, "line")}; there is no line ${Excerpt.count(offset)}.`
    )
}
