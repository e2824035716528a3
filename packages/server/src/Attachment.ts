/**
 * The attached session and the run that is active in it (SES-1 to SES-3, TRN-1, TRN-2).
 *
 * Rule: at most one session is attached and at most one run is active; a run is active from its admission until its
 * `run.finished` is in the output queue.
 */
import { Ids, WireError } from "@errand/protocol"
import { AgentRunner, type RunEnd, type RunScope, type StorageFailed, TaskHistories } from "@errand/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { OpenSession } from "./OpenSession.ts"
import { type SessionLocked, type SessionNotFound, SessionStore } from "./SessionStore.ts"

/** Why a session cannot be attached. */
export type AttachError = WireError | SessionLocked | SessionNotFound | StorageFailed

interface ActiveRun {
  readonly scope: RunScope
  fiber: Fiber.Fiber<RunEnd> | undefined
}

/** A run that was admitted and not begun, so that its admission can be answered first. */
export interface AdmittedRun {
  readonly runId: Ids.RunId
  readonly begin: Effect.Effect<void>
}

/** Attaches sessions and starts, cancels and ends their runs. */
export class Attachment extends Context.Service<Attachment, {
  readonly create: Effect.Effect<OpenSession, AttachError>
  /** Opening the attached session again changes nothing (SES-2). */
  readonly open: (sessionId: Ids.SessionId) => Effect.Effect<OpenSession, AttachError>
  readonly start: (sessionId: Ids.SessionId, prompt: string) => Effect.Effect<AdmittedRun, WireError>
  /** Gives what cancels the run, to be done after the answer; `stale_run` when it is not the active one (TRN-2). */
  readonly cancel: (sessionId: string, runId: string) => Result.Result<() => void, WireError>
  /** Ends the active run with the reason `shutdown` and releases the session (CLS-2). */
  readonly close: Effect.Effect<void>
  readonly sessionId: () => string | null
  readonly runId: () => Ids.RunId | null
}>()("@errand/server/Attachment") {
  /** Over the store and the runner that are provided. */
  static readonly layerNoDeps = Layer.effect(
    Attachment,
    Effect.gen(function*() {
      const store = yield* SessionStore
      const runner = yield* AgentRunner
      const newId = yield* Ids.Generator
      const scope = yield* Effect.scope
      let session: OpenSession | undefined
      let active: ActiveRun | undefined

      const idle = Effect.suspend(() =>
        active === undefined
          ? Effect.void
          : Effect.fail(new WireError("run_active", "a run is active; cancel it or wait"))
      )
      const release = Effect.suspend(() => {
        const former = session
        session = undefined
        return former === undefined ? Effect.void : former.close
      })
      const attach = (next: OpenSession) => Effect.as(Effect.andThen(release, Effect.sync(() => session = next)), next)

      const open = (sessionId: string) =>
        Effect.andThen(
          idle,
          Effect.suspend(() =>
            session?.sessionId === sessionId
              ? Effect.succeed(session)
              : Effect.flatMap(store.open(sessionId), attach)
          )
        )

      const start = Effect.fnUntraced(function*(sessionId: Ids.SessionId, prompt: string) {
        const current = session
        if (current?.sessionId !== sessionId) {
          return yield* Effect.fail(new WireError("session_not_attached", "session_id: is not the attached session"))
        }
        yield* idle
        const run: ActiveRun = {
          scope: { sessionId, runId: newId() as Ids.RunId, ending: "cancelled" },
          fiber: undefined
        }
        active = run
        const body = runner.run({ run: run.scope, history: current.history, prompt }).pipe(
          Effect.provideService(TaskHistories, { open: current.taskHistory }),
          Effect.ensuring(Effect.sync(() => active = undefined))
        )
        const begin = Effect.map(Effect.forkIn(body, scope, { startImmediately: true }), (fiber) => {
          run.fiber = fiber
        })
        return { runId: run.scope.runId, begin }
      })

      const cancel = (sessionId: string, runId: string): Result.Result<() => void, WireError> => {
        const run = active
        return run === undefined || run.scope.runId !== runId || run.scope.sessionId !== sessionId
          ? Result.fail(new WireError("stale_run", "run_id: is not the active run of the attached session"))
          : Result.succeed(() => run.fiber?.interruptUnsafe())
      }

      const close = Effect.gen(function*() {
        if (active !== undefined) {
          active.scope.ending = "shutdown"
          if (active.fiber !== undefined) yield* Fiber.interrupt(active.fiber)
        }
        yield* release
      })

      return Attachment.of({
        create: Effect.andThen(idle, Effect.flatMap(store.create, attach)),
        open,
        start,
        cancel,
        close,
        sessionId: () => session?.sessionId ?? null,
        runId: () => active?.scope.runId ?? null
      })
    })
  )
}
