/** Runs code as `run_code` does, with tools that a test makes up. */
import type { Agent, CatalogTool, ToolOutcome } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as RunCode from "../../src/codemode/RunCode.ts"
import { invocation } from "../ToolRig.ts"

export interface Options {
  readonly bounds?: Parameters<typeof RunCode.make>[0]
  /** What a call of a tool comes to. */
  readonly nested?: (name: string, args: string, agent: Agent) => Effect.Effect<ToolOutcome>
  readonly tools?: ReadonlyArray<CatalogTool>
}

/** What the call of `run_code` with this code comes to. */
export const run = (code: string, { bounds = {}, nested, tools = [] }: Options = {}): Effect.Effect<ToolOutcome> =>
  Effect.flatMap(RunCode.make(bounds), (tool) =>
    tool.execute(invocation("run_code", JSON.stringify({ code }), {
      catalog: {
        tools,
        offered: () => tools,
        resolve: () => ({ _tag: "Refused", code: "unknown_tool", message: "" })
      },
      nested: (agent, name, args) =>
        nested?.(name, args, agent) ?? Effect.succeed({ _tag: "Success", text: `${name} ${args}` })
    })))

/** The value that code returns, as the JSON text that the model reads. */
export const value = (code: string, options?: Options): Effect.Effect<string | undefined> =>
  Effect.map(run(code, options), (outcome) => outcome._tag === "Success" ? outcome.structured : JSON.stringify(outcome))

/** The text of a call that must fail. */
export const fault = (code: string, options?: Options): Effect.Effect<string> =>
  Effect.map(run(code, options), (outcome) => outcome._tag === "Failure" ? outcome.text : JSON.stringify(outcome))
