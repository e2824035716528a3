/** A model that answers from a function and remembers what it saw, and a harness around it. */
import {
  Deferral,
  type Message,
  type ModelFailed,
  type ModelRequest,
  ModelTurn,
  type ModelUsage
} from "@errand/runtime"
import {
  AgentDefinition,
  ClientTool,
  ClientToolset,
  Harness,
  HostTool,
  Resumes,
  type RunResult,
  type Suspension
} from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ok } from "./Fixture.ts"

export interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** One answer of the model. */
export interface Says {
  readonly text?: string
  readonly calls?: ReadonlyArray<Call>
  readonly usage?: ModelUsage
  readonly fails?: ModelFailed
  readonly never?: boolean
}

/** Answers request after request, and keeps a copy of each request's messages, tools and instructions. */
export class FakeModel {
  readonly requests: Array<{
    readonly messages: ReadonlyArray<Message>
    readonly tools: ReadonlyArray<string>
    readonly instructions: string | null
  }> = []
  private readonly answer: (request: ModelRequest, count: number) => Says

  constructor(answer: ((request: ModelRequest, count: number) => Says) | ReadonlyArray<Says>) {
    this.answer = typeof answer === "function"
      ? answer
      : (_, count) => answer[count] ?? { text: `no answer ${count}` }
  }

  get service(): ModelTurn["Service"] {
    return {
      provider: "fake",
      name: "fake",
      turn: (request) =>
        Stream.suspend(() => {
          const said = this.answer(request, this.requests.length)
          this.requests.push({
            messages: structuredClone(request.messages) as ReadonlyArray<Message>,
            tools: request.tools.map((tool) => tool.name),
            instructions: request.instructions
          })
          if (said.never === true) return Stream.never
          if (said.fails !== undefined) return Stream.fail(said.fails)
          return Stream.fromIterable([
            ...(said.text === undefined ? [] : [{ _tag: "TextDelta", text: said.text } as const]),
            ...(said.calls ?? []).map((call) => ({ _tag: "ToolCall", call } as const)),
            { _tag: "Finish", usage: said.usage ?? { inputTokens: 1, outputTokens: 1 } } as const
          ])
        })
    }
  }
}

export const call = (id: string, name: string, args: unknown = {}): Call => ({
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

export const lookup = ok(ClientTool.make({
  name: "lookup_record",
  description: "Looks a record up.",
  instruction: "Look records up by number.",
  metadata: { row: 1 },
  parameters: Schema.Struct({ record_id: Schema.String }),
  success: Schema.Struct({ title: Schema.String }),
  failure: Schema.Struct({ why: Schema.String })
}))

export const free = ok(ClientTool.raw({
  name: "free_form",
  description: "Takes and gives anything.",
  parameters: { type: "object", properties: { n: { type: "integer" } } }
}))

export const patient = ok(ClientTool.raw({
  name: "patient",
  description: "May be asked twice.",
  retrySafe: true,
  parameters: { type: "object" }
}))

export const toolset = ok(ClientToolset.make("crm", [lookup, free, patient]))
export const clientTools = ok(ClientToolset.spec({ defaultToolsets: [toolset], allowRunOverride: true }))

/** Tools of the process that count their executions. */
export class Counted {
  readonly ran: Array<string> = []

  tool(name: string, permission: "allow" | "ask" | "deny" = "allow", options: { readonly retrySafe?: boolean } = {}) {
    return ok(HostTool.make({
      name,
      description: `Does ${name}.`,
      parameters: Schema.Struct({ path: Schema.optionalKey(Schema.String) }),
      permission,
      ...options,
      execute: ({ path }) =>
        Effect.sync(() => {
          this.ran.push(`${name} ${path ?? ""}`.trim())
          return `${name} did ${path ?? "it"}`
        })
    }))
  }
}

/** Builds a harness as a process would: its own ledger, its own model. */
export const harnessOf = <Output, Tool extends ClientTool.ClientTool>(
  definition: AgentDefinition.AgentDefinition<Output, Tool>,
  model: FakeModel,
  options: Harness.Options = { trustUnsigned: true }
): Effect.Effect<Harness.Harness<Output, Tool>> =>
  Harness.make(definition, options).pipe(
    Effect.provideService(ModelTurn, model.service),
    Effect.provide(Deferral.layer),
    Effect.provideService(Resumes.Ledger, new Resumes.Resumes())
  )

export const definition = <Tools extends ReadonlyArray<AgentDefinition.HostTool>>(tools: Tools) =>
  AgentDefinition.make({ instructions: "Be careful.", clientTools, tools })

export const suspended = <A>(result: RunResult.RunResult<A>): RunResult.Suspended => {
  if (result._tag !== "Suspended") throw new Error(`expected Suspended: ${JSON.stringify(result)}`)
  return result
}

export const completed = <A>(result: RunResult.RunResult<A>): RunResult.Completed<A> => {
  if (result._tag !== "Completed") throw new Error(`expected Completed: ${JSON.stringify(result)}`)
  return result
}

export const failedRun = <A>(result: RunResult.RunResult<A>): RunResult.Failed => {
  if (result._tag !== "Failed") throw new Error(`expected Failed: ${JSON.stringify(result)}`)
  return result
}

/** The suspension as another process would get it from a store. */
export const stored = (result: RunResult.Suspended): Suspension.Suspension =>
  JSON.parse(JSON.stringify(result.suspension))
