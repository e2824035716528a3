/** Agents in this process: scripts for models, models that remember what they were asked, and stores that fail. */
import { Script, ScriptedModel } from "@errand/models"
import { type Events, type Requirements, type ToolHandler } from "@errand/protocol"
import {
  AgentRunner,
  Approvals,
  Conversation,
  type History,
  LocalTools,
  type Message,
  ModelTurn,
  Outbox,
  type Record,
  StorageFailed
} from "@errand/runtime"
import { Effect, Layer, Result, Stream } from "effect"

/** A step of a script that calls tools; ids are `k0`, `k1`, … in the order of the calls unless they are given. */
export const calls = (...made: ReadonlyArray<readonly [name: string, args?: unknown, id?: string]>) => ({
  tool_calls: made.map(([name, args = {}, id], i) => ({
    id: id ?? `k${i}`,
    name,
    ...(typeof args === "string" ? { arguments_text: args } : { arguments: args })
  }))
})

/** The model of a script. */
export const scripted = (...root: ReadonlyArray<object>): Layer.Layer<ModelTurn> => {
  const script = Script.decode(JSON.stringify({ format: "errand.script", version: 1, root }))
  if (Result.isFailure(script)) throw new Error(script.failure.message)
  return ScriptedModel.layer(script.success)
}

/** A model that remembers the messages of each request. */
export class Listening {
  readonly asked: Array<ReadonlyArray<Message>> = []
  readonly layer: Layer.Layer<ModelTurn>

  constructor(model: Layer.Layer<ModelTurn>) {
    const listening = Effect.map(ModelTurn, (inner) => ({
      ...inner,
      turn: (request: Parameters<typeof inner.turn>[0]) =>
        Stream.suspend(() => {
          this.asked.push(structuredClone(request.messages))
          return inner.turn(request)
        })
    }))
    this.layer = Layer.effect(ModelTurn, listening).pipe(Layer.provide(model))
  }
}

/** An agent whose events are kept, in order. */
export const watched = <const Tools extends ReadonlyArray<ToolHandler<unknown>>>(
  tools: Tools,
  model: Layer.Layer<ModelTurn>,
  events: Array<Events.ServerEvent>
): Layer.Layer<AgentRunner, never, Requirements<Tools>> =>
  AgentRunner.layer.pipe(
    Layer.provide(LocalTools.layerOf(tools)),
    Layer.provide(Approvals.layerNoDeps),
    Layer.provide(Outbox.layerSink((event) => events.push(event))),
    Layer.provide(model)
  )

/** A conversation in memory whose appends fail where `fails` says so; `records` holds what was appended. */
export const failing = (fails: (append: number) => boolean) =>
  Effect.map(Conversation.memory(), (inner) => {
    let count = 0
    const records: Array<Record> = []
    const history: History = {
      ...inner,
      append: (batch) =>
        Effect.suspend(() => {
          if (fails(++count)) return Effect.fail(new StorageFailed({ message: "the disk is full" }))
          records.push(...batch)
          return inner.append(batch)
        })
    }
    return { history, records, appends: () => count }
  })

/** Lets everything that can happen now happen. */
export const flushed = Effect.promise(() => new Promise<void>((done) => setImmediate(done)))
