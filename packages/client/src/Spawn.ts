/**
 * Edge: a server as a child process of this one.
 *
 * Rule: when the scope closes the child is gone, within a bound, whatever it does: its stdin ends first, then SIGTERM,
 * then SIGKILL. Its stderr is always read, so that it can never block on it.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { ServerSpawnFailed } from "./ClientError.ts"
import type { Receiver, Transport, TransportEnd, TransportSource } from "./Transport.ts"

/** What to start. */
export interface SpawnOptions {
  /** The default is `errand`, looked up on the path. */
  readonly command?: string
  /** The default is `serve --stdio`. */
  readonly args?: ReadonlyArray<string>
  /** Added to this process's environment; undefined removes a name. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Milliseconds for a graceful end after stdin has ended; the default is 3000, above the server's own bound (CLS-3). */
  readonly closeMs?: number
  /**
   * Gets what the server writes to stderr, as it comes; its last 8 KiB are kept for errors in any case. What the function throws
   * is ignored.
   */
  readonly log?: (text: string) => void
}

const tailBytes = 8192
const termMs = 1000
/** How long output is still awaited after the process ended, when something it left behind holds its pipes open. */
const drainMs = 250

interface Child {
  readonly transport: Transport
  readonly close: Effect.Effect<void>
}

/** Starts the command and speaks with it over its stdin and stdout. */
export const spawned = (options: SpawnOptions = {}): TransportSource =>
  Effect.acquireRelease(open(options), ({ close }) => close).pipe(Effect.map(({ transport }) => transport))

const open = (options: SpawnOptions): Effect.Effect<Child, ServerSpawnFailed, Scope.Scope> =>
  Effect.callback((resume) => {
    const command = options.command ?? "errand"
    const failed = (error: Error) =>
      resume(Effect.fail(
        new ServerSpawnFailed({ command, reason: error.message, code: null, signal: null, stderrTail: "" })
      ))
    let child: ChildProcess
    try {
      child = spawn(command, options.args ?? ["serve", "--stdio"], {
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...process.env, ...options.env },
        ...(options.cwd === undefined ? {} : { cwd: options.cwd })
      })
    } catch (error) {
      return failed(error instanceof Error ? error : new Error(String(error)))
    }
    child.once("error", failed)
    child.once("spawn", () => {
      child.off("error", failed)
      resume(Effect.succeed(attach(command, child, options)))
    })
  })

const attach = (command: string, child: ChildProcess, { closeMs = 3000, log }: SpawnOptions): Child => {
  const stdin = child.stdin!
  const stdout = child.stdout!
  const stderr = child.stderr!
  let tail = Buffer.alloc(0)
  let receiver: Receiver | undefined
  let ended: TransportEnd | undefined
  let told = false
  let draining: NodeJS.Timeout | undefined
  const waiters = new Set<() => void>()

  stdout.on("error", () => {})
  stderr.on("error", () => {})
  child.on("error", () => {})
  const utf8 = new TextDecoder()
  stderr.on("data", (chunk: Buffer) => {
    try {
      log?.(utf8.decode(chunk, { stream: true }))
    } catch {
      // thrown here it would end the program, for a line of a log
    }
    tail = Buffer.concat([tail, chunk])
    if (tail.length > tailBytes) tail = tail.subarray(tail.length - tailBytes)
  })

  const tell = () => {
    if (told || ended === undefined || receiver === undefined) return
    told = true
    clearTimeout(draining)
    receiver.ended({ ...ended, stderrTail: tail.toString("utf8") })
  }
  // Frames may still lie in the pipe when the process has ended: the end is told when the pipes have ended too.
  child.on("exit", (code, signal) => {
    ended = { code, signal, stderrTail: "" }
    for (const waiter of waiters) waiter()
    if (receiver !== undefined) draining = setTimeout(tell, drainMs)
  })
  child.on("close", tell)
  const exited = (ms: number): Effect.Effect<boolean> =>
    Effect.callback<boolean>((resume) => {
      if (ended !== undefined) return resume(Effect.succeed(true))
      const timer = setTimeout(() => done(false), ms)
      const waiter = () => done(true)
      const done = (value: boolean) => {
        clearTimeout(timer)
        waiters.delete(waiter)
        resume(Effect.succeed(value))
      }
      waiters.add(waiter)
    })
  const end = Effect.gen(function*() {
    stdin.end()
    if (yield* exited(closeMs)) return
    child.kill("SIGTERM")
    if (yield* exited(termMs)) return
    child.kill("SIGKILL")
    yield* exited(termMs)
  })
  // A server that closed its output or its input is of no use any more: it is ended, unless it just has.
  const forsake = () => void Effect.runFork(end)
  stdout.on("end", forsake)
  stdin.on("error", forsake)
  const close = Effect.ensuring(
    end,
    Effect.sync(() => {
      for (const pipe of [stdin, stdout, stderr]) pipe.destroy()
    })
  )

  const transport: Transport = {
    label: command,
    write: (text) => {
      if (ended === undefined && !stdin.destroyed) stdin.write(text)
    },
    start: (given) => {
      receiver = given
      stdout.on("data", given.received)
      if (ended !== undefined) draining = setTimeout(tell, drainMs)
    }
  }
  return { transport, close }
}
