/**
 * A shell command with all the processes it starts (BLT-1, CLS-3).
 *
 * Rule: a group that was started is ended, by its scope, by its own end, or by the exit of this process; nothing waits
 * for pipes that processes outside the group hold open. A process that makes itself a session of its own (`setsid`)
 * leaves the group and is out of reach. This is an edge: it starts processes and ends them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { ChildProcessByStdio } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import type { Readable, Writable } from "node:stream"
import * as ChildEnvironment from "./ChildEnvironment.ts"

/** Loaded when the first process is started: most sessions start none, and a server that starts waits for it. */
const spawn = () => process.getBuiltinModule("node:child_process").spawn

/** How the shell ended: its code, or the signal that ended it. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running command. */
export interface Running {
  /** Waits for the shell, not for what it started; fails with the reason when it never ran. */
  readonly ended: Effect.Effect<Ended, string>
  /** Ends every process of the group: SIGTERM, and SIGKILL after a grace. Tells whether there were any. */
  readonly end: Effect.Effect<boolean>
  /** Waits until all output was handed on, not longer than a short while. */
  readonly drained: Effect.Effect<void>
}

/** A running program whose standard input stays open. */
export interface Peer extends Running {
  /** Writes to its standard input; false when that is closed. */
  readonly write: (text: string) => boolean
}

/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 300

/** Milliseconds after SIGKILL in which the processes should be gone. */
const KILLED_MS = 300

/** Milliseconds between two looks whether a group is gone. */
const LOOK_MS = 10

/** Milliseconds that output may still come after the group has ended. */
const DRAIN_MS = 500

/** Starts commands and ends them. */
export class ProcessGroups extends Context.Service<ProcessGroups, {
  /** Starts `/bin/sh -c command`; `output` gets what it writes to both streams, in the order it came. */
  readonly start: (options: {
    readonly command: string
    readonly directory: string
    readonly output: (chunk: Buffer) => void
  }) => Effect.Effect<Running, string, Scope.Scope>
  /** Starts a program with its arguments; it reads `input` to the end, and what it writes to stderr goes to ours. */
  readonly startProgram: (options: {
    readonly program: readonly [string, ...Array<string>]
    readonly input: string
    readonly directory: string
    readonly output: (chunk: Buffer) => void
  }) => Effect.Effect<Running, string, Scope.Scope>
  /** Starts a program that is talked to, with `env` beside what children inherit; `log` gets what it writes to stderr. */
  readonly startPeer: (options: {
    readonly program: readonly [string, ...Array<string>]
    readonly env: Readonly<Record<string, string>>
    readonly directory: string
    readonly output: (chunk: Buffer) => void
    readonly log: (chunk: Buffer) => void
  }) => Effect.Effect<Peer, string, Scope.Scope>
}>()("@errand/server/builtins/ProcessGroups") {
  /** Groups that are all ended when the layer's scope closes, and when this process exits. */
  static readonly layer = Layer.effect(
    ProcessGroups,
    Effect.gen(function*() {
      const groups = new Groups()
      // For an exit that no longer waits for scopes: children must not survive it.
      const close = () => groups.close()
      yield* Effect.acquireRelease(
        Effect.sync(() => process.once("exit", close)),
        () =>
          Effect.sync(() => {
            process.off("exit", close)
            close()
          })
      )
      const running = (
        directory: string,
        output: (chunk: Buffer) => void,
        start: (options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly detached: true }) => Child
      ) =>
        Effect.map(
          Effect.acquireRelease(
            Effect.try({
              try: () =>
                new Group(
                  start({ cwd: directory, env: ChildEnvironment.inherited(process.env), detached: true }),
                  groups,
                  output
                ),
              catch: (error) => error instanceof Error && "code" in error ? String(error.code) : "EIO"
            }),
            (group) => Effect.andThen(group.end, Effect.sync(() => group.destroy()))
          ),
          (group): Running => group
        )
      return ProcessGroups.of({
        // The outer shell becomes the inner one, whose two streams are one pipe, so that their order is kept.
        start: ({ command, directory, output }) =>
          running(
            directory,
            output,
            (options) =>
              spawn()("/bin/sh", ["-c", `exec /bin/sh -c "$1" 2>&1`, "sh", command], {
                ...options,
                stdio: ["ignore", "pipe", "ignore"]
              })
          ),
        startProgram: ({ directory, input, output, program: [file, ...args] }) =>
          running(directory, output, (options) => {
            const child = spawn()(file, args, { ...options, stdio: ["pipe", "pipe", "inherit"] })
            // A program need not read what it is given.
            child.stdin.on("error", () => {})
            child.stdin.end(input)
            return child
          }),
        startPeer: ({ directory, env, log, output, program: [file, ...args] }) => {
          let stdin: Writable | undefined
          const start = running(directory, output, (options) => {
            const child = spawn()(file, args, { ...options, env: { ...options.env, ...env }, stdio: "pipe" })
            child.stdin.on("error", () => {})
            child.stderr.on("data", log)
            child.stderr.on("error", () => {})
            stdin = child.stdin
            return child
          })
          return Effect.map(start, ({ drained, end, ended }): Peer => ({
            drained,
            end,
            ended,
            write: (text) => {
              if (stdin?.writable !== true) return false
              stdin.write(text)
              return true
            }
          }))
        }
      })
    })
  )
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable | null>

/** The groups that may still have processes. */
class Groups {
  readonly live = new Set<number>()
  closing = false

  close(): void {
    this.closing = true
    for (const id of this.live) signal(id, "SIGKILL")
  }
}

/** Sends a signal to a group; false when it has no process left. */
const signal = (id: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-id, name)
    return true
  } catch {
    return false
  }
}

/** Whether a group has a process that still runs; one that ended and waits to be collected does not count. */
const runs = (id: number): boolean => {
  if (!signal(id, 0)) return false
  if (process.platform !== "linux") return true
  try {
    return readdirSync("/proc").some((name) => /^\d+$/.test(name) && isRunningMember(name, id))
  } catch {
    return true
  }
}

const isRunningMember = (pid: string, group: number): boolean => {
  try {
    const [state, , itsGroup] = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "").split(" ", 3)
    return Number(itsGroup) === group && state !== "Z" && state !== "X"
  } catch {
    return false
  }
}

class Group implements Running {
  readonly child: Child
  readonly groups: Groups
  outcome: Effect.Effect<Ended, string> | undefined
  closed = false

  constructor(
    child: Child,
    groups: Groups,
    output: (chunk: Buffer) => void
  ) {
    this.child = child
    this.groups = groups
    if (child.pid !== undefined) groups.live.add(child.pid)
    child.once("error", (error: NodeJS.ErrnoException) => {
      this.outcome ??= Effect.fail(error.code ?? "EIO")
    })
    child.once("exit", (code, name) => {
      this.outcome ??= Effect.succeed({ code, signal: name })
    })
    child.once("close", () => {
      this.closed = true
    })
    child.stdout.on("data", output)
    child.stdout.on("error", () => {})
  }

  readonly ended: Effect.Effect<Ended, string> = Effect.callback((resume) => {
    if (this.outcome !== undefined) return resume(this.outcome)
    const listener = () => resume(this.outcome!)
    this.child.once("exit", listener)
    this.child.once("error", listener)
    return Effect.sync(() => {
      this.child.off("exit", listener)
      this.child.off("error", listener)
    })
  })

  // The system's own time, not the Clock: processes live in it, and a test's clock must not keep them alive.
  readonly end: Effect.Effect<boolean> = Effect.uninterruptible(Effect.callback((resume) => {
    const { child: { pid }, groups } = this
    if (pid === undefined || !groups.live.has(pid)) return resume(Effect.succeed(false))
    if (!runs(pid)) {
      groups.live.delete(pid)
      return resume(Effect.succeed(false))
    }
    const started = performance.now()
    let killed = false
    const kill = () => {
      killed = true
      signal(pid, "SIGKILL")
    }
    const look = () => {
      const waited = performance.now() - started
      if (!runs(pid) || waited >= GRACE_MS + KILLED_MS) {
        groups.live.delete(pid)
        return resume(Effect.succeed(true))
      }
      if (!killed && (waited >= GRACE_MS || groups.closing)) kill()
      setTimeout(look, LOOK_MS)
    }
    if (groups.closing) kill()
    else signal(pid, "SIGTERM")
    look()
  }))

  readonly drained: Effect.Effect<void> = Effect.callback((resume) => {
    if (this.closed) return resume(Effect.void)
    const listener = () => resume(Effect.void)
    const timer = setTimeout(listener, DRAIN_MS)
    this.child.once("close", listener)
    return Effect.sync(() => {
      clearTimeout(timer)
      this.child.off("close", listener)
    })
  })

  destroy(): void {
    for (const stream of this.child.stdio) stream?.destroy()
    this.child.unref()
  }
}
