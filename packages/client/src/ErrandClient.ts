/**
 * Edge: the same client for programs that do not use Effect: promises, async iterators and abort signals.
 *
 * Rule: nothing is decided here. Errors are those of `ClientError`, and what is aborted rejects with the signal's reason.
 */
import type { DerivedSchema, Ids, Requests, ResultOf, ToolAnswer, ToolCall, ToolHandler } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Client, make as makeClient, type SessionSummary } from "./Client.ts"
import type { ConnectionLost } from "./ClientError.ts"
import type { Session } from "./Session.ts"
import type { SpawnOptions } from "./Spawn.ts"
import { make, plain, type ToolValue } from "./Tool.ts"
import type { Codec } from "./ToolCodec.ts"
import type { TransportSource } from "./Transport.ts"
import type { ApprovalRequested, TurnEvent } from "./TurnEvent.ts"

/** A call with the signal that aborts when the server cancels it or is lost. */
export interface AbortableCall extends ToolCall {
  readonly signal: AbortSignal
}

interface Described {
  /** `lookup` and `client__lookup` both become `client__lookup` on the wire. */
  readonly name: string
  readonly description: string
  readonly timeoutMs?: number
}

type Awaitable<A> = A | PromiseLike<A>

type Returned<S extends Codec> = [S] extends [never] ? ToolValue : S["Type"] | ToolAnswer.ToolAnswer

/** Declares a tool with an Effect Schema: the arguments are decoded and typed, and so is the answer if `success` is given. */
export function tool<P extends Codec, S extends Codec = never>(
  options: Described & { readonly parameters: P; readonly success?: S },
  handler: (args: P["Type"], call: AbortableCall) => Awaitable<Returned<S>>
): ToolHandler
/**
 * Declares a tool with a JSON Schema: the arguments are checked against it and handed over as plain data; without one it takes
 * none. The answer is typed if `success` is given.
 */
export function tool<S extends Codec = never>(
  options: Described & { readonly parameters?: DerivedSchema.JsonSchema; readonly success?: S },
  handler: (args: Readonly<Record<string, unknown>>, call: AbortableCall) => Awaitable<Returned<S>>
): ToolHandler
export function tool(
  options: Described & { readonly parameters?: Codec | DerivedSchema.JsonSchema; readonly success?: Codec },
  // The overloads say what it takes; here it is only passed on.
  handler: (args: never, call: AbortableCall) => Awaitable<unknown>
): ToolHandler {
  const { name, parameters, ...described } = options
  const run = (args: unknown, call: ToolCall) =>
    Effect.tryPromise({
      try: (signal) => Promise.resolve(handler(args as never, { ...call, signal })) as Promise<never>,
      catch: (thrown) => thrown as Error
    })
  if (parameters !== undefined && !Schema.isSchema(parameters)) {
    return plain(name, { ...described, parameters: parameters as DerivedSchema.JsonSchema }).handle(run)
  }
  return make(name, { ...described, ...(parameters === undefined ? {} : { parameters: parameters as Codec }) }).handle(
    run
  )
}

/** What may end an operation early. */
export interface Abortable {
  readonly signal?: AbortSignal
}

/** What a client is made of: what to spawn, and what to lend it. */
export interface StartOptions extends SpawnOptions, Abortable {
  readonly tools?: ReadonlyArray<ToolHandler>
  /** Further required capabilities, such as `tool.cards`. */
  readonly capabilities?: ReadonlyArray<string>
  /** Decides questions for permission; without it, or when it throws, the answer is no. */
  readonly approve?: (request: ApprovalRequested, options: { readonly signal: AbortSignal }) => Awaitable<boolean>
  /** Another way to a server than spawning it. */
  readonly transport?: TransportSource
}

/** A running server; close it, or declare it with `await using` where the language has that (Node 24). */
export class ErrandClient implements AsyncDisposable {
  /** What the server said of itself (LIF-7). */
  readonly server: ResultOf<"initialize">
  private readonly client: Client["Service"]
  private readonly scope: Scope.Closeable

  private constructor(client: Client["Service"], scope: Scope.Closeable) {
    this.client = client
    this.scope = scope
    this.server = client.server
  }

  /** Spawns and initializes a server; when that is aborted, no process is left. */
  static async start(options: StartOptions = {}): Promise<ErrandClient> {
    const { approve, capabilities, signal, tools, transport, ...spawn } = options
    const scope = Scope.makeUnsafe()
    const made = makeClient({
      server: transport ?? spawn,
      ...(tools === undefined ? {} : { tools }),
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(approve === undefined ? {} : {
        approve: (request) => Effect.tryPromise((signal) => Promise.resolve(approve(request, { signal })))
      })
    }).pipe(
      Scope.provide(scope),
      (made) => until(signal, made),
      Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Scope.close(scope, exit))
    )
    return new ErrandClient(await Effect.runPromise(made), scope)
  }

  /** Creates a session, or opens the one with this id. */
  async session(sessionId?: string): Promise<ErrandSession> {
    const { createSession, openSession } = this.client
    return new ErrandSession(await Effect.runPromise(sessionId === undefined ? createSession : openSession(sessionId)))
  }

  /** All sessions, newest first. */
  sessions(): AsyncIterable<SessionSummary> {
    return Stream.toAsyncIterable(this.client.listSessions)
  }

  /** The history of any session, oldest first. */
  history(sessionId: string): AsyncIterable<Requests.HistoryEntry> {
    return Stream.toAsyncIterable(this.client.history(sessionId))
  }

  /** How the server stands. */
  status(): Promise<ResultOf<"status">> {
    return Effect.runPromise(this.client.status)
  }

  /** Resolves with the reason when the server is lost. */
  lost(): Promise<ConnectionLost> {
    return Effect.runPromise(this.client.lost)
  }

  /** Ends the server, and waits until it and all handlers are gone; a second call does nothing. */
  close(): Promise<void> {
    return Effect.runPromise(Scope.close(this.scope, Exit.void))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** An attached session. */
export class ErrandSession {
  readonly id: Ids.SessionId
  private readonly session: Session

  /** Made by `ErrandClient`. */
  constructor(session: Session) {
    this.session = session
    this.id = session.id
  }

  /**
   * Runs a turn when it is iterated, and ends with `Finished`. Leaving the loop or aborting cancels the turn and waits for
   * its end, 5 s at most.
   */
  turn(prompt: string, { signal }: Abortable = {}): AsyncIterable<TurnEvent> {
    const events = this.session.turn(prompt)
    return Stream.toAsyncIterable(
      signal === undefined ? events : Stream.suspend(() =>
        // What is aborted already must not begin at all.
        signal.aborted ? Stream.fail(signal.reason) : Stream.interruptWhen(events, aborted(signal))
      )
    )
  }

  /** Runs a turn and gives its last message; rejects when the turn fails or is cancelled. */
  ask(prompt: string, { signal }: Abortable = {}): Promise<string> {
    return Effect.runPromise(until(signal, this.session.ask(prompt)))
  }

  /** What happened in it so far, oldest first. */
  history(): AsyncIterable<Requests.HistoryEntry> {
    return Stream.toAsyncIterable(this.session.history)
  }
}

/** The effect, unless the signal aborts it; what is aborted already does not begin. */
const until = <A, E>(signal: AbortSignal | undefined, effect: Effect.Effect<A, E>): Effect.Effect<A, unknown> =>
  signal === undefined ?
    effect :
    Effect.suspend(() => signal.aborted ? Effect.fail(signal.reason) : Effect.raceFirst(effect, aborted(signal)))

const aborted = (signal: AbortSignal): Effect.Effect<never, unknown> =>
  Effect.callback((resume) => {
    const abort = () => resume(Effect.fail(signal.reason))
    // what it raced with may have aborted it when it began
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
