/**
 * Tools that run in this process, beside those that go elsewhere (PRK-1).
 *
 * Rule: a name belongs to one tool; which executor serves it is settled when the layer is built and by nothing that a
 * model or a client says.
 */
import { ClientTool, Ids, Limits, Registry, type Requirements, ToolAnswer, type ToolHandler } from "@errand/protocol"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as CallStart from "./CallStart.ts"
import { Catalog, type CatalogTool, clientTool } from "./Catalog.ts"
import { answered, busy, expired } from "./ClientOutcome.ts"
import { type ExecutionOutcome, ToolExecutor, type ToolInvocation, type ToolOutcome } from "./ToolExecutor.ts"

/** Executes a call; interruption of the fiber is the cancellation. */
export type Execute = (call: ToolInvocation) => Effect.Effect<ToolOutcome>

/** A tool of the catalog together with what executes it. */
export interface LocalTool extends CatalogTool {
  readonly execute: Execute
}

/** An executor for local tools, which marks their starts; what is none of them goes to `otherwise`. */
export const router = <O extends ExecutionOutcome>(
  tools: ReadonlyArray<LocalTool>,
  otherwise: (call: ToolInvocation) => Effect.Effect<O>
): (call: ToolInvocation) => Effect.Effect<O | ToolOutcome> => {
  const byName = new Map(tools.map((tool) => [tool.name, tool.execute]))
  return (call) => {
    const execute = byName.get(call.name)
    return execute === undefined ? otherwise(call) : CallStart.marked(call, execute)
  }
}

/** A program whose tools are all local: its catalog and its executor, no wire. */
export const layer = (tools: ReadonlyArray<LocalTool>): Layer.Layer<Catalog | ToolExecutor> =>
  Layer.merge(
    Catalog.layerOf(tools),
    Layer.succeed(ToolExecutor, ToolExecutor.of({ execute: router(tools, missing) }))
  )

const missing: Execute = (call) => Effect.die(new Error(`the catalog offers ${call.name}, but nothing executes it`))

type Handlers = ReadonlyArray<ToolHandler<unknown>>

/**
 * Client tools whose handlers run here, with the same bounds, deadlines, outcomes and texts as over the wire; what the
 * handlers need is what the layer needs. Tools that no server would register (CLT-3) are a defect.
 */
export const layerOf = <const Tools extends Handlers>(
  handlers: Tools
): Layer.Layer<Catalog | ToolExecutor, never, Requirements<Tools>> =>
  Layer.unwrap(Effect.map(ofHandlers(handlers), layer))

/** The local tools that client tools with handlers are; their fibers live no longer than the scope. */
export const ofHandlers = Effect.fnUntraced(function*<const Tools extends Handlers>(
  handlers: Tools
): Effect.fn.Return<ReadonlyArray<LocalTool>, never, Requirements<Tools> | Scope.Scope> {
  const limits = yield* Limits.Limits
  const descriptors = handlers.map(({ declaration }) => ClientTool.effective(declaration))
  const registry = Registry.decode(`[${descriptors.join(",")}]`, limits)
  if (Result.isFailure(registry)) return yield* Effect.die(new Error(registry.failure.message))

  const { pending_calls, result_bytes } = limits.clientTools
  const clock = yield* Clock.Clock
  const newId = yield* Ids.Generator
  const scope = yield* Effect.scope
  const context = yield* Effect.context<Requirements<Tools>>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  let pending = 0

  const execute = ({ answer }: ToolHandler<Requirements<Tools>>, call: ToolInvocation) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const deadline = now() + call.timeoutMs
        const { run, subagentId, taskId } = call.agent
        const told = {
          name: call.name,
          sessionId: run.sessionId,
          runId: run.runId,
          callId: newId() as Ids.CallId,
          taskId,
          subagentId,
          timeoutMs: call.timeoutMs,
          argumentsText: call.arguments
        }
        const work = Effect.provide(Effect.suspend(() => answer(told)), context)
        const fiber = yield* Effect.forkIn(Effect.interruptible(work), scope, { startImmediately: true })
        const exit = yield* restore(Effect.timeoutOption(Fiber.await(fiber), Duration.millis(call.timeoutMs))).pipe(
          Effect.onInterrupt(() => Fiber.interrupt(fiber))
        )
        // The deadline decides, not the order in which timers fire; nor does a handler that will not stop hold the run.
        if (Option.isNone(exit) || deadline <= now()) {
          fiber.interruptUnsafe()
          return expired(call.timeoutMs)
        }
        const said = Exit.isSuccess(exit.value) ? exit.value.value : ToolAnswer.unanswered(exit.value.cause)
        return answered(ToolAnswer.within(said, result_bytes))
      })
    )

  return handlers.map((handler): LocalTool => ({
    ...clientTool(handler.declaration),
    execute: (call) =>
      Effect.suspend(() => {
        if (pending >= pending_calls) return Effect.succeed(busy(pending_calls))
        pending++
        return Effect.ensuring(execute(handler as ToolHandler<Requirements<Tools>>, call), Effect.sync(() => pending--))
      })
  }))
})
