/**
 * A provider on the loopback interface that answers what it is told, over the provider's real wire format.
 *
 * Rule: it listens on 127.0.0.1 alone, checks each request before it takes the next answer, and leaves nothing open when
 * its scope closes. This is an edge: it is a server of `node:http`.
 */
import { Json } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Answer } from "./Answer.ts"
import { type Body, type Dialect, isObject, type Refusal } from "./Dialect.ts"

/** A request as it came. */
export interface Received {
  readonly headers: { readonly [name: string]: string | undefined }
  /** The body as text: its digits are those of the sender. */
  readonly text: string
  readonly body: Body
  /** Why it was refused; null where an answer was begun. */
  readonly refusal: Refusal | null
  /** Bytes of the body of its answer, as far as that is sent. */
  bytes: number
  /** Set when the client closed the connection before the answer was complete. */
  aborted: boolean
}

/** What a test holds of an emulated provider. */
export class ProviderEmulator extends Context.Service<ProviderEmulator, {
  /** The address without the version: `http://127.0.0.1:PORT`. */
  readonly address: string
  readonly key: string
  /** All requests, those refused too, in the order of their arrival; live. */
  readonly requests: ReadonlyArray<Received>
  /** Adds answers to those that wait to be given, one per request that is not refused. */
  readonly script: (...answers: ReadonlyArray<Answer>) => Effect.Effect<void>
  /** Waits until so many requests have come in all. */
  readonly received: (count: number) => Effect.Effect<void>
  /** Waits until the client has closed the connection of some request. */
  readonly aborted: (index: number) => Effect.Effect<void>
}>()("@errand/testing/ProviderEmulator") {
  /** A provider that speaks this dialect and takes this key alone. */
  static readonly layer = (dialect: Dialect, key = "sk-emulated-0123456789abcdef") =>
    Layer.effect(ProviderEmulator, listen(dialect, key))
}

const listen = (dialect: Dialect, key: string): Effect.Effect<ProviderEmulator["Service"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const answers: Array<Answer> = []
    const requests: Array<Received> = []
    const waiting = new Set<() => void>()
    const changed = () => waiting.forEach((check) => check())
    const until = (holds: () => boolean) =>
      Effect.callback<void>((resume) => {
        const check = () => {
          if (!holds()) return
          waiting.delete(check)
          resume(Effect.void)
        }
        waiting.add(check)
        check()
        return Effect.sync(() => waiting.delete(check))
      })
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const received = receive(dialect, key, request, Buffer.concat(chunks).toString("utf8"))
        requests.push(received)
        response.on("close", () => {
          received.aborted = !response.writableFinished
          changed()
        })
        const answer = received.refusal === null ? answers.shift() ?? nothingLeft : undefined
        const model = String(received.body.model)
        received.bytes = answer === undefined
          ? refuse(dialect, response, received.refusal!)
          : give(dialect, response, dialect.events({ answer, model, serial: requests.length }), answer)
        changed()
      })
    })
    const port = yield* Effect.acquireRelease(bound(server), () => closed(server))
    return {
      address: `http://127.0.0.1:${port}`,
      key,
      requests,
      script: (...more) => Effect.sync(() => void answers.push(...more)),
      received: (count) => until(() => requests.length >= count),
      aborted: (index) => until(() => requests[index]?.aborted === true)
    }
  })

const bound = (server: Server): Effect.Effect<number> =>
  Effect.callback((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

const closed = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

const nothingLeft: Answer = {
  fault: { type: "status", status: 400, message: "The emulator has no answer left." }
}

const receive = (dialect: Dialect, key: string, request: IncomingMessage, text: string): Received => {
  const headers = request.headers as Received["headers"]
  const read = Json.parse(text, { maxDepth: 1000 })
  const body = Result.isSuccess(read) && isObject(read.success) ? read.success : {}
  const refused = (): Refusal | null => {
    const given = dialect.keyOf(headers)
    // worse than any real one: the whole key comes back, so that a test sees whether it goes anywhere
    if (given !== key) {
      return { status: 401, message: `Incorrect API key provided: ${given ?? ""}.`, code: "invalid_api_key" }
    }
    if (request.method !== "POST" || request.url !== dialect.path) {
      return { status: 404, message: `No route ${request.url}` }
    }
    if (Result.isFailure(read)) {
      return { status: 400, message: `The request body is not valid JSON: ${read.failure.message}` }
    }
    return dialect.check(body)
  }
  return { headers, text, body, refusal: refused(), bytes: 0, aborted: false }
}

/** Sends an error; gives the bytes of its body. */
const refuse = (
  dialect: Dialect,
  response: ServerResponse,
  refusal: Refusal,
  { body, headers = {} }: { readonly body?: string; readonly headers?: { readonly [name: string]: string } } = {}
): number => {
  const text = body ?? dialect.errorBody(refusal)
  response.writeHead(refusal.status, { "content-type": "application/json", ...headers })
  response.end(text)
  return Buffer.byteLength(text)
}

/** Begins to send an answer; gives the bytes that its body will have. */
const give = (dialect: Dialect, response: ServerResponse, events: ReadonlyArray<string>, answer: Answer): number => {
  const { fault } = answer
  if (fault?.type === "status") {
    const { body, headers, message = "The emulator was told to fail.", status } = fault
    return refuse(dialect, response, { status, message }, {
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers })
    })
  }
  const sent = fault === undefined ? events : events.slice(0, fault.after)
  if (fault?.type === "reset" && fault.after === 0) {
    response.destroy()
    return 0
  }
  if (fault?.type === "silence" && fault.after === 0 && answer.keepAlive === undefined) return 0
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" })
  response.flushHeaders()
  const bytes = Buffer.from(sent.join("") + (fault?.type === "error" ? dialect.overloaded : ""), "utf8")
  const writes = Array.from({ length: answer.keepAlive ?? 0 }, () => Buffer.from(dialect.keepAlive, "utf8"))
  const size = answer.chunkBytes ?? 19
  for (let at = 0; at < bytes.length; at += size) writes.push(bytes.subarray(at, at + size))
  write(response, writes, () => {
    if (fault?.type === "reset") response.destroy()
    else if (fault?.type !== "silence") response.end()
  })
  return writes.reduce((sum, { length }) => sum + length, 0)
}

/** Writes one after the other, each when the one before has left. */
const write = (response: ServerResponse, writes: ReadonlyArray<Buffer>, done: () => void, at = 0): void => {
  const bytes = writes[at]
  if (bytes === undefined) done()
  else if (!response.destroyed) response.write(bytes, () => write(response, writes, done, at + 1))
}
