/**
 * A strict, deterministic model that follows a script, for demos and tests (SCR-1 to SCR-4).
 *
 * Rule: each model request consumes the next step of its agent, a retried request too; nothing else decides an answer.
 */
import { Ids } from "@errand/protocol"
import type { ModelEvent, ModelRequest } from "@errand/runtime"
import { ModelFailed, ModelTurn } from "@errand/runtime"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Script, Step } from "./Script.ts"
import * as Template from "./Template.ts"

/**
 * The model that a script describes, under the provider `script` and the given name.
 *
 * The steps are consumed over everything that shares the layer; `ModelFailed` with `model_failed` tells a step's own
 * `error` and the end of the script (SCR-4). A script counts no tokens: its usage is 0.
 */
export const layer = (script: Script, name: string = "script"): Layer.Layer<ModelTurn> =>
  Layer.effect(
    ModelTurn,
    Effect.gen(function*() {
      const freshId = yield* Ids.Generator
      const root = track("root", script.root, freshId)
      const tasks = new Map(Array.from(script.tasks, ([task, steps]) => [task, track(task, steps, freshId)]))
      return {
        provider: "script",
        name,
        turn: (request) =>
          lazy(() =>
            request.agent === null ? root(request) : tasks.get(request.agent)?.(request) ?? exhausted(1, request.agent)
          )
      }
    })
  )

type Answer = Stream.Stream<ModelEvent, ModelFailed>

/** `Stream.suspend` without its weak map of all streams that were suspended, which costs each collection of garbage. */
const lazy = (answer: () => Answer): Answer => Stream.fromChannel(Channel.suspend(() => answer().channel))

/** The steps of one agent with the place that was reached in them. */
const track = (agent: string, steps: ReadonlyArray<Step>, freshId: () => string) => {
  const answers = steps.map((step) => compile(step, freshId))
  let next = 0
  let repeated = 0
  let consumed = 0
  return (request: ModelRequest): Answer => {
    const answer = answers[next]
    if (answer === undefined) return exhausted(consumed + 1, agent)
    consumed++
    if (++repeated === steps[next]!.times) {
      next++
      repeated = 0
    }
    return answer(request)
  }
}

const exhausted = (step: number, agent: string): Answer =>
  Stream.fail(new ModelFailed({ code: "model_failed", message: `script exhausted at step ${step} of ${agent}` }))

const finish: ModelEvent = { _tag: "Finish", usage: { inputTokens: 0, outputTokens: 0 } }

/** Finds the replacements once; what is left to do for a request does not grow with the conversation (but `{{roles}}`). */
const compile = ({ calls, delayMs, deltas, error }: Step, freshId: () => string): (request: ModelRequest) => Answer => {
  const template = Template.compile(deltas)
  const answer = (request: ModelRequest): Answer => {
    const events: Array<ModelEvent> = []
    for (const text of Template.render(template, request)) events.push({ _tag: "TextDelta", text })
    for (const call of calls) events.push({ _tag: "ToolCall", call: { ...call, id: call.id ?? freshId() } })
    if (error === null) events.push(finish)
    const told = Stream.fromArray(events)
    return error === null ? told : Stream.concat(told, Stream.fail(new ModelFailed({ code: "model_failed", ...error })))
  }
  return delayMs === 0
    ? answer
    : (request) => Stream.unwrap(Effect.map(Effect.sleep(delayMs), () => answer(request)))
}
