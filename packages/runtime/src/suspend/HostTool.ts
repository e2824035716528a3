/**
 * Tools that the program executes itself, declared with schemas.
 *
 * Rule: arguments are decoded before the tool runs and results encoded after it, so that a handler sees its own types;
 * what a handler fails with is told to the model in its words.
 */
import { JsonCodec } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ToolInvocation } from "../ToolExecutor.ts"
import type { HostTool } from "./AgentDefinition.ts"
import { argumentsDecoder, type ClientToolInvalid, type JsonSchemaOf, make as declare } from "./Declaration.ts"
import * as JsonValue from "./JsonValue.ts"

/** What a tool of this process says; `permission` is what happens where no rule matches (HKS-1). */
export interface Options<A, S> {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchemaOf<A>
  readonly success?: JsonSchemaOf<S>
  readonly permission?: "allow" | "ask" | "deny"
  readonly retrySafe?: boolean
  /** Executes one call; what it fails with is the message that the model reads. Interruption is the cancellation. */
  readonly execute: (args: A, call: ToolInvocation) => Effect.Effect<S, string>
}

/** A tool of this process; the error names the field that is wrong. */
export const make = <A, S = unknown>(options: Options<A, S>): Result.Result<HostTool, ClientToolInvalid> =>
  Result.map(
    declare({ name: options.name, description: options.description, parameters: options.parameters }),
    (tool) => {
      const decode = argumentsDecoder(options.parameters)
      const encode = options.success === undefined
        ? (value: S): unknown => value
        : Schema.encodeUnknownSync(JsonCodec.of(options.success))
      const execute: HostTool["execute"] = (call) =>
        Result.match(decode(call.arguments), {
          onFailure: ({ path, rule }) =>
            Effect.succeed({
              _tag: "Refused",
              code: "invalid_arguments",
              message: `${path} ${rule}. It was not executed.`
            }),
          onSuccess: (args) =>
            options.execute(args, call).pipe(
              Effect.map((value) => succeeded(encode(value))),
              Effect.catch((message) => Effect.succeed({ _tag: "Failure", text: message } as const))
            )
        })
      return {
        name: tool.name,
        description: tool.description,
        inputSchema: tool.parameters,
        kind: "builtin",
        timeoutMs: 0,
        inspection: false,
        otherwise: options.permission ?? "allow",
        retrySafe: options.retrySafe ?? false,
        checkArguments: tool.checkArguments,
        execute
      }
    }
  )

const succeeded = (value: unknown) => {
  if (typeof value === "string") return { _tag: "Success", text: value } as const
  if (value === undefined) return { _tag: "Success", text: "" } as const
  return { _tag: "Success", text: "", structured: Result.getOrThrow(JsonValue.encode(value, "value")) } as const
}
