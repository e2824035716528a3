/**
 * What a hook command is told and what it answers, as JSON (HKS-2).
 *
 * Rule: arguments and structured results go through without loss, and an answer that is not exactly what the contract
 * says is none.
 */
import { Json, type JsonText } from "@errand/protocol"
import type { HookedCall, HookedResult } from "@errand/runtime"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** When a hook is asked. */
export type HookEvent = "before" | "after"

/** What is to stand instead of a result; without a status it keeps that of the original. */
export type Replacement = Omit<HookedResult, "status"> & { readonly status?: HookedResult["status"] }

/** A hook's answer to either event. */
export interface HookAnswer {
  readonly allow: boolean
  readonly reason: string
  readonly arguments?: JsonText
  readonly result?: Replacement
}

const MOST_DEPTH = 256

const members = (fields: Readonly<Record<string, JsonText | undefined>>): string =>
  Object.entries(fields).flatMap(([key, text]) => text === undefined ? [] : [`"${key}":${text}`]).join(",")

/** The one line that a hook reads. */
export const question = (event: HookEvent, call: HookedCall, result?: HookedResult): string => {
  const text = members({
    event: Json.quote(event),
    tool: Json.quote(call.tool),
    call_id: Json.quote(call.callId),
    session_id: Json.quote(call.sessionId),
    run_id: Json.quote(call.runId),
    task_id: call.taskId === null ? "null" as JsonText : Json.quote(call.taskId),
    arguments: call.arguments,
    result: result === undefined ? undefined : `{${
      members({
        status: Json.quote(result.status),
        text: Json.quote(result.text),
        structured: result.structured
      })
    }}` as JsonText
  })
  return `{${text}}\n`
}

const isOpaque = (key: string, depth: number): boolean =>
  depth === 1 ? key === "arguments" : depth === 2 && key === "structured"

const answer = () =>
  Schema.Struct({
    allow: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String),
    arguments: Schema.optionalKey(Schema.instanceOf(Json.Opaque)),
    result: Schema.optionalKey(Schema.Struct({
      status: Schema.optionalKey(Schema.Literals(["success", "error"])),
      text: Schema.String,
      structured: Schema.optionalKey(Schema.instanceOf(Json.Opaque))
    }))
  })

type Answer = ReturnType<typeof answer>["Type"]

/** Made when the first hook answers: building schemas takes time that every start would pay. */
let decode: ((value: unknown) => Result.Result<Answer, unknown>) | undefined

/** What is no UTF-8 is no JSON: it must not become other arguments than the hook wrote. */
const textOf = (bytes: Uint8Array) =>
  Result.try(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes))

/** Reads an answer; the failure says what is wrong with it, and repeats nothing of it. */
export const read = (event: HookEvent, bytes: Uint8Array): Result.Result<HookAnswer, string> => {
  const value = Result.flatMap(textOf(bytes), (text) => Json.parse(text, { maxDepth: MOST_DEPTH, opaque: isOpaque }))
  if (Result.isFailure(value)) return Result.fail("its answer is no valid JSON")
  decode ??= Schema.decodeUnknownResult(answer(), { onExcessProperty: "error" })
  const decoded = decode(value.success)
  if (Result.isFailure(decoded)) return Result.fail("its answer is not what a hook may answer")
  const { allow, arguments: args, reason = "no reason was given", result } = decoded.success
  if (event === "before" ? result !== undefined : args !== undefined) {
    return Result.fail(`its answer has a field that a hook ${event} a call must not have`)
  }
  return Result.succeed({
    allow,
    reason,
    ...(args === undefined ? {} : { arguments: args.text }),
    ...(result === undefined ? {} : { result: resultOf(result) })
  })
}

const resultOf = ({ structured, ...told }: NonNullable<Answer["result"]>): Replacement => ({
  ...told,
  ...(structured === undefined ? {} : { structured: structured.text })
})
