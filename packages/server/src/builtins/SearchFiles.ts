/**
 * `search_files`: where a literal text occurs (BLT-1).
 *
 * Rule: the pattern is never a regular expression, so time is linear in the bytes read, and files, bytes and matches
 * are bounded. No link is followed.
 */
import type { ToolOutcome } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as BuiltinTool from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Listing from "./Listing.ts"
import { isBinary } from "./ReadFile.ts"
import { type Opened, system, systemFailure, type Workspace } from "./Workspace.ts"

/** Bytes of the largest file that is searched. */
const FILE_BYTES = 4 * 1024 * 1024

/** Files that one call opens. */
const FILES = 20_000

/** Bytes that one call reads. */
const TOTAL_BYTES = 512 * 1024 * 1024

/** Directories below the one that is searched; each holds a descriptor open. */
const DEPTH = 64

/** Bytes shown of a line: before the match, and from its start on. */
const BEFORE_BYTES = 80
const AFTER_BYTES = 160

/** Room for the lines that say what was left out. */
const NOTICE_BYTES = 512

/** Directories that are searched only when the path names them or something inside. */
const SKIPPED = new Set([".git", "node_modules"])

const LF = 0x0a

const Arguments = Schema.Struct({
  pattern: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1024)),
  path: Schema.optionalKey(BuiltinTool.NonEmpty)
})

/** What was found so far, and what was left out. */
interface Search {
  readonly pattern: Buffer
  /** Bytes of matches that are worth keeping. */
  readonly max: number
  readonly matches: Array<string>
  bytes: number
  files: number
  read: number
  large: number
  unreadable: number
  deep: number
  /** Why the search ended early. */
  stopped: "matches" | "files" | undefined
}

/** The part of a line around a match that starts at `match`. */
const around = (content: Buffer, start: number, match: number, end: number): string => {
  let from = Math.max(start, match - BEFORE_BYTES)
  while (from > start && from < match && Excerpt.continues(content[from])) from++
  const to = match + Excerpt.headEnd(content.subarray(match, end), AFTER_BYTES)
  const text = content.subarray(from, to).toString("utf8")
  return `${from > start ? Excerpt.MARK : ""}${text.replace(/\r$/, "")}${to < end ? Excerpt.MARK : ""}`
}

/** Adds the matching lines of one file's content. */
const matchLines = (search: Search, shown: string, content: Buffer): void => {
  let line = 1
  let start = 0
  let match = content.indexOf(search.pattern)
  while (match !== -1) {
    if (search.bytes > search.max) {
      search.stopped = "matches"
      return
    }
    for (let feed = content.indexOf(LF, start); feed !== -1 && feed < match; feed = content.indexOf(LF, start)) {
      line++
      start = feed + 1
    }
    const feed = content.indexOf(LF, match)
    const end = feed === -1 ? content.length : feed
    const found = `${Excerpt.oneLine(shown)}:${line}: ${around(content, start, match, end)}\n`
    search.matches.push(found)
    search.bytes += Excerpt.size(found)
    match = end === content.length ? -1 : content.indexOf(search.pattern, end + 1)
  }
}

/** Reads a whole file of at most `FILE_BYTES`; undefined when it grew beyond them. */
const contentOf = Effect.fnUntraced(function*({ handle, stat }: Opened) {
  const buffer = Buffer.allocUnsafe(Math.min(stat.size, FILE_BYTES) + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = yield* system(() => handle.read(buffer, length, buffer.length - length, null))
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
})

const searchFile = Effect.fnUntraced(function*(search: Search, file: Opened) {
  search.files++
  if (file.stat.size > FILE_BYTES) {
    search.large++
    return
  }
  const content = yield* Effect.mapError(contentOf(file), (code) => systemFailure(file.shown, code))
  search.read += content.length
  if (!isBinary(content)) matchLines(search, file.shown, content)
  if (search.stopped === undefined && (search.files >= FILES || search.read >= TOTAL_BYTES)) search.stopped = "files"
})

const searchDirectory: (
  workspace: Workspace["Service"],
  search: Search,
  directory: Opened,
  depth: number
) => Effect.Effect<void, ToolOutcome, Scope.Scope> = Effect.fnUntraced(function*(workspace, search, directory, depth) {
  const { entries, more } = yield* Listing.read(directory)
  search.unreadable += more
  for (const entry of entries) {
    if (search.stopped !== undefined) return
    const kind = entry.isFile() ? "file" : entry.isDirectory() && !SKIPPED.has(entry.name) ? "directory" : undefined
    if (kind === undefined) continue
    if (kind === "directory" && depth === DEPTH) {
      search.deep++
      continue
    }
    yield* workspace.openEntry(directory, entry.name, { kind }).pipe(
      Effect.flatMap((opened) =>
        kind === "file" ? searchFile(search, opened) : searchDirectory(workspace, search, opened, depth + 1)
      ),
      Effect.scoped,
      Effect.catch(() => Effect.sync(() => search.unreadable++))
    )
  }
})

const noticesOf = (search: Search, rest: number): Array<string> => {
  const notices: Array<string> = []
  if (search.stopped === "matches") {
    notices.push(`more matches; search a narrower path or a longer text`)
  } else if (rest > 0) notices.push(Excerpt.counted(rest, "more matching line"))
  if (search.stopped === "files") {
    notices.push(`stopped after ${Excerpt.counted(search.files, "file")}; name a path to search the rest`)
  }
  if (search.large > 0) {
    notices.push(`${Excerpt.counted(search.large, "file")} larger than ${Excerpt.count(FILE_BYTES)} bytes not searched`)
  }
  if (search.unreadable > 0) {
    notices.push(`${Excerpt.counted(search.unreadable, "entry", "entries")} that could not be read not searched`)
  }
  if (search.deep > 0) {
    notices.push(`${Excerpt.counted(search.deep, "directory", "directories")} nested too deep not searched`)
  }
  return notices
}

/** Makes the tool for a workspace; `max` bounds the result's bytes. */
export const make = (workspace: Workspace["Service"], max: number): BuiltinTool.BuiltinTool =>
  BuiltinTool.make({
    name: "search_files",
    description: "Finds a literal text, case-sensitive and no regular expression, in the text files of the workspace. "
      + "Answers with PATH:LINE: TEXT lines. Binary files, symbolic links, .git and node_modules are left out; "
      + "name such a directory as path to search it.",
    properties: {
      pattern: { type: "string", minLength: 1, maxLength: 1024, description: "The literal text to find." },
      path: {
        type: "string",
        minLength: 1,
        description: "File or directory to search, relative to the workspace. Default: the workspace."
      }
    },
    required: ["pattern"],
    arguments: Arguments,
    inspection: true,
    asks: false,
    summary: ({ path = ".", pattern }) => `search ${Excerpt.oneLine(path)} for ${Excerpt.oneLine(pattern)}`,
    run: Effect.fnUntraced(function*({ path = ".", pattern }) {
      const search: Search = {
        pattern: Buffer.from(pattern),
        max,
        matches: [],
        bytes: 0,
        files: 0,
        read: 0,
        large: 0,
        unreadable: 0,
        deep: 0,
        stopped: undefined
      }
      const opened = yield* workspace.open(path, "any")
      if (opened.stat.isDirectory()) yield* searchDirectory(workspace, search, opened, 0)
      else yield* searchFile(search, opened)
      const lines = search.matches.length > 0
        ? search.matches
        : [`(no match in ${Excerpt.counted(search.files, "file")})`]
      return BuiltinTool.success(
        Excerpt.fit(
          max,
          (budget) => Excerpt.listing(lines, budget, NOTICE_BYTES, ({ rest }) => noticesOf(search, rest))
        )
      )
    }, Effect.scoped)
  })
