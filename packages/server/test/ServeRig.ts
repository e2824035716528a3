/** The built binary as a client has it: a child process with pipes. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const binary = fileURLToPath(new URL("../bin/errand.mjs", import.meta.url))

/** A frame as plain data; a test looks at what it expects to be there. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyFrame = any

/** A folder with a script and a home of its own; removed at the end. */
export class Place {
  readonly path = mkdtempSync(join(tmpdir(), "errand-serve-"))
  readonly home = join(this.path, "home")

  script(root: ReadonlyArray<object>): string {
    const file = join(this.path, "script.json")
    writeFileSync(file, JSON.stringify({ format: "errand.script", version: 1, root }))
    return file
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** A served process; `line` waits for the next frame that matches. */
export class Served {
  readonly child: ChildProcess
  readonly frames: Array<AnyFrame> = []
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  private rest = ""
  private readonly taken = new Set<object>()
  private wake: () => void = () => {}

  constructor(
    place: Place,
    options: {
      readonly root?: ReadonlyArray<object>
      readonly args?: ReadonlyArray<string>
      /** Flags of Node itself. */
      readonly node?: ReadonlyArray<string>
      /** Where sessions are, if not in the place's own home. */
      readonly home?: string
      /** As whom it runs, if not as ourselves. */
      readonly uid?: number
      /** What a shell does before it becomes the server. */
      readonly shell?: string
    } = {}
  ) {
    const script = place.script(options.root ?? [{ text: "done", times: 1000 }])
    const command = [process.execPath, ...options.node ?? [], binary, "serve", "--stdio", ...options.args ?? []]
    const [file, ...args] = options.shell === undefined
      ? command
      : ["sh", "-c", `${options.shell}; exec "$@"`, "sh", ...command]
    this.child = spawn(file!, args, {
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      env: { PATH: process.env["PATH"], ERRAND_HOME: options.home ?? place.home, ERRAND_MODEL: `script:${script}` }
    })
    this.child.stdin!.on("error", () => {})
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = `${this.rest}${text}`.split("\n")
      this.rest = lines.pop()!
      for (const line of lines) this.frames.push(JSON.parse(line))
      this.wake()
    })
    this.exited = new Promise((done) => this.child.on("close", (code, signal) => done({ code, signal })))
  }

  send(frame: object): void {
    this.child.stdin!.write(`${JSON.stringify(frame)}\n`)
  }

  /** Waits for the first frame that matches and was not given before. */
  async next(matches: (frame: AnyFrame) => boolean): Promise<AnyFrame> {
    while (true) {
      const frame = this.frames.find((one) => !this.taken.has(one) && matches(one))
      if (frame !== undefined) {
        this.taken.add(frame)
        return frame
      }
      await new Promise<void>((done) => {
        this.wake = done
      })
    }
  }

  async ask(id: string, method: string, params: object = {}): Promise<AnyFrame> {
    this.send({ id, method, params })
    return this.next((frame) => frame.id === id)
  }

  /** Initializes and creates a session; gives its id. */
  async session(tools?: ReadonlyArray<object>): Promise<string> {
    await this.ask("init", "initialize", {
      required_capabilities: tools === undefined ? [] : ["client.tools"],
      ...(tools === undefined ? {} : { client_tools: tools })
    })
    return (await this.ask("create", "session.create")).result.session_id
  }

  /** Resident memory in MiB. */
  memory(): number {
    const [, pages] = readFileSync(`/proc/${this.child.pid}/statm`, "utf8").split(" ")
    return Number(pages) * 4096 / 2 ** 20
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL")
  }
}

/** Whether a process lives; zombies do not count. */
export const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}
