/**
 * A client for tests: it writes what it is told to, records every frame, and finds the ones a test waits for.
 *
 * Rule: it never sends anything by itself, so that a test sees exactly what it caused.
 */
import type { Events } from "@errand/protocol"
import * as Effect from "effect/Effect"
import type { Duplex } from "./Duplex.ts"

/** A response as plain data. */
export interface ResponseFrame {
  readonly id: string | null
  readonly instance_id: string
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: string; readonly message: string; readonly details?: unknown }
}

/** An event as plain data. */
export interface EventFrame<E extends Events.EventName = Events.EventName> {
  readonly event: E
  readonly instance_id: string
  readonly seq: number
  readonly data: Omit<Events.EventData<E>, "arguments"> & { readonly arguments?: unknown }
}

type Frame = ResponseFrame | EventFrame

/** The client's end of a connection. */
export class Peer {
  /** Every line that came, without its LF. */
  readonly lines: Array<string> = []
  /** The same as plain data. */
  readonly frames: Array<Frame> = []
  private readonly duplex: Duplex
  private readonly waiting = new Set<() => void>()
  private readonly taken = new Set<Frame>()
  private rest = ""
  private lastId = 0

  constructor(duplex: Duplex) {
    this.duplex = duplex
    duplex.onOutput((text) => {
      const lines = `${this.rest}${text}`.split("\n")
      this.rest = lines.pop()!
      for (const line of lines) {
        this.lines.push(line)
        this.frames.push(JSON.parse(line) as Frame)
      }
      for (const check of this.waiting) check()
    })
  }

  /** Writes a request under a fresh id, or under `id`, and gives the id; waits for nothing. */
  post(method: string, params: unknown = {}, id = `q${++this.lastId}`): string {
    this.duplex.write(`${JSON.stringify({ id, method, params })}\n`)
    return id
  }

  /** Writes a request and waits for its response. */
  request(method: string, params: unknown = {}, id?: string): Effect.Effect<ResponseFrame> {
    return Effect.suspend(() => this.response(this.post(method, params, id)))
  }

  /** The result of a request that must succeed; anything else is a defect that shows the response. */
  ok(method: string, params: unknown = {}): Effect.Effect<Readonly<Record<string, unknown>>> {
    return Effect.flatMap(
      this.request(method, params),
      (response) =>
        response.result === undefined
          ? Effect.die(new Error(JSON.stringify(response)))
          : Effect.succeed(response.result)
    )
  }

  /** The error code of a request that must fail. */
  code(method: string, params: unknown = {}, id?: string): Effect.Effect<string> {
    return Effect.flatMap(this.request(method, params, id), (response) =>
      response.error === undefined
        ? Effect.die(new Error(JSON.stringify(response)))
        : Effect.succeed(response.error.code))
  }

  /** Waits for the next response under an id. */
  response(id: string | null): Effect.Effect<ResponseFrame> {
    return this.until((frame): frame is ResponseFrame => !("event" in frame) && frame.id === id)
  }

  /** Waits for the next event of a name that no one has waited for before. */
  event<E extends Events.EventName>(name: E): Effect.Effect<EventFrame<E>> {
    return this.until((frame): frame is EventFrame<E> => "event" in frame && frame.event === name)
  }

  /** All events of a name so far. */
  events<E extends Events.EventName>(name: E): ReadonlyArray<EventFrame<E>["data"]> {
    return this.frames.flatMap((frame) =>
      "event" in frame && frame.event === name ? [(frame as EventFrame<E>).data] : []
    )
  }

  /** The params of a result for a published call. */
  answer(call: EventFrame<"client.tool.call">, fields: object = {}): object {
    const { call_id, run_id, session_id, subagent_id, task_id } = call.data
    return {
      instance_id: call.instance_id,
      session_id,
      run_id,
      call_id,
      task_id,
      subagent_id,
      status: "success",
      text: "fine",
      ...fields
    }
  }

  private until<F extends Frame>(matches: (frame: Frame) => frame is F): Effect.Effect<F> {
    return Effect.callback<F>((resume) => {
      const check = () => {
        const frame = this.frames.find((one): one is F => !this.taken.has(one) && matches(one))
        if (frame === undefined) return
        this.taken.add(frame)
        this.waiting.delete(check)
        resume(Effect.succeed(frame))
      }
      this.waiting.add(check)
      check()
      return Effect.sync(() => this.waiting.delete(check))
    })
  }
}
