/**
 * Hooks of the config file: commands that are asked before and after calls (HKS-2, BLT-6).
 *
 * Rule: a hook that does not answer as it should, or in time, is a no; when it is over no process of it is left.
 */
import { HookRejected, patternMatches, type ToolHooksService } from "@errand/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ProcessGroups } from "../builtins/ProcessGroup.ts"
import type { HookCommand } from "../Config.ts"
import * as HookAnswer from "./HookAnswer.ts"

const DEFAULT_TIMEOUT_MS = 10_000

/** The most that a hook may write: a result with every character escaped fits. */
const MOST_BYTES = 262_144

/** Runs one hook; fails with what went wrong. */
const run = Effect.fnUntraced(
  function*(groups: ProcessGroups["Service"], directory: string, hook: HookCommand, question: string) {
    const chunks: Array<Buffer> = []
    const tooMuch = Deferred.makeUnsafe<never, string>()
    let bytes = 0
    const running = yield* groups.startProgram({
      program: hook.command as readonly [string, ...Array<string>],
      input: question,
      directory,
      output: (chunk) => {
        bytes += chunk.length
        if (bytes <= MOST_BYTES) chunks.push(chunk)
        else Deferred.doneUnsafe(tooMuch, Effect.fail(`it wrote more than ${MOST_BYTES} bytes`))
      }
    })
    const timeoutMs = hook.timeout_ms ?? DEFAULT_TIMEOUT_MS
    const ended = Effect.andThen(running.ended, (how) => Effect.as(running.drained, how))
    const how = yield* Effect.timeoutOption(Effect.raceFirst(ended, Deferred.await(tooMuch)), timeoutMs)
    if (Option.isNone(how)) return yield* Effect.fail(`it did not answer within ${timeoutMs} ms`)
    const { code, signal } = how.value
    if (code !== 0) return yield* Effect.fail(signal === null ? `it ended with code ${code}` : `it ended by ${signal}`)
    return yield* Effect.fromResult(HookAnswer.read(hook.event, Buffer.concat(chunks)))
  },
  Effect.scoped
)

/** The hooks of a config file, asked in its order; null when there are none. */
export const make = (
  hooks: ReadonlyArray<HookCommand>,
  groups: ProcessGroups["Service"],
  directory: string
): ToolHooksService | null => {
  if (hooks.length === 0) return null
  const of = (event: HookAnswer.HookEvent, tool: string) =>
    hooks.filter((hook) => hook.event === event && patternMatches(hook.tool, tool))
  const ask = (hook: HookCommand, question: string) =>
    run(groups, directory, hook, question).pipe(
      Effect.tapError((fault) => Effect.logWarning(`the hook ${hook.command[0]} failed: ${fault}`)),
      Effect.mapError((fault) => `the hook failed: ${fault}`)
    )
  return {
    before: (call) =>
      Effect.gen(function*() {
        let current = call
        for (const hook of of("before", call.tool)) {
          const answer = yield* ask(hook, HookAnswer.question("before", current))
          if (!answer.allow) return { allow: false, reason: answer.reason } as const
          if (answer.arguments !== undefined) current = { ...current, arguments: answer.arguments }
        }
        return current === call ? { allow: true } as const : { allow: true, arguments: current.arguments } as const
      }).pipe(Effect.catch((reason) => Effect.succeed({ allow: false, reason } as const))),
    after: (call, result) =>
      Effect.gen(function*() {
        let current = result
        for (const hook of of("after", call.tool)) {
          const answer = yield* ask(hook, HookAnswer.question("after", call, current))
          if (!answer.allow) return yield* Effect.fail(answer.reason)
          if (answer.result !== undefined) current = { status: current.status, ...answer.result }
        }
        return current === result ? undefined : current
      }).pipe(Effect.mapError((reason) => new HookRejected({ reason })))
  }
}
