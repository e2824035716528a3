/**
 * Any language model of the AI SDK's provider interface, version 4, behind the port `ModelTurn` (MDL-1).
 *
 * Rule: one model turn is one request, which is aborted at once when nobody waits for it any more; who retries is
 * `Retry`, never the library. This is an edge: it speaks promises and web streams.
 */
import type { LanguageModelV4, LanguageModelV4StreamPart, SharedV4ProviderOptions } from "@ai-sdk/provider"
import { type ModelEvent, type ModelFailed, type ModelRequest, ModelTurn } from "@errand/runtime"
import { Alias } from "@errand/runtime/suspend"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Answer } from "./AiSdkAnswer.ts"
import * as AiSdkFailure from "./AiSdkFailure.ts"
import * as AiSdkPrompt from "./AiSdkPrompt.ts"
import type { ByteWatch } from "./ByteWatch.ts"
import { IdleTimeout, silent } from "./IdleTimeout.ts"
import * as ProviderRules from "./ProviderRules.ts"

/** What may be told about a model besides the model itself. */
export interface Options {
  /** What `status` and history call the provider; by default the model's own word for it. */
  readonly provider?: string | undefined
  /** The names that the provider allows; by default those that all providers do (DCL-10). */
  readonly names?: Alias.Rules | undefined
  /** Goes with every request, by provider, as the AI SDK defines it. */
  readonly providerOptions?: SharedV4ProviderOptions | undefined
  /** Keys of the requests: they are taken out of messages. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  /** The watch whose `fetch` the model uses; without it what counts as a byte is a part of an answer. */
  readonly bytes?: ByteWatch | undefined
}

/**
 * `ModelTurn` by a model of the AI SDK.
 *
 * A request fails with `model_failed` or `context_overflow`; `retryable` where the failure is transient (MDL-3). Tool
 * arguments come and go as text with all their digits, and so do results; schemas go as they were declared (SCH-5).
 */
export const layer = (model: LanguageModelV4, options: Options = {}): Layer.Layer<ModelTurn> =>
  Layer.effect(
    ModelTurn,
    Effect.gen(function*() {
      const idleMs = yield* IdleTimeout
      const clock = yield* Clock.Clock
      const provider = options.provider ?? model.provider
      const names = Alias.make(options.names ?? ProviderRules.names)
      const reader = { provider: model.provider, modelId: model.modelId, names }
      const setting = { model, options, idleMs, clock, reader, promptOf: AiSdkPrompt.maker(reader) }
      return {
        provider,
        name: model.modelId,
        turn: (request) => Stream.unwrap(Effect.map(open(setting, request), read))
      }
    })
  )

interface Setting {
  readonly model: LanguageModelV4
  readonly options: Options
  readonly idleMs: number
  readonly clock: Clock.Clock
  readonly reader: AiSdkPrompt.Reader
  readonly promptOf: ReturnType<typeof AiSdkPrompt.maker>
}

/** A request that was sent: what is needed to read its answer. */
interface Opened {
  readonly setting: Setting
  readonly waiting: Waiting
  readonly answer: Answer
  readonly parts: ReadableStreamDefaultReader<LanguageModelV4StreamPart>
}

const open = Effect.fnUntraced(function*(
  setting: Setting,
  request: ModelRequest
): Effect.fn.Return<Opened, ModelFailed, Scope.Scope> {
  const { clock, idleMs, model, options, promptOf, reader } = setting
  const controller = yield* Effect.acquireRelease(
    Effect.sync(() => new AbortController()),
    (controller) => Effect.sync(() => controller.abort())
  )
  const waiting = new Waiting(clock, idleMs, controller)
  options.bytes?.listen(controller.signal, waiting.touch)
  yield* Effect.forkScoped(waiting.watch)
  const { stream } = yield* waiting.forResult(setting, () =>
    model.doStream({
      prompt: promptOf(request),
      abortSignal: controller.signal,
      ...(request.tools.length === 0 ? {} : { tools: AiSdkPrompt.offer(reader, request.tools) }),
      ...(options.providerOptions === undefined ? {} : { providerOptions: options.providerOptions }),
      // pings and the like show that somebody is there, where bytes themselves cannot be seen
      ...(options.bytes === undefined ? { includeRawChunks: true } : {})
    }))
  return { setting, waiting, answer: new Answer(reader), parts: stream.getReader() }
})

const read = ({ answer, parts, setting, waiting }: Opened): Stream.Stream<ModelEvent, ModelFailed> => {
  const next = waiting.forResult(setting, () => parts.read())
  let ended = false
  const pull: Effect.Effect<readonly [ModelEvent, ...Array<ModelEvent>], ModelFailed | Cause.Done> = Effect.gen(
    function*() {
      while (!ended) {
        const { done, value } = yield* next
        ended = done
        if (value !== undefined) {
          const taken = answer.take(value)
          if (taken._tag === "Failed") return yield* Effect.fail(failureOf(setting, taken.error))
          if (isNonEmpty(taken.events)) return taken.events
          continue
        }
        const rest = answer.end()
        if (Result.isFailure(rest)) return yield* Effect.fail(rest.failure)
        if (isNonEmpty(rest.success)) return rest.success
      }
      return yield* Cause.done()
    }
  )
  return Stream.fromPull(Effect.succeed(pull))
}

const isNonEmpty = <A>(items: ReadonlyArray<A>): items is readonly [A, ...Array<A>] => items.length > 0

const failureOf = ({ clock, options }: Setting, error: unknown): ModelFailed =>
  AiSdkFailure.of(error, { secrets: options.secrets ?? [], now: clock.currentTimeMillisUnsafe() })

/** The waits of one request, and the end of all patience. */
class Waiting {
  private readonly clock: Clock.Clock
  private readonly idleMs: number
  private readonly controller: AbortController
  private since: number
  private giveUp: ((failed: ModelFailed) => void) | undefined

  constructor(clock: Clock.Clock, idleMs: number, controller: AbortController) {
    this.clock = clock
    this.idleMs = idleMs
    this.controller = controller
    this.since = clock.currentTimeMillisUnsafe()
  }

  /** Notes a sign of life. */
  readonly touch = (): void => {
    this.since = this.clock.currentTimeMillisUnsafe()
  }

  /** Ends the request when somebody has waited too long without a sign of life (MDL-5). */
  readonly watch: Effect.Effect<void> = Effect.suspend(() => {
    const left = this.since + this.idleMs - this.clock.currentTimeMillisUnsafe()
    if (left > 0 || this.giveUp === undefined) {
      return Effect.andThen(Effect.sleep(left > 0 ? left : this.idleMs), this.watch)
    }
    this.controller.abort()
    this.giveUp(silent(this.idleMs))
    return Effect.void
  })

  /** Waits for a promise; what it may be rejected with afterwards is nobody's concern. */
  forResult<A>(setting: Setting, ask: () => PromiseLike<A>): Effect.Effect<A, ModelFailed> {
    return Effect.callback((resume) => {
      this.touch()
      this.giveUp = (failed) => resume(Effect.fail(failed))
      new Promise<A>((resolve) => resolve(ask())).then(
        (value) => {
          this.giveUp = undefined
          this.touch()
          resume(Effect.succeed(value))
        },
        (error: unknown) => {
          this.giveUp = undefined
          resume(Effect.fail(failureOf(setting, error)))
        }
      )
    })
  }
}
