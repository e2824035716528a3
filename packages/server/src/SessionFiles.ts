/**
 * Files and folders that only their owner can read, on stable storage (BLT-6, SES-1).
 *
 * Rule: a file is never opened to learn whether it is there: closing it would drop this process's locks on it.
 *
 * An edge: synchronous, and throws what the system says.
 */
import * as fs from "node:fs"
import * as Path from "node:path"

/** Makes a folder that only its owner can enter, durably; a folder that exists is closed to others (BLT-6). */
export const makeFolder = (path: string): void => {
  const stat = fs.statSync(path, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) make(Path.resolve(path))
  else if ((stat.mode & 0o777) !== 0o700) fs.chmodSync(path, 0o700)
}

/**
 * Makes a folder and those above it that are missing, one by one: `mkdirSync` with `recursive` tries for ever where a folder
 * that exists says that it does not, as those below `/proc` do.
 */
const make = (folder: string): void => {
  const parent = Path.dirname(folder)
  if (!fs.existsSync(parent)) make(parent)
  try {
    fs.mkdirSync(folder, 0o700)
  } catch (error) {
    // Another process may have been faster.
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
  synchronise(parent)
}

/** Reads what may not be there. */
export const unlessMissing = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return otherwise
    throw error
  }
}

/** Makes an empty file; one that exists is not even opened, for closing it would drop this process's locks on it. */
export const makeFile = (path: string): void => {
  if (!fs.existsSync(path)) fs.closeSync(fs.openSync(path, "a", 0o600))
}

/** Puts a file, or the names in a folder, on stable storage. */
export const synchronise = (path: string): void => {
  const descriptor = fs.openSync(path, "r")
  try {
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}
