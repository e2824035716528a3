/**
 * A server of one's own: spawned, initialized, and lent the tools of this program.
 *
 * Rule: the client lives in a scope. When it closes, or when the server is lost, every handler is interrupted, everything
 * that waits fails with one typed error, and no process is left (CLI-2).
 */
import {
  type Ids,
  type JsonText,
  Negotiation,
  type Requests,
  type Requirements,
  type ResultOf,
  type ToolCall,
  type ToolHandler
} from "@errand/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Answers } from "./Answers.ts"
import { Approvals, type Approve } from "./Approvals.ts"
import {
  type ConnectionLost,
  type RequestError,
  type ServerExited,
  ServerProtocolViolated,
  ServerSpawnFailed,
  type ToolDeclarationInvalid
} from "./ClientError.ts"
import { Connection, leastIds } from "./Connection.ts"
import * as Session from "./Session.ts"
import { spawned, type SpawnOptions } from "./Spawn.ts"
import { type Toolkit, toolkit } from "./Tool.ts"
import { ToolHandlers } from "./ToolHandlers.ts"
import type { TransportSource } from "./Transport.ts"
import { approvalOf, Turns } from "./Turns.ts"

/** Tools to lend: a list, or a list that was checked already. */
type Lent = ReadonlyArray<ToolHandler<unknown>> | Toolkit<unknown>

type Needs<Tools extends Lent> = Tools extends Toolkit<infer R> ? R
  : Tools extends ReadonlyArray<ToolHandler<unknown>> ? Requirements<Tools>
  : never

/** What a client is made of; `A` is what `approve` needs. */
export interface ClientOptions<Tools extends Lent = ReadonlyArray<ToolHandler>, A = never> {
  /** What to spawn, or how else to reach a server; the default is `errand serve --stdio`. */
  readonly server?: SpawnOptions | TransportSource
  /** The tools to lend; without any, `client.tools` is not negotiated. */
  readonly tools?: Tools
  /** Further required capabilities, such as `tool.cards` (LIF-2). */
  readonly capabilities?: ReadonlyArray<string>
  /** Decides questions for permission; without it every answer is no. */
  readonly approve?: Approve<A>
}

/** How making a client can fail. */
export type StartError = ServerSpawnFailed | ToolDeclarationInvalid | RequestError

/** One session of `listSessions`, as the protocol writes it (SES-4). */
export type SessionSummary = ResultOf<"session.list">["sessions"][number]

/** A running server and what can be asked of it. */
export class Client extends Context.Service<Client, {
  /** What the server said of itself (LIF-7). */
  readonly server: ResultOf<"initialize">
  /** Makes a session and attaches it; the one that was attached is detached (SES-1, SES-2). */
  readonly createSession: Effect.Effect<Session.Session, RequestError>
  /** Attaches a session that exists; `session_not_found` and `session_locked` are refusals (SES-2). */
  readonly openSession: (sessionId: string) => Effect.Effect<Session.Session, RequestError>
  /** All sessions, newest first. */
  readonly listSessions: Stream.Stream<SessionSummary, RequestError>
  /** The history of any session, also of one that another process holds. */
  readonly history: (sessionId: string) => Stream.Stream<Requests.HistoryEntry, RequestError>
  /** How the server stands, at any moment (LIF-9). */
  readonly status: Effect.Effect<ResultOf<"status">, RequestError>
  /** Asks the server to end and waits until it did. */
  readonly shutdown: Effect.Effect<void, RequestError>
  /** How many requests the server still takes (REQ-4); turns are refused below 64 (CLI-3). */
  readonly requestIdsLeft: Effect.Effect<number>
  /** Waits until the server is lost and says why. */
  readonly lost: Effect.Effect<ConnectionLost>
}>()("@errand/client/Client") {
  /** The client as a layer; closing the layer ends the server. */
  static layer<const Tools extends Lent = readonly [], A = never>(
    options: ClientOptions<Tools, A>
  ): Layer.Layer<Client, StartError, Needs<Tools> | A> {
    return Layer.effect(Client, make(options))
  }
}

/** How long the handlers get to end when the client closes, in milliseconds. */
const handlersMs = 2000

/** Starts a server and initializes it; the scope's end is the server's. */
export const make = Effect.fnUntraced(function*<const Tools extends Lent = readonly [], A = never>(
  options: ClientOptions<Tools, A>
): Effect.fn.Return<Client["Service"], StartError, Scope.Scope | Needs<Tools> | A> {
  const { approve, capabilities = [], server = {} } = options
  const tools: Lent = options.tools ?? []
  const lent = "handlers" in tools ? tools : yield* Effect.try({
    try: () => toolkit(tools),
    catch: (error) => error as ToolDeclarationInvalid
  })
  const kit = lent as Toolkit<Needs<Tools>>
  const runFork = Effect.runForkWith(yield* Effect.context<Needs<Tools> | A>())
  const lost = yield* Deferred.make<ConnectionLost>()
  const transport = yield* Effect.isEffect(server) ? server : spawned(server)

  const connection = new Connection(transport, {
    event: (event) => {
      switch (event.event) {
        case "client.tool.call": {
          const { data } = event
          const call: ToolCall = {
            name: data.name,
            sessionId: data.session_id,
            runId: data.run_id,
            callId: data.call_id,
            taskId: data.task_id,
            subagentId: data.subagent_id,
            timeoutMs: data.timeout_ms,
            argumentsText: data.arguments
          }
          turns.add(call.runId, { _tag: "ToolCalled", call })
          return handlers.call(call)
        }
        case "client.tool.cancel":
          handlers.cancel(event.data.call_id)
          break
        case "approval.requested":
          turns.event(event)
          return approvals.requested(approvalOf(event.data))
        case "approval.resolved":
          approvals.resolved(event.data)
          break
        default:
      }
      turns.event(event)
    },
    lost: (why) => {
      handlers.stop()
      approvals.stop()
      turns.lost(why)
      Deferred.doneUnsafe(lost, Exit.succeed(why))
    }
  })
  const turns = new Turns(connection)
  const answers = new Answers(connection, (call, why) => turns.fail(call.runId, why))
  const handlers = new ToolHandlers(kit, runFork, (call, answer) => {
    const { status } = answers.send(call, answer)
    turns.add(call.runId, { _tag: "ToolAnswered", call, status })
  })
  const approvals = new Approvals(connection, approve, runFork, ({ runId }, why) => turns.fail(runId, why))

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      approvals.stop()
      const ended = Effect.interruptible(Fiber.awaitAll(handlers.stop()))
      return Effect.asVoid(Effect.timeoutOption(ended, handlersMs))
    })
  )
  connection.start()
  const initialized = yield* initialize(connection, capabilities, kit).pipe(
    Effect.catchTag("ServerExited", (exited) => Effect.fail(neverStarted(transport.label, exited)))
  )
  connection.negotiated(initialized.limits)
  if (initialized.client_tools !== undefined) answers.negotiated(initialized.client_tools.limits)

  return {
    server: initialized,
    createSession: Effect.map(
      connection.request("session.create", {}),
      ({ session_id }) => Session.make(connection, turns, session_id, 0)
    ),
    openSession: (sessionId) =>
      Effect.map(
        connection.request("session.open", { session_id: sessionId as Ids.SessionId }),
        ({ entries, session_id }) => Session.make(connection, turns, session_id, entries)
      ),
    listSessions: Stream.paginate(Option.none<string>(), (cursor) =>
      Effect.map(
        connection.request("session.list", Option.isSome(cursor) ? { cursor: cursor.value } : {}),
        (
          { next_cursor, sessions }
        ) => [sessions, next_cursor === null ? Option.none() : Option.some(Option.some(next_cursor))]
      )),
    history: (sessionId) => Session.history(connection, sessionId as Ids.SessionId),
    status: connection.request("status", {}),
    shutdown: Effect.andThen(
      connection.request("shutdown", {}, { needed: leastIds.shutdown }),
      Effect.asVoid(Deferred.await(lost))
    ),
    requestIdsLeft: Effect.sync(() => connection.idsLeft),
    lost: Deferred.await(lost)
  }
})

const initialize = Effect.fnUntraced(function*(
  connection: Connection,
  capabilities: ReadonlyArray<string>,
  kit: Toolkit<never> | { readonly descriptors: JsonText; readonly handlers: ReadonlyMap<string, unknown> }
) {
  const withTools = kit.handlers.size > 0 || capabilities.includes("client.tools")
  const required = new Set([...capabilities, ...(withTools ? ["client.tools"] : [])])
  const result = yield* connection.request("initialize", {
    required_capabilities: [...required],
    ...(withTools ? { client_tools: kit.descriptors } : {})
  })
  const { name, version } = Negotiation.protocol
  if (result.protocol !== name || result.version !== version) {
    const spoken = `${result.protocol} version ${result.version}`
    return yield* new ServerProtocolViolated({ detail: `it speaks ${spoken}, this client ${name} version ${version}` })
  }
  return result
})

const neverStarted = (command: string, { code, signal, stderrTail }: ServerExited): ServerSpawnFailed =>
  new ServerSpawnFailed({ command, reason: null, code, signal, stderrTail })
