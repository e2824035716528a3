/**
 * `search_files`: where a literal text occurs (BLT-1).
 *
 * Rule: the pattern is no regular expression, so time is linear in the bytes read, and files, bytes and matches
 * are bounded. No link is followed.
 */
import type { ToolOutcome } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as BuiltinTool from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Listing from "./Listing.ts"
import * as Literal from "./Literal.ts"
import { isBinary } from "./ReadFile.ts"
import { type EntryKind, type Opened, system, systemFailure, type Workspace } from "./Workspace.ts"

/** Bytes of the largest file that is searched. */
const FILE_BYTES = 4 * 1024 * 1024

/** Files that one call opens. */
const FILES = 20_000

/** Bytes that one call reads. */
const TOTAL_BYTES = 512 * 1024 * 1024

/** Directories below the one that is searched; each holds a descriptor open. */
const DEPTH = 64

/** Files that are read at the same time. */
const BATCH = 8

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

/** What was found so far, and what was left out; files of one batch count at the same time. */
interface Search {
  readonly find: Literal.Find
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

/** The matching lines of one file's content, no more than exceed `max` bytes. */
const matchLines = (shown: string, content: Buffer, find: Literal.Find, max: number): ReadonlyArray<string> => {
  const matches: Array<string> = []
  let bytes = 0
  let line = 1
  let start = 0
  for (let match = find(content, 0); match !== -1 && bytes <= max;) {
    for (let feed = content.indexOf(LF, start); feed !== -1 && feed < match; feed = content.indexOf(LF, start)) {
      line++
      start = feed + 1
    }
    const feed = content.indexOf(LF, match)
    const end = feed === -1 ? content.length : feed
    const found = `${Excerpt.oneLine(shown)}:${line}: ${around(content, start, match, end)}\n`
    matches.push(found)
    bytes += Excerpt.size(found)
    match = find(content, end + 1)
  }
  return matches
}

/** Reads a file as long as it was when it was opened, and one byte more. */
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
    return []
  }
  const content = yield* Effect.mapError(contentOf(file), (code) => systemFailure(file.shown, code))
  search.read += content.length
  return isBinary(content) ? [] : matchLines(file.shown, content, search.find, search.max)
})

/** Adds what was found in some files, in their order, and ends the search at its bounds. */
const add = (search: Search, found: ReadonlyArray<ReadonlyArray<string>>): void => {
  for (const match of found.flat()) {
    search.matches.push(match)
    search.bytes += Excerpt.size(match)
    if (search.bytes > search.max) {
      search.stopped = "matches"
      return
    }
  }
  if (search.files >= FILES || search.read >= TOTAL_BYTES) search.stopped = "files"
}

const searchDirectory: (
  workspace: Workspace["Service"],
  search: Search,
  directory: Opened,
  depth: number
) => Effect.Effect<void, ToolOutcome> = Effect.fnUntraced(function*(workspace, search, directory, depth) {
  const within = <A>(name: string, kind: EntryKind, use: (opened: Opened) => Effect.Effect<A, ToolOutcome>, none: A) =>
    workspace.openEntry(directory, name, { kind }).pipe(
      Effect.flatMap(use),
      Effect.scoped,
      Effect.catch(() =>
        Effect.sync(() => {
          search.unreadable++
          return none
        })
      )
    )
  const { entries, more } = yield* Listing.read(directory)
  search.unreadable += more
  for (let at = 0; at < entries.length && search.stopped === undefined; at++) {
    const { name } = entries[at]!
    if (entries[at]!.isDirectory()) {
      if (SKIPPED.has(name)) continue
      if (depth === DEPTH) search.deep++
      else {yield* within(name, "directory", (opened) =>
          searchDirectory(workspace, search, opened, depth + 1), undefined)}
    } else if (entries[at]!.isFile()) {
      const batch = [name]
      while (batch.length < BATCH && entries[at + 1]?.isFile() === true) batch.push(entries[++at]!.name)
      const found = yield* Effect.forEach(
        batch,
        (name) => within<ReadonlyArray<string>>(name, "file", (opened) => searchFile(search, opened), []),
        { concurrency: BATCH }
      )
      add(search, found)
    }
  }
})

const noticesOf = (search: Search, rest: number): Array<string> => {
  const { deep, files, large, stopped, unreadable } = search
  const notices: Array<string> = []
  if (stopped === "matches") notices.push("more matches; search a narrower path or a longer text")
  else if (rest > 0) notices.push(Excerpt.counted(rest, "more matching line"))
  if (stopped === "files") {
    notices.push(`stopped after ${Excerpt.counted(files, "file")}; name a path to search the rest`)
  }
  const unsearched = [
    ...(large > 0 ? [`${Excerpt.counted(large, "file")} larger than ${Excerpt.count(FILE_BYTES)} bytes`] : []),
    ...(unreadable > 0 ? [`${Excerpt.counted(unreadable, "entry", "entries")} out of reach`] : []),
    ...(deep > 0 ? [`${Excerpt.counted(deep, "directory", "directories")} nested too deep`] : [])
  ]
  if (unsearched.length > 0) notices.push(`not searched: ${unsearched.join(", ")}`)
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
        find: Literal.find(Buffer.from(pattern)),
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
      else add(search, [yield* searchFile(search, opened)])
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
