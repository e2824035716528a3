/**
 * The entries of an open directory, bounded and in order.
 *
 * Rule: however many entries a directory has, memory stays bounded; what is not kept is counted.
 * This is an edge: it reads directories.
 */
import * as Effect from "effect/Effect"
import type { Dirent } from "node:fs"
import * as fs from "node:fs/promises"
import { type Opened, system, systemFailure } from "./Workspace.ts"

/** Entries of one directory that are kept. */
const ENTRIES = 10_000

/** Entries in the order of their names' code units; `more` counts those that were not kept. */
export interface Listing {
  readonly entries: ReadonlyArray<Dirent>
  readonly more: number
}

/** Reads the entries of an open directory, `.` and `..` left out. */
export const read = (directory: Opened) =>
  Effect.acquireUseRelease(
    system(() => fs.opendir(directory.at("."), { bufferSize: 256 })),
    Effect.fnUntraced(function*(dir) {
      const entries: Array<Dirent> = []
      let more = 0
      for (;;) {
        const entry = yield* system(() => dir.read())
        if (entry === null) break
        if (entries.length < ENTRIES) entries.push(entry)
        else more++
      }
      entries.sort((a, b) => a.name < b.name ? -1 : 1)
      const listing: Listing = { entries, more }
      return listing
    }),
    (dir) => Effect.ignore(system(() => dir.close()))
  ).pipe(Effect.mapError((code) => systemFailure(directory.shown, code)))
