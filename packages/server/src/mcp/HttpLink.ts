/**
 * An MCP server that runs elsewhere, over streamable HTTP (BLT-5). This is an edge: it opens sockets.
 *
 * Rule: each message is a request of its own; what the server sends of itself comes on one stream beside them, where it
 * offers one. Addresses are those that the configuration names: a redirect is not followed.
 */
import { clip, type JsonText } from "@errand/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { EventStream } from "./EventStream.ts"
import { LinkLost, type McpLink, MOST_BYTES, type Receiver } from "./McpLink.ts"

/** Milliseconds that the last word to a server may take. */
const CLOSE_MS = 500

/** Milliseconds between two tries to listen to what the server sends of itself. */
const LISTEN_AGAIN_MS = 5000

/** Characters of a refusal that are told. */
const REFUSAL_CHARACTERS = 200

const refusedConnection = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

const lostBy = (error: unknown): LinkLost => {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : undefined
  return new LinkLost({
    message: `the server cannot be reached (${code ?? (error instanceof Error ? error.message : "unknown reason")})`,
    sent: code === undefined || !refusedConnection.has(code)
  })
}

/** A server, or a gateway before it, that failed or grew tired of waiting does not say how far the call had come. */
const mayHaveExecuted = (status: number): boolean => status >= 500 || status === 408

/** Hands on what a response holds, as it comes, until `take` has enough; whoever leaves closes it. */
const read = (response: Response, take: (text: string, bytes: number) => boolean) =>
  Effect.tryPromise({
    try: async (signal) => {
      const reader = response.body?.getReader()
      if (reader === undefined) return
      const close = () => void reader.cancel().catch(() => {})
      signal.addEventListener("abort", close)
      const decoder = new TextDecoder()
      try {
        for (;;) {
          const { done, value } = await reader.read()
          if (done || !take(decoder.decode(value, { stream: true }), value.length)) return
        }
      } finally {
        close()
      }
    },
    catch: lostBy
  })

/** Opens a link; nothing is sent before the first message. */
export const open = Effect.fnUntraced(function*(
  server: { readonly url: string; readonly headers?: Readonly<Record<string, string>> },
  receiver: Receiver
) {
  let session: string | null = null
  let version: string | undefined
  const headers = (more: Readonly<Record<string, string>>): Record<string, string> => ({
    ...server.headers,
    ...more,
    ...(session === null ? {} : { "mcp-session-id": session }),
    ...(version === undefined ? {} : { "mcp-protocol-version": version })
  })
  const exchange = (method: string, more: Readonly<Record<string, string>>, body: string | null) =>
    Effect.tryPromise({
      try: (signal) => fetch(server.url, { method, headers: headers(more), body, redirect: "manual", signal }),
      catch: lostBy
    }).pipe(Effect.tapError(({ message }) => Effect.sync(() => receiver.lost(message))))

  /** Hands on the messages of a response. */
  const receive = (response: Response) => {
    const events = response.headers.get("content-type")?.startsWith("text/event-stream") === true
      ? new EventStream(receiver.message)
      : undefined
    let bytes = 0
    let whole = ""
    const take = (text: string, more: number) => {
      bytes = events === undefined ? bytes + more : events.push(text)
      if (bytes > MOST_BYTES) throw new Error(`it sent a message of more than ${MOST_BYTES} bytes`)
      if (events === undefined) whole += text
      return true
    }
    return Effect.map(read(response, take), () => {
      if (whole.trim() !== "") receiver.message(whole)
    })
  }

  const refusal = (response: Response) =>
    Effect.gen(function*() {
      let told = ""
      // the rest may be without end
      yield* Effect.ignore(read(response, (text) => (told += text).length <= REFUSAL_CHARACTERS))
      if (response.status === 404 && session !== null) receiver.lost("the server has ended the session")
      const to = response.headers.get("location")
      const where = to === null ? "" : `, it redirects to ${to}`
      const message = `the server answered with HTTP status ${response.status}${where}: ${
        clip(told, REFUSAL_CHARACTERS)
      }`
      return yield* new LinkLost({ message, sent: mayHaveExecuted(response.status) })
    })

  const post = (json: JsonText) =>
    Effect.gen(function*() {
      const accept = "application/json, text/event-stream"
      const response = yield* exchange("POST", { "content-type": "application/json", accept }, json)
      if (!response.ok) return yield* refusal(response)
      session ??= response.headers.get("mcp-session-id")
      yield* receive(response)
    })

  /** What the server sends of itself; a server that offers no such stream says so, and is not asked again. */
  const listen: Effect.Effect<void> = Effect.gen(function*() {
    while (true) {
      const response = yield* exchange("GET", { accept: "text/event-stream" }, null)
      if (!response.ok) return yield* Effect.promise(() => response.body?.cancel() ?? Promise.resolve())
      yield* Effect.ignore(receive(response))
      yield* Effect.sleep(Duration.millis(LISTEN_AGAIN_MS))
    }
  }).pipe(Effect.ignore)

  const scope = yield* Effect.scope
  yield* Effect.addFinalizer(() =>
    session === null
      ? Effect.void
      : exchange("DELETE", {}, null).pipe(Effect.timeoutOption(Duration.millis(CLOSE_MS)), Effect.ignore)
  )
  const link: McpLink = {
    request: (json) =>
      Effect.andThen(
        post(json),
        Effect.fail(new LinkLost({ message: "the server ended without an answer", sent: true }))
      ),
    send: post,
    agreed: (agreed) =>
      Effect.suspend(() => {
        version = agreed
        return Effect.asVoid(Effect.forkIn(listen, scope))
      })
  }
  return link
})
