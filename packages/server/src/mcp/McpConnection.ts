/**
 * A conversation with one MCP server: greeting, tools, calls with cancellation and progress (BLT-5).
 *
 * Rule: every request has one end, an answer, an error, a lost link, or the end of patience; whoever stops waiting tells
 * the server.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { version } from "../Version.ts"
import { LinkLost, type McpLink, type Receiver } from "./McpLink.ts"
import * as McpMessage from "./McpMessage.ts"

/** The revisions of the protocol that are understood, the one that is asked for first. */
const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]

/** Milliseconds that greeting and listing may take. */
const GREETING_MS = 60_000

/** Pages of tools that are asked for. */
const MOST_PAGES = 100

/** Milliseconds that telling a server something may take. */
const TELL_MS = 2000

/** The server answered that it could not do what was asked. */
export class ServerRefused extends Data.TaggedError("ServerRefused")<{ readonly message: string }> {}

/** The server did not answer in time. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly ms: number }> {}

/** Why a request has no result. */
export type RequestError = LinkLost | ServerRefused | NoAnswer

/** How long a request is waited for: without a sign of life, and in all. Progress is a sign of life. */
export interface Patience {
  readonly silentMs: number
  readonly mostMs: number
}

/** A live conversation. */
export interface McpConnection {
  /** All pages of the server's tools, as it told them. */
  readonly listTools: Effect.Effect<ReadonlyArray<unknown>, RequestError>
  /** Calls a tool; gives the result as the server told it. Interruption cancels the call on the server. */
  readonly callTool: (name: string, args: JsonText, patience: Patience) => Effect.Effect<unknown, RequestError>
  /** Waits until the server says that its tools have changed. */
  readonly changed: Effect.Effect<void>
  /** Waits until the server is lost; gives the reason. */
  readonly lost: Effect.Effect<string>
}

interface Pending {
  readonly resume: (effect: Effect.Effect<unknown, RequestError>) => void
  readonly alive: () => void
}

/** Opens a link, greets the server and agrees on a revision; the scope ends all of it. */
export const open = Effect.fnUntraced(function*(
  dial: (receiver: Receiver) => Effect.Effect<McpLink, LinkLost, Scope.Scope>
): Effect.fn.Return<McpConnection, RequestError, Scope.Scope> {
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const gone = yield* Deferred.make<string>()
  const changes = yield* Queue.sliding<void>(1)
  const pending = new Map<number, Pending>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  let last = 0

  const settle = (id: number, exit: Effect.Effect<unknown, RequestError>): void => pending.get(id)?.resume(exit)
  const take = (message: McpMessage.McpMessage): void => {
    switch (message._tag) {
      case "Answer":
        return settle(message.id, Effect.succeed(message.result))
      case "Error":
        return settle(message.id, Effect.fail(new ServerRefused({ message: `${message.message} (${message.code})` })))
      case "Invalid":
        if (message.id === undefined) return
        return settle(message.id, Effect.fail(new LinkLost({ message: message.problem, sent: true })))
      case "Request":
        fork(tell(McpMessage.reply(message.id, message.method)))
        return
      case "Notification": {
        if (message.method === "notifications/tools/list_changed") Queue.offerUnsafe(changes, undefined)
        const token = McpMessage.member(message.params, "progressToken")
        if (message.method === "notifications/progress" && typeof token === "number") pending.get(token)?.alive()
      }
    }
  }
  const tell = (json: JsonText) =>
    Effect.suspend(() => Effect.ignore(Effect.timeoutOption(link.send(json), Duration.millis(TELL_MS))))
  const link: McpLink = yield* dial({
    message: (json) => McpMessage.read(json).forEach(take),
    lost: (reason) => {
      Deferred.doneUnsafe(gone, Effect.succeed(reason))
      for (const one of pending.values()) one.resume(Effect.fail(new LinkLost({ message: reason, sent: true })))
    }
  })

  const request = (method: string, params: (id: number) => JsonText, patience: Patience, cancels: boolean) =>
    Effect.suspend(() => {
      const id = ++last
      const started = now()
      let heard = started
      const answered = Effect.callback<unknown, RequestError>((resume) => {
        pending.set(id, { resume, alive: () => heard = now() })
      })
      const expired: Effect.Effect<never, NoAnswer> = Effect.suspend(() => {
        const left = Math.min(heard + patience.silentMs, started + patience.mostMs) - now()
        return left <= 0
          ? Effect.fail(new NoAnswer({ ms: Math.round(now() - started) }))
          : Effect.andThen(clock.sleep(Duration.millis(Math.ceil(left))), expired)
      })
      const notice = McpMessage.notification("notifications/cancelled", `{"requestId":${id}}` as JsonText)
      const cancel = cancels ? Effect.forkIn(tell(notice), scope, { startImmediately: true }) : Effect.void
      return Effect.raceFirst(
        answered,
        Effect.raceFirst(link.request(McpMessage.request(id, method, params(id))), expired)
      ).pipe(
        Effect.onInterrupt(() => cancel),
        Effect.tapError((error) => error._tag === "NoAnswer" ? cancel : Effect.void),
        Effect.ensuring(Effect.sync(() => pending.delete(id)))
      )
    })

  const greeting: Patience = { silentMs: GREETING_MS, mostMs: GREETING_MS }
  const client = `{"name":"errand","version":${Json.quote(version)}}`
  const hello = `{"protocolVersion":"${VERSIONS[0]}","capabilities":{},"clientInfo":${client}}` as JsonText
  const greeted = yield* request("initialize", () => hello, greeting, false)
  const agreed = McpMessage.text(greeted, "protocolVersion")
  if (agreed === undefined || !VERSIONS.includes(agreed)) {
    return yield* new ServerRefused({ message: `it speaks another revision of the protocol (${agreed ?? "none"})` })
  }
  yield* link.agreed(agreed)
  yield* link.send(McpMessage.notification("notifications/initialized"))
  const hasTools = McpMessage.member(McpMessage.member(greeted, "capabilities"), "tools") !== undefined

  const listTools = Effect.gen(function*() {
    const tools: Array<unknown> = []
    let cursor: string | undefined
    if (!hasTools) return tools
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = cursor === undefined ? "{}" : `{"cursor":${Json.quote(cursor)}}`
      const listed = yield* request("tools/list", () => params as JsonText, greeting, true)
      const more = McpMessage.member(listed, "tools")
      if (Array.isArray(more)) tools.push(...more as ReadonlyArray<unknown>)
      cursor = McpMessage.text(listed, "nextCursor")
      if (cursor === undefined) break
    }
    return tools
  })

  return {
    listTools,
    callTool: (name, args, patience) => {
      const params = (id: number) =>
        `{"name":${Json.quote(name)},"arguments":${args},"_meta":{"progressToken":${id}}}` as JsonText
      return request("tools/call", params, patience, true)
    },
    changed: Queue.take(changes),
    lost: Deferred.await(gone)
  }
})
