/** The harness, with everything that it checks: surface, digest, preflight, protection, history. */
import { Deferral, type Message, ModelTurn } from "@errand/runtime"
import {
  AgentDefinition,
  ClientTool,
  ClientToolset,
  Digest,
  Harness,
  Resumes,
  State,
  Suspension
} from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { Cycled } from "../suspension.ts"
import { callId, final, history, prompt, system, toolArguments, toolName } from "./job.ts"

export const keys = Result.getOrThrow(Digest.makeKeys([{ id: "k", secret: new Uint8Array(32).fill(7) }]))

const finish = { _tag: "Finish", usage: { inputTokens: 1, outputTokens: 1 } } as const

const model: ModelTurn["Service"] = {
  provider: "bench",
  name: "bench",
  turn: ({ messages }) =>
    messages.at(-1)!.role === "tool"
      ? Stream.fromArray([{ _tag: "TextDelta", text: final }, finish])
      : Stream.fromArray([
        { _tag: "ToolCall", call: { id: callId, name: toolName, arguments: toolArguments } },
        finish
      ])
}

const open = Result.getOrThrow(ClientTool.raw({
  name: toolName,
  description: "Open a document in the client application.",
  parameters: {
    type: "object",
    properties: { document_id: { type: "string" } },
    required: ["document_id"],
    additionalProperties: false
  }
}))

const agent = AgentDefinition.make({
  instructions: system,
  clientTools: Result.getOrThrow(
    ClientToolset.spec({ defaultToolsets: [Result.getOrThrow(ClientToolset.make("documents", [open]))] })
  )
})

/**
 * With `kept` the state of the thread stays in the process between its runs, as an embedder may do; without it every cycle
 * begins with plain messages, of which nothing is known.
 */
export const cycleOf =
  (options: { readonly keys: Digest.Keys | null; readonly kept: boolean }) => async (count: number) => {
    const ledger = new Resumes.Resumes()
    const harness = await Effect.runPromise(
      Harness.make(agent, options.keys === null ? {} : { keys: options.keys }).pipe(
        Effect.provideService(ModelTurn, model),
        Effect.provideService(Resumes.Ledger, ledger),
        Effect.provide(Deferral.layer)
      )
    )
    const messages = history(count).map(({ role, text }): Message =>
      role === "user" ? { role, text } : { role, text, toolCalls: [] }
    )
    const stateOf = (added: ReadonlyArray<Message>) =>
      State.make({ threadId: "thread", base: null, added, calls: [], usage: State.noUsage })
    const kept = stateOf(messages)
    return (): Promise<Cycled> =>
      Effect.runPromise(Effect.gen(function*() {
        // copies, so that no text of an earlier cycle is found again
        const state = options.kept ? kept : stateOf(messages.map((message) => ({ ...message })))
        const first = yield* harness.run({ prompt, state })
        if (first._tag !== "Suspended") return yield* Effect.die(first)
        const text = Suspension.stringify(first.suspension)
        const second = yield* harness.resume(text, {
          calls: { [callId]: { status: "success", value: { opened: true } } },
          approvals: {}
        })
        if (second._tag !== "Completed") return yield* Effect.die(second)
        return { bytes: text.length, output: second.output }
      }))
  }
