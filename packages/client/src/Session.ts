/**
 * A conversation with the agent, on the connection that holds it (sections 4 and 5).
 *
 * Rule: a session keeps no state of its own; what is true of it, the server says.
 */
import type { Ids, Requests } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type RequestError, type TurnError, TurnNotCompleted } from "./ClientError.ts"
import type { Connection } from "./Connection.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import type { Turns, Wanted } from "./Turns.ts"

/** An attached session. Creating or opening another one on the same client detaches it (SES-2). */
export interface Session {
  readonly id: Ids.SessionId
  /** How many entries its history had when it was attached. */
  readonly entries: number
  /**
   * Runs a turn when the stream is run, and ends with `Finished`. Interrupting the stream cancels the turn and waits until
   * the server ended it, 5 s at most. One turn at a time: a second one fails with `run_active`.
   */
  readonly turn: (prompt: string) => Stream.Stream<TurnEvent, TurnError>
  /** Runs a turn and gives its last message; fails when the turn fails or is cancelled. */
  readonly ask: (prompt: string) => Effect.Effect<string, TurnError | TurnNotCompleted>
  /** What happened in it so far, oldest first, as the protocol writes it (SES-6). */
  readonly history: Stream.Stream<Requests.HistoryEntry, RequestError>
}

/** A session over the connection that it is attached to. */
export const make = (connection: Connection, turns: Turns, id: Ids.SessionId, entries: number): Session => {
  const turn = (prompt: string) => turns.stream(id, prompt)
  return {
    id,
    entries,
    turn,
    ask: (prompt) => ask(turns.stream(id, prompt, lastMessage)),
    history: history(connection, id)
  }
}

/** All that `ask` needs; nothing else wakes its fiber. */
const lastMessage: Wanted = new Set(["Message", "Finished"] as const)

const ask = (events: Stream.Stream<TurnEvent, TurnError>): Effect.Effect<string, TurnError | TurnNotCompleted> =>
  Effect.suspend(() => {
    let text = ""
    let failed: TurnNotCompleted | undefined
    const take = (event: TurnEvent) => {
      if (event._tag === "Message") text = event.text
      if (event._tag === "Finished" && event.status !== "completed") {
        const { error, status } = event
        failed = new TurnNotCompleted({ status, code: error?.code ?? null, detail: error?.message ?? "" })
      }
    }
    return Effect.flatMap(
      Stream.runForEach(events, (event) => Effect.sync(() => take(event))),
      () => failed === undefined ? Effect.succeed(text) : Effect.fail(failed)
    )
  })

interface Page {
  readonly revision: string
  readonly cursor: string
}

/** The history of any session, page by page; one that changes meanwhile fails with `stale_revision` (SES-5, SES-12). */
export const history = (
  connection: Connection,
  id: Ids.SessionId
): Stream.Stream<Requests.HistoryEntry, RequestError> =>
  Stream.paginate(
    Option.none<Page>(),
    (page) =>
      Effect.map(
        connection.request("history.page", { session_id: id, ...Option.getOrElse(page, () => ({})) }),
        (
          { entries, next_cursor, revision }
        ) => [
          entries,
          next_cursor === null ? Option.none() : Option.some(Option.some({ revision, cursor: next_cursor }))
        ]
      )
  )
