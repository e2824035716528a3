/** The built binary as a process of its own, for the tests of its commands. `npm test` builds it first. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const binary = here("../../bin/errand.mjs")
export const toolsFile = here("fixtures/tools.ts")

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  readonly ended: Promise<Ended>
  /** Resolves when stdout or stderr holds the text, or the process ended. */
  readonly said: (text: string) => Promise<void>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Starts it without stdin and without what the environment of the tests says to it. */
export const start = (args: ReadonlyArray<string>, env: Environment = {}): Started => {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ERRAND_")))
  const child = spawn(process.execPath, [binary, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...own, NO_COLOR: undefined, ...env }
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text)
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })))
  const said = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if ((stdout + stderr).includes(text)) resolve()
      }
      child.stdout.on("data", look)
      child.stderr.on("data", look)
      child.on("close", () => resolve())
      look()
    })
  return { child, ended, said }
}

export const run = (args: ReadonlyArray<string>, env?: Environment): Promise<Ended> => start(args, env).ended

/** A directory that is gone when the tests are. */
export const temporary = (): Disposable & {
  readonly path: string
  readonly file: (name: string, text: string) => string
} => {
  const path = mkdtempSync(join(tmpdir(), "errand-cli-"))
  return {
    path,
    file: (name, text) => {
      const file = join(path, name)
      writeFileSync(file, text)
      return file
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true })
  }
}
