/**
 * Requests out, responses and events in: one connection to one server.
 *
 * Rule: whatever waits here is woken exactly once, by its response or by the loss of the connection. Ids are counted up and
 * never used twice; unknown events, unknown fields and responses that nobody waits for are ignored (a newer server may send
 * them), but a frame that is none, another instance id or a gap in `seq` ends the connection, because then events are lost.
 */
import type { Params, ResultOf, ServerEvent } from "@errand/protocol"
import { Frame, Json, Limits, type MethodName, PassingMap, Requests, Wire } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import {
  type ConnectionLost,
  type RequestError,
  RequestIdsExhausted,
  RequestInvalid,
  RequestRefused,
  ServerExited,
  ServerProtocolViolated
} from "./ClientError.ts"
import type { Transport, TransportEnd } from "./Transport.ts"

/** What a connection tells its owner; all of it synchronously, in the order of the wire. */
export interface Listener {
  readonly event: (event: ServerEvent) => void
  /** Called once; everything that waited for a response has been failed before. */
  readonly lost: (why: ConnectionLost) => void
}

/** Called once with the result as the server wrote it, or with why there is none. */
export type Respond = (outcome: Result.Result<unknown, RequestError>) => void

/**
 * How many ids must be left, its own included, for a request to be sent: so what matters more finds some (CLI-3). Results come
 * before approvals, for as many calls as may be pending.
 */
export const leastIds = {
  request: 64,
  approval: 3 + Limits.defaults.clientTools.pending_calls,
  result: 3,
  cancel: 2,
  shutdown: 1
} as const

/** Output is written when this many characters wait; measured best for one and for many calls in flight. */
const flushCharacters = 4096

/** One connection; made for a transport that nobody else uses. */
export class Connection {
  /** Null until the first frame of the server (REQ-8). */
  instanceId: string | null = null
  private readonly transport: Transport
  private readonly listener: Listener
  private readonly decoder: Frame.FrameDecoder
  private readonly waiting = new PassingMap<{ readonly method: MethodName; readonly respond: Respond }>()
  private limits = Limits.defaults.base
  private ids = 0
  private seq = 0
  private closing: string | null = null
  private gone: ConnectionLost | undefined
  private out = ""
  private reading = false
  private scheduled = false

  constructor(transport: Transport, listener: Listener) {
    this.transport = transport
    this.listener = listener
    this.decoder = new Frame.FrameDecoder(this.limits.output_frame_bytes)
  }

  /** Begins to read; called once. */
  start(): void {
    this.transport.start({
      received: (chunk) => this.received(chunk),
      ended: (end) => this.ended(end)
    })
  }

  /** The limits that `initialize` told; the defaults hold until then. */
  negotiated(limits: Limits.BaseLimits): void {
    this.limits = limits
  }

  /** How many request ids are left (REQ-4). */
  get idsLeft(): number {
    return this.limits.request_ids - this.ids
  }

  /**
   * Sends a request and calls `respond` once; at once when it cannot be sent. `needed` is how many ids must be left for it.
   */
  send<M extends MethodName>(method: M, params: Params<M>, needed: number, respond: Respond): void {
    if (this.gone !== undefined) return respond(Result.fail(this.gone))
    const left = this.idsLeft
    if (left < needed) return respond(Result.fail(new RequestIdsExhausted({ left, needed })))
    const id = `e${this.ids + 1}`
    const text = Wire.encodeRequest(id, method, params)
    // A UTF-16 unit is at most three bytes.
    if (text.length * 3 > this.limits.input_frame_bytes && Json.byteLength(text) > this.limits.input_frame_bytes) {
      const detail = `the frame has ${
        Json.byteLength(text)
      } bytes, at most ${this.limits.input_frame_bytes} are allowed`
      return respond(Result.fail(new RequestInvalid({ method, detail })))
    }
    this.ids += 1
    this.waiting.set(id, { method, respond })
    this.write(text)
  }

  /**
   * A request as an effect; ids in reserve stay untouched. When it is interrupted its response wakes nobody, but `asked` and
   * `responded` are called all the same, once each, for those who must know what became of it.
   */
  request<M extends MethodName>(
    method: M,
    params: Params<M>,
    options: {
      readonly needed?: number
      readonly asked?: () => void
      readonly responded?: (outcome: Result.Result<ResultOf<M>, RequestError>) => void
    } = {}
  ): Effect.Effect<ResultOf<M>, RequestError> {
    return Effect.callback((resume) => {
      options.asked?.()
      const respond: Respond = (outcome) => {
        const decoded = this.decoded(method, outcome)
        options.responded?.(decoded)
        resume(Effect.fromResult(decoded))
      }
      // An ill-formed string would be escaped into a frame that the server refuses without saying which (FRM-7, FRM-9).
      const broken = Object.entries(params).find(([, value]) => typeof value === "string" && !value.isWellFormed())
      if (broken === undefined) return this.send(method, params, options.needed ?? leastIds.request, respond)
      respond(Result.fail(new RequestInvalid({ method, detail: `${broken[0]}: a lone surrogate` })))
    })
  }

  private decoded<M extends MethodName>(
    method: M,
    outcome: Result.Result<unknown, RequestError>
  ): Result.Result<ResultOf<M>, RequestError> {
    if (Result.isFailure(outcome)) return Result.fail(outcome.failure)
    const result = Requests.decodeResult(method, outcome.success)
    return Result.isSuccess(result)
      ? Result.succeed(result.success)
      : Result.fail(new ServerProtocolViolated({ detail: `the result of ${method}: ${result.failure.message}` }))
  }

  private write(text: string): void {
    this.out += Frame.encode(text)
    if (this.out.length >= flushCharacters) return this.flush()
    if (this.reading || this.scheduled) return
    this.scheduled = true
    queueMicrotask(() => {
      this.scheduled = false
      this.flush()
    })
  }

  private flush(): void {
    if (this.out === "") return
    const out = this.out
    this.out = ""
    this.transport.write(out)
  }

  private received(chunk: Uint8Array): void {
    if (this.gone !== undefined) return
    this.decoder.push(chunk)
    this.reading = true
    for (let item = this.decoder.next(); item !== undefined && this.gone === undefined; item = this.decoder.next()) {
      if (item._tag === "Frame") this.frame(item.text)
      else this.violated(item._tag === "Invalid" ? `a frame is ${item.reason}` : "a frame is too long")
    }
    this.reading = false
    this.flush()
  }

  private frame(text: string): void {
    const value = Json.parse(text, { opaque: Wire.inServerFrames })
    if (Result.isFailure(value)) return this.violated(`a frame is no JSON: ${value.failure.message}`)
    const decoded = Wire.decodeServerFrame(value.success)
    if (Result.isFailure(decoded)) return this.violated(decoded.failure.message)
    const frame = decoded.success
    this.instanceId ??= frame.instanceId
    if (frame.instanceId !== this.instanceId) return this.violated("the instance id changed")
    switch (frame._tag) {
      case "Success":
        return this.respond(frame.id, Result.succeed(frame.result))
      case "Failure":
        return this.failed(frame)
      case "UnknownEvent":
        return void this.inSequence(frame.seq)
      case "Event":
        if (!this.inSequence(frame.seq)) return
        if (frame.event.event === "connection.closing") this.closing = frame.event.data.reason
        else this.listener.event(frame.event)
    }
  }

  private failed({ error, id }: Extract<Wire.Response, { readonly _tag: "Failure" }>): void {
    // Without an id nobody knows what it answers, so whatever waits could wait forever.
    if (id === null) return this.violated(`it refused a frame (${error.code}): ${error.message}`)
    const method = this.waiting.get(id)?.method ?? ""
    this.respond(id, Result.fail(new RequestRefused({ method, code: error.code, detail: error.message })))
  }

  private respond(id: string, outcome: Result.Result<unknown, RequestError>): void {
    const waiting = this.waiting.get(id)
    if (waiting === undefined) return
    this.waiting.delete(id)
    waiting.respond(outcome)
  }

  private inSequence(seq: number): boolean {
    if (seq === this.seq + 1) {
      this.seq = seq
      return true
    }
    this.violated(`event ${seq} came after event ${this.seq}`)
    return false
  }

  private violated(detail: string): void {
    this.end(new ServerProtocolViolated({ detail }))
  }

  private ended({ code, signal, stderrTail }: TransportEnd): void {
    this.end(new ServerExited({ code, signal, stderrTail, reason: this.closing }))
  }

  private end(why: ConnectionLost): void {
    if (this.gone !== undefined) return
    this.gone = why
    this.out = ""
    for (const { respond } of this.waiting.drain()) respond(Result.fail(why))
    this.listener.lost(why)
  }
}
