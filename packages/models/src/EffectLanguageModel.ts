/**
 * Any `LanguageModel` of `effect/ai` behind the port `ModelTurn` (MDL-1).
 *
 * Rule: the model is asked for one turn and its calls are handed on undecided. There arguments arrive parsed, so what
 * may have been rounded is refused: such a call gets a JSON string that tells why as its arguments, which no tool takes.
 */
import { Json } from "@errand/protocol"
import type { ModelEvent, ModelRequest, OfferedTool } from "@errand/runtime"
import { ModelFailed, ModelTurn } from "@errand/runtime"
import { Alias } from "@errand/runtime/suspend"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { AnswerCalls, brokenOff, failed } from "./AnswerCalls.ts"
import * as ContextOverflow from "./ContextOverflow.ts"
import * as EffectPrompt from "./EffectPrompt.ts"
import { IdleTimeout, silent } from "./IdleTimeout.ts"
import * as ParsedJson from "./ParsedJson.ts"
import * as ProviderRules from "./ProviderRules.ts"

/**
 * `ModelTurn` by the `LanguageModel` of the context; `provider` and `name` are what `status` and history call it, `names`
 * the tool names that the provider allows, by default those that all providers do (DCL-10).
 *
 * A request fails with `model_failed` or `context_overflow`, `retryable` where the failure is transient (MDL-3); no part for
 * `IdleTimeout` counts as such, and so does an answer that ends without a finish part, since part of it may be missing.
 */
export const layer = (
  options: { readonly provider: string; readonly name: string; readonly names?: Alias.Rules }
): Layer.Layer<ModelTurn, never, LanguageModel.LanguageModel> =>
  Layer.effect(
    ModelTurn,
    Effect.gen(function*() {
      const model = yield* LanguageModel.LanguageModel
      const idleMs = yield* IdleTimeout
      const reader = { provider: options.provider, names: Alias.make(options.names ?? ProviderRules.names) }
      return {
        provider: options.provider,
        name: options.name,
        turn: (request) =>
          Stream.suspend(() => {
            const toolkit = offer(reader, request.tools)
            if (Result.isFailure(toolkit)) return Stream.fail(toolkit.failure)
            return read(reader, heard(ask(request, reader, toolkit.success), idleMs))
          }).pipe(Stream.provideService(LanguageModel.LanguageModel, model))
      }
    })
  )

type Reader = EffectPrompt.Reader

const ask = (request: ModelRequest, reader: Reader, toolkit: Result.Result.Success<ReturnType<typeof offer>>) =>
  LanguageModel.streamText({
    prompt: EffectPrompt.make(reader, request),
    toolkit,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  })

/** The parts, or a failure when none comes for too long (MDL-5). */
const heard = (parts: ReturnType<typeof ask>, idleMs: number) =>
  Stream.transformPull(
    Stream.mapError(parts, failedBy),
    (pull) =>
      Effect.succeed(Effect.timeoutOrElse(pull, { duration: idleMs, orElse: () => Effect.fail(silent(idleMs)) }))
  )

/** The tools with their schemas unchanged (SCH-5): a number that would change on the way is a failure. */
const offer = ({ names }: Reader, tools: ReadonlyArray<OfferedTool>) => {
  const offered = []
  for (const { description, inputSchema, name } of tools) {
    const schema = ParsedJson.fromText(inputSchema)
    if (!schema.exact) {
      const message = `the input schema of ${name} holds a number that cannot be sent to this model unchanged`
      return Result.fail(new ModelFailed({ code: "model_failed", message }))
    }
    offered.push(
      Tool.dynamic(names.toProvider(name), { description, parameters: schema.value as Record<string, unknown> })
    )
  }
  return Result.succeed(Toolkit.make(...offered))
}

type Part = Stream.Success<ReturnType<typeof ask>>

/** An answer so far: its parts, its calls, and what its finish part told. */
interface Answer {
  readonly parts: Array<Part>
  readonly calls: AnswerCalls
  finish: Response.FinishPart | undefined
}

const read = <R>(
  reader: Reader,
  parts: Stream.Stream<Part, ModelFailed, R>
): Stream.Stream<ModelEvent, ModelFailed, R> => {
  const answer: Answer = { parts: [], calls: new AnswerCalls(), finish: undefined }
  return parts.pipe(
    Stream.mapEffect((part) => Effect.fromResult(take(reader, answer, part))),
    Stream.flatMap(Stream.fromArray),
    Stream.concat(Stream.suspend(() => end(reader, answer)))
  )
}

type Taken = Result.Result<ReadonlyArray<ModelEvent>, ModelFailed>

const nothing: Taken = Result.succeed([])

const take = ({ names }: Reader, answer: Answer, part: Part): Taken => {
  answer.parts.push(part)
  switch (part.type) {
    case "text-delta":
      return part.delta === "" ? nothing : Result.succeed([{ _tag: "TextDelta", text: part.delta }])
    case "tool-params-start":
      if (!part.providerExecuted) answer.calls.begin(part.id, names.toDeclared(part.name))
      return nothing
    case "tool-params-delta":
      answer.calls.piece(part.id, part.delta)
      return nothing
    case "tool-call":
      if (part.providerExecuted) answer.calls.executed()
      else answer.calls.tell({ id: part.id, name: names.toDeclared(part.name), arguments: argumentsOf(answer, part) })
      return nothing
    case "finish":
      answer.finish = part
      return nothing
    case "error":
      return Result.fail(failedBy(part.error))
    default:
      return nothing
  }
}

/** The text that the model streamed, where it is JSON: it has all its digits. Otherwise what was parsed is written. */
const argumentsOf = (answer: Answer, { id, params }: { readonly id: string; readonly params: unknown }): string => {
  const streamed = answer.calls.pieces(id)
  if (streamed !== undefined && Result.isSuccess(Json.compact(streamed, { maxDepth: Infinity }))) return streamed
  return Result.getOrElse(ParsedJson.toText(params), (reason) => Json.quote(`refused: ${reason}`))
}

const end = ({ provider }: Reader, { calls, finish, parts }: Answer): Stream.Stream<ModelEvent, ModelFailed> => {
  if (finish === undefined) return Stream.fail(brokenOff)
  const refused = calls.refusalOf(finish.reason)
  if (refused !== null) return Stream.fail(refused)
  const kept = EffectPrompt.keep(provider, parts)
  const usage = { inputTokens: finish.usage.inputTokens.total ?? 0, outputTokens: finish.usage.outputTokens.total ?? 0 }
  return Stream.fromArray<ModelEvent>([
    ...calls.told.map((call): ModelEvent => ({ _tag: "ToolCall", call })),
    ...(kept === null ? [] : [{ _tag: "Provider", provider: kept } as const]),
    { _tag: "Finish", usage }
  ])
}

/** Transient are rate limits, failures inside the provider and failures of the connection (MDL-3), nothing else. */
const isTransient = (reason: AiError.AiErrorReason): boolean =>
  reason._tag === "RateLimitError" || reason._tag === "InternalProviderError" ||
  reason._tag === "NetworkError" && reason.isRetryable

const failedBy = (error: unknown): ModelFailed => {
  if (!AiError.isAiError(error)) {
    return failed(error instanceof Error ? error.message : `the provider failed: ${String(error)}`)
  }
  const { reason, retryAfter } = error
  const body = "http" in reason ? reason.http?.body ?? "" : ""
  if (ContextOverflow.isToldBy(`${reason.message} ${body}`)) {
    return new ModelFailed({ code: "context_overflow", message: reason.message })
  }
  return new ModelFailed({
    code: "model_failed",
    message: reason.message,
    retryable: isTransient(reason),
    ...(retryAfter === undefined ? {} : { retryAfterMs: Duration.toMillis(retryAfter) })
  })
}
