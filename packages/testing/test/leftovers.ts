/**
 * A folder for all temporary files of a test run, which must be empty at its end: everything that a test starts it also
 * ends.
 *
 * Rule: what is left fails the run by name, and is taken away all the same.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Node keeps compiled modules there for whoever comes next. */
const COMPILE_CACHE = "node-compile-cache"

/** Called by Vitest before the first test; what it returns, after the last. */
export const setup = (): () => void => {
  const folder = mkdtempSync(join(tmpdir(), "errand-tests-"))
  // as open as the folder around it: some tests run a program as somebody else
  chmodSync(folder, 0o755)
  process.env["TMPDIR"] = folder
  return () => {
    const left = readdirSync(folder).filter((name) => name !== COMPILE_CACHE)
    rmSync(folder, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`tests left behind ${left.join(", ")} in the folder of temporary files`)
  }
}
