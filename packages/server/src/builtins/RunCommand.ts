/**
 * `run_command`: a shell command that starts in the workspace (BLT-1, BLT-6).
 *
 * Rule: when the call is over, however it ended, no process of the command is left; of its output the head and the tail
 * are kept.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as BuiltinTool from "./BuiltinTool.ts"
import * as Excerpt from "./Excerpt.ts"
import type { Ended, ProcessGroups } from "./ProcessGroup.ts"
import type { Workspace } from "./Workspace.ts"

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

/** Room for the lines that say how it ended and what was left out. */
const NOTICE_BYTES = 512

const Arguments = Schema.Struct({
  command: BuiltinTool.NonEmpty,
  timeout_ms: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_TIMEOUT_MS })))
})

/** The head and the tail of what was written, each at most `max` bytes. */
class HeadAndTail {
  readonly head: Array<Buffer> = []
  readonly tail: Array<Buffer> = []
  headBytes = 0
  tailBytes = 0
  total = 0
  readonly max: number

  constructor(max: number) {
    this.max = max
  }

  push(chunk: Buffer): void {
    this.total += chunk.length
    const room = this.max - this.headBytes
    if (room > 0) {
      const part = chunk.subarray(0, room)
      this.head.push(part)
      this.headBytes += part.length
      chunk = chunk.subarray(part.length)
    }
    if (chunk.length === 0) return
    this.tail.push(chunk)
    this.tailBytes += chunk.length
    while (this.tailBytes - this.tail[0]!.length >= this.max) this.tailBytes -= this.tail.shift()!.length
  }

  /** The output within `budget` bytes, with the bytes left out counted between head and tail. */
  text(budget: number): string {
    const head = Buffer.concat(this.head)
    const tail = Buffer.concat(this.tail)
    if (this.total === head.length + tail.length) {
      const whole = Buffer.concat([head, tail]).toString("utf8")
      if (Excerpt.size(whole) <= budget) return whole
    }
    // Bytes that are no UTF-8 become three each, so the texts are cut again.
    const half = Math.floor(budget / 2)
    const first = Excerpt.head(head.subarray(0, Excerpt.headEnd(head, half)).toString("utf8"), half)
    const rest = tail.length >= half || this.total > head.length + tail.length ? tail : Buffer.concat([head, tail])
    const last = Excerpt.tail(rest.subarray(Excerpt.tailStart(rest, half)).toString("utf8"), half)
    const left = Math.max(0, this.total - Excerpt.size(first) - Excerpt.size(last))
    return `${ended(first)}${Excerpt.MARK} ${Excerpt.counted(left, "byte")} left out ${Excerpt.MARK}\n${last}`
  }
}

const ended = (text: string): string => text === "" || text.endsWith("\n") ? text : `${text}\n`

const endOf = (how: Option.Option<Ended>, timeoutMs: number): string => {
  if (Option.isNone(how)) {
    return `ended after ${Excerpt.count(timeoutMs)} ms, its timeout; what it did until then stays done`
  }
  const { code, signal } = how.value
  return signal === null ? `exit code ${code}` : `ended by signal ${signal}`
}

/** Makes the tool for a workspace; `max` bounds the result's bytes. */
export const make = (
  workspace: Workspace["Service"],
  groups: ProcessGroups["Service"],
  max: number
): BuiltinTool.BuiltinTool =>
  BuiltinTool.make({
    name: "run_command",
    description:
      "Runs a command through /bin/sh in the workspace, without input, and answers with what it wrote to both "
      + "streams and its exit code. Processes that it leaves in the background are ended with it. "
      + "Of long output the head and the tail are kept.",
    properties: {
      command: { type: "string", minLength: 1, description: "The command line for the shell." },
      timeout_ms: {
        type: "integer",
        minimum: 1,
        maximum: MAX_TIMEOUT_MS,
        description: `Milliseconds it may take. Default ${DEFAULT_TIMEOUT_MS}.`
      }
    },
    required: ["command"],
    arguments: Arguments,
    inspection: false,
    asks: true,
    summary: ({ command }) => `run ${command}`,
    run: Effect.fnUntraced(function*({ command, timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS }) {
      const output = new HeadAndTail(max)
      const failed = (code: string) => BuiltinTool.failure(`The command could not be started (${code}).`)
      const running = yield* Effect.mapError(
        groups.start({ command, directory: workspace.root, output: (chunk) => output.push(chunk) }),
        failed
      )
      const how = yield* Effect.mapError(Effect.timeoutOption(running.ended, timeoutMs), failed)
      const left = yield* running.end
      yield* running.drained
      const background = left && Option.isSome(how) ? "\nprocesses left in the background were ended" : ""
      const text = Excerpt.fit(
        max,
        (budget) => `${ended(output.text(budget - NOTICE_BYTES))}(${endOf(how, timeoutMs)})${background}`
      )
      return Option.isSome(how) && how.value.code === 0 ? BuiltinTool.success(text) : BuiltinTool.failure(text)
    }, Effect.scoped)
  })
