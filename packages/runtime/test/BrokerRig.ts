/** An outbox with a door, and calls over it: what the broker's tests have in common. */
import { type Events, Ids, type JsonText, Limits } from "@errand/protocol"
import {
  type Agent,
  Broker,
  type CallIdentity,
  noUsage,
  Outbox,
  rootView,
  type RunScope,
  type ToolInvocation,
  type Waiting
} from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

type Call = Extract<Events.ServerEvent, { readonly event: "client.tool.call" }>
type Cancel = Extract<Events.ServerEvent, { readonly event: "client.tool.cancel" }>

/** Records what entered the queue, in order; while the door is shut, events wait in line. */
export class Door {
  readonly sent: Array<Events.ServerEvent> = []
  private line: Array<{ readonly event: Events.ServerEvent; readonly queued: (() => void) | undefined }> = []
  private shut = false

  readonly service: Outbox["Service"] = {
    enqueue: (event, queued): Waiting | undefined => {
      if (!this.shut) {
        this.sent.push(event)
        return undefined
      }
      const one = { event, queued }
      this.line.push(one)
      return {
        withdraw: () => {
          const waits = this.line.includes(one)
          this.line = this.line.filter((other) => other !== one)
          return waits
        }
      }
    },
    offer: (event) => {
      if (!this.shut) this.sent.push(event)
      return !this.shut
    }
  }

  close(): void {
    this.shut = true
  }

  open(): void {
    this.shut = false
    for (const { event, queued } of this.line.splice(0)) {
      this.sent.push(event)
      queued?.()
    }
  }

  get calls(): ReadonlyArray<Call["data"]> {
    return this.sent.flatMap((one) => one.event === "client.tool.call" ? [one.data] : [])
  }

  get cancels(): ReadonlyArray<Cancel["data"]> {
    return this.sent.flatMap((one) => one.event === "client.tool.cancel" ? [one.data] : [])
  }
}

/** A run whose open calls end as `cancelled` unless somebody says otherwise. */
export const runScope = (name = "run"): RunScope => ({
  sessionId: "session" as Ids.SessionId,
  runId: name as Ids.RunId,
  ending: "cancelled"
})

const root = (run: RunScope): Agent => ({
  run,
  taskId: null,
  subagentId: null,
  parentId: null,
  depth: 0,
  view: rootView,
  history: {
    sessionId: run.sessionId,
    messages: [],
    revision: () => "0",
    append: () => Effect.void
  },
  instructions: null,
  label: null,
  usage: noUsage()
})

/** A call of `client__tool` with the given time-out, made by the root or as a task. */
export const invocation = (
  run: RunScope,
  timeoutMs = 1000,
  extra: Partial<ToolInvocation> = {},
  task: Partial<Pick<Agent, "taskId" | "subagentId">> = {}
): ToolInvocation => ({
  agent: { ...root(run), ...task },
  activityId: "activity" as Ids.ActivityId,
  callId: "call",
  name: "client__tool",
  arguments: "{}" as JsonText,
  depth: 1,
  timeoutMs,
  catalog: { tools: [], offered: () => [], resolve: (_, code) => ({ _tag: "Refused", code, message: "" }) },
  nested: () => Effect.die(new Error("the broker makes no calls of its own")),
  ...extra
})

/** The broker over a door; ids count from 1, so that a failing case reads the same each time. */
export const layer = (door: Door, pendingCalls = 16) => {
  let last = 0
  return Broker.layerNoDeps.pipe(
    Layer.provide(Layer.mergeAll(
      Layer.succeed(Outbox, door.service),
      Layer.succeed(Ids.Generator, () => `call-${++last}`),
      Layer.succeed(Limits.Limits, Limits.withBounds({ clientTools: { pending_calls: pendingCalls } }))
    ))
  )
}

/** The whole identity of a call that was published. */
export const identityOf = ({ call_id, run_id, session_id, subagent_id, task_id }: CallIdentity): CallIdentity => ({
  session_id,
  run_id,
  call_id,
  task_id,
  subagent_id
})

/** A broker for one test. */
export const withBroker = <A, E, R>(
  body: (broker: Broker["Service"], door: Door) => Effect.Effect<A, E, R>,
  pendingCalls?: number
) => {
  const door = new Door()
  return Effect.flatMap(Broker, (broker) => body(broker, door)).pipe(Effect.provide(layer(door, pendingCalls)))
}
