/**
 * The folder that file tools may touch (BLT-1, BLT-6).
 *
 * Rule: a file is verified to lie inside the workspace after it was opened, by its descriptor, before a byte of it is
 * read or written; what a path meant before it was opened proves nothing.
 *
 * Paths come from the model and are relative to the workspace; `..` is resolved in the text, symbolic links may lead to
 * other places inside. Where `/proc/self/fd` exists an opened directory is pinned: entries are reached through its
 * descriptor, so swapping a component for a link changes nothing. On macOS entries are reached by their real path, which
 * the system refuses to follow through any link, and a descriptor is matched against what lies at that path; there a
 * process that swaps paths at the right moment can have an empty directory made outside, but no content written. Where
 * neither holds there is no workspace: a match against a path that is swapped meanwhile would prove nothing.
 *
 * This is an edge: it opens files.
 */
import { Redaction, type ToolOutcome } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { access, constants, realpath, stat, type Stats } from "node:fs"
import * as fs from "node:fs/promises"
import * as Path from "node:path"
import { failure, refused } from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"

/** The workspace cannot be used: it is missing or no directory. */
export class WorkspaceUnusable extends Schema.TaggedError<WorkspaceUnusable>()("WorkspaceUnusable", {
  workspace: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `workspace ${this.workspace} cannot be used: ${this.reason}`
  }
}

/** What an entry must be to be opened; everything else (devices, pipes, sockets) is refused. */
export type EntryKind = "file" | "directory" | "any"

/** An open file or directory that was verified to lie inside. */
export interface Opened {
  readonly handle: fs.FileHandle
  readonly stat: Stats
  /** The path as the model knows it: relative to the workspace, `.` for the workspace itself. */
  readonly shown: string
  /** The path of an entry of this directory, for calls of the system only. */
  readonly at: (name: string) => string
}

/** Where a path leads: the deepest part that exists, as a real path, and the names below it that do not. */
export interface Place {
  readonly real: string
  readonly missing: ReadonlyArray<string>
  readonly shown: string
}

/** What may be changed about a workspace. */
export interface Options {
  readonly workspace: string
  /** The home directory of Errand, refused even when it lies inside (BLT-6). */
  readonly home: string
  /** Where open descriptors appear as links; `/proc/self/fd` unless a test says otherwise. */
  readonly descriptors?: string
  /** Whether the system opens a path without following any link of it, as macOS does. */
  readonly linkFree?: boolean
}

/** Opens what lies inside the workspace and nothing else; a failure is the outcome that the model reads. */
export class Workspace extends Context.Service<Workspace, {
  /** The real path of the workspace. */
  readonly root: string
  /** Resolves a path of the model without opening anything. */
  readonly resolve: (path: string) => Effect.Effect<Place, ToolOutcome>
  /** Opens an existing file or directory for reading. */
  readonly open: (path: string, kind?: EntryKind) => Effect.Effect<Opened, ToolOutcome, Scope.Scope>
  /** Opens the deepest existing directory of a place. */
  readonly openPlace: (place: Place, kind?: EntryKind) => Effect.Effect<Opened, ToolOutcome, Scope.Scope>
  /** Opens an entry of an open directory; a symbolic link is refused. */
  readonly openEntry: (
    directory: Opened,
    name: string,
    options?: { readonly kind?: EntryKind; readonly flags?: number; readonly mode?: number }
  ) => Effect.Effect<Opened, ToolOutcome, Scope.Scope>
}>()("@errand/server/builtins/Workspace") {
  /** The workspace in a directory, which must exist. */
  static readonly layer = (options: Options): Layer.Layer<Workspace, WorkspaceUnusable> =>
    Layer.effect(Workspace, make(options))
}

/** Whether this system opens a path without following any link of it. */
const LINK_FREE = process.platform === "darwin"

/** Darwin's O_NOFOLLOW_ANY: no component may be a symbolic link, not only the last. */
const NOFOLLOW = LINK_FREE ? 0x2000_0000 : constants.O_NOFOLLOW

/** A pipe without a writer must not block the open, a terminal must not become ours. */
const CAREFUL = NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/** The code of a failed system call, `EIO` when there is none. */
const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "EIO"

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file or directory"],
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["ENOTDIR", "a part of the path is not a directory"],
  ["EISDIR", "it is a directory"],
  ["ENAMETOOLONG", "the path is too long"],
  ["ENOSPC", "no space is left"],
  ["EROFS", "the file system is read-only"]
])

/** The outcome of a failed system call: the model's own path and a reason, never a path of the host. */
export const systemFailure = (path: string, code: string): ToolOutcome =>
  failure(`${shownName(path)}: ${REASONS.get(code) ?? `the system refused it (${code})`}`)

/**
 * Runs one call of the system; its error is the code, for `systemFailure`.
 *
 * It cannot be interrupted: a call in flight would otherwise outlive its descriptor and hit whatever reuses the number.
 */
export const system = <A>(call: () => Promise<A>): Effect.Effect<A, string> =>
  Effect.uninterruptible(Effect.tryPromise({ try: call, catch: codeOf }))

/** A call of the system at the start of a server, which does without the modules of `fs/promises`. */
const atStart = <A>(
  call: (done: (error: NodeJS.ErrnoException | null, value?: A) => void) => void
): Effect.Effect<A, string> =>
  system(() =>
    new Promise<A>((resolve, reject) => call((error, value) => error === null ? resolve(value as A) : reject(error)))
  )

const shownName = (path: string): string => Excerpt.oneLine(Excerpt.clip(path, 300))

const pathRefused = (path: string, why: string): ToolOutcome =>
  refused("path_refused", `${shownName(Redaction.protectText(path))} ${why}. The call was not executed.`)

const OUTSIDE = "does not lie inside the workspace"

const isWithin = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)

/** The names of a relative path with `.` and `..` resolved; null when it leads out. */
const namesOf = (path: string): ReadonlyArray<string> | null => {
  if (path.includes("\0") || Path.isAbsolute(path)) return null
  const names = Path.normalize(path).split("/").filter((name) => name !== "" && name !== ".")
  return names[0] === ".." ? null : names
}

/** The real path that a path has, or will have once its missing part is made. */
const canonical = Effect.fnUntraced(function*(path: string) {
  const names = Path.resolve(path).split("/").filter((name) => name !== "")
  for (let depth = names.length; depth > 0; depth--) {
    const real = yield* Effect.option(
      atStart<string>((done) => realpath.native(`/${names.slice(0, depth).join("/")}`, done))
    )
    if (real._tag === "Some") return Path.join(real.value, ...names.slice(depth))
  }
  return `/${names.join("/")}`
})

const make = Effect.fnUntraced(function*(options: Options) {
  const unusable = (code: string) =>
    new WorkspaceUnusable({ workspace: options.workspace, reason: REASONS.get(code) ?? code })
  const root = yield* Effect.mapError(atStart<string>((done) => realpath.native(options.workspace, done)), unusable)
  const rootStat = yield* Effect.mapError(atStart<Stats>((done) => stat(root, done)), unusable)
  if (!rootStat.isDirectory()) return yield* unusable("ENOTDIR")
  const home = yield* canonical(options.home)
  const listing = options.descriptors ?? "/proc/self/fd"
  const descriptors = (yield* Effect.isSuccess(atStart<void>((done) => access(listing, done)))) ? listing : null
  if (descriptors === null && !(options.linkFree ?? LINK_FREE)) {
    return yield* unusable(`${listing} is missing, so what is opened could not be verified`)
  }

  const admits = (real: string): boolean => isWithin(root, real) && !isWithin(home, real)
  const showing = (real: string): string => Path.relative(root, real) || "."

  const resolve = Effect.fnUntraced(function*(path: string) {
    const names = namesOf(path)
    if (names === null) return yield* Effect.fail(pathRefused(path, OUTSIDE))
    for (let depth = names.length; depth >= 0; depth--) {
      const at = Path.join(root, ...names.slice(0, depth))
      const real = yield* Effect.result(system(() => fs.realpath(at)))
      if (real._tag === "Success") {
        if (!admits(real.success)) return yield* Effect.fail(pathRefused(path, OUTSIDE))
        const missing = names.slice(depth)
        const place: Place = { real: real.success, missing, shown: showing(Path.join(real.success, ...missing)) }
        if (isWithin(home, Path.join(real.success, ...missing))) return yield* Effect.fail(pathRefused(path, OUTSIDE))
        return place
      }
      if (real.failure === "ELOOP") return yield* Effect.fail(pathRefused(path, "is a symbolic link in a circle"))
      if (real.failure !== "ENOENT" && real.failure !== "ENOTDIR") {
        return yield* Effect.fail(systemFailure(path, real.failure))
      }
      // A link whose target is missing: telling more would tell what exists outside.
      if (real.failure === "ENOENT" && (yield* Effect.isSuccess(system(() => fs.lstat(at))))) {
        return yield* Effect.fail(pathRefused(path, OUTSIDE))
      }
    }
    return yield* Effect.fail(systemFailure(path, "ENOENT"))
  })

  /** Where an open descriptor lies now. */
  const locate = (handle: fs.FileHandle, stat: Stats, real: string): Promise<string> =>
    descriptors !== null
      ? fs.readlink(`${descriptors}/${handle.fd}`)
      : fs.realpath(real).then((now) =>
        fs.lstat(now).then((there) => there.dev === stat.dev && there.ino === stat.ino ? now : "")
      )

  /** Opens `target`, which is expected at the real path `real`, and verifies what was opened. */
  const openVerified = Effect.fnUntraced(function*(
    target: string,
    real: string,
    kind: EntryKind,
    flags: number,
    mode?: number
  ) {
    const shown = showing(real)
    const failed = (code: string): ToolOutcome =>
      code === "ELOOP" || code === "ENXIO"
        ? pathRefused(shown, "is a symbolic link, a pipe, a socket or a device")
        : systemFailure(shown, code)
    const handle = yield* Effect.acquireRelease(
      Effect.mapError(system(() => fs.open(target, flags | CAREFUL, mode)), failed),
      (handle) => Effect.ignore(system(() => handle.close()))
    )
    const stat = yield* Effect.mapError(system(() => handle.stat()), failed)
    const lies = yield* Effect.mapError(system(() => locate(handle, stat, real)), failed)
    if (!admits(lies)) return yield* Effect.fail(pathRefused(shown, OUTSIDE))
    const refusal = wrongKind(shown, stat, kind)
    if (refusal !== undefined) return yield* Effect.fail(refusal)
    const pinned = descriptors === null ? real : `${descriptors}/${handle.fd}`
    const opened: Opened = { handle, stat, shown, at: (name) => `${pinned}/${name}` }
    return opened
  })

  const openPlace = Effect.fnUntraced(function*(place: Place, kind: EntryKind = "file") {
    // A device can act on being opened alone, so its kind is looked at first, too.
    const before = yield* Effect.mapError(
      system(() => fs.lstat(place.real)),
      (code) => systemFailure(place.shown, code)
    )
    const refusal = wrongKind(place.shown, before, kind)
    if (refusal !== undefined) return yield* Effect.fail(refusal)
    return yield* openVerified(place.real, place.real, kind, constants.O_RDONLY)
  })

  const open = Effect.fnUntraced(function*(path: string, kind: EntryKind = "file") {
    const place = yield* resolve(path)
    if (place.missing.length > 0) return yield* Effect.fail(systemFailure(path, "ENOENT"))
    return yield* openPlace(place, kind)
  })

  return Workspace.of({
    root,
    resolve,
    open,
    openPlace,
    openEntry: (directory, name, { flags = constants.O_RDONLY, kind = "file", mode } = {}) =>
      openVerified(directory.at(name), Path.join(root, directory.shown, name), kind, flags, mode)
  })
})

const wrongKind = (shown: string, stat: Stats, kind: EntryKind): ToolOutcome | undefined => {
  if (stat.isFile() ? kind !== "directory" : stat.isDirectory() && kind !== "file") return undefined
  if (stat.isDirectory()) return failure(`${shownName(shown)}: it is a directory`)
  if (stat.isFile()) return failure(`${shownName(shown)}: it is not a directory`)
  return pathRefused(shown, "is a symbolic link, a pipe, a socket or a device")
}
