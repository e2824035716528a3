/**
 * Tools declared once: from schemas come the descriptor, the types of the handler, and both codecs.
 *
 * Rule: what a declaration says is checked where it stands. `make`, `raw` and `toolkit` throw `ToolDeclarationInvalid`,
 * which names the tool and the path, so that no server is ever started with tools that it would refuse.
 */
import {
  ClientTool,
  DerivedSchema,
  InputSchema,
  Json,
  type JsonText,
  Limits,
  Registry,
  type Requirements,
  ToolAnswer,
  type ToolCall,
  type ToolHandler
} from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { ToolDeclarationInvalid } from "./ClientError.ts"
import {
  type Arguments,
  argumentsReader,
  type Codec,
  failure,
  failureWriter,
  plainReader,
  successWriter,
  textReader
} from "./ToolCodec.ts"

/** What a handler without a success schema may return: a string is the text, nothing is an empty text. */
export type ToolValue = string | void | ToolAnswer.ToolAnswer | PlainJson

/** JSON as plain data; numbers beyond a double go in as `Json.JsonNumber`. */
export type PlainJson =
  | null
  | boolean
  | number
  | string
  | Json.JsonNumber
  | ReadonlyArray<PlainJson>
  | { readonly [key: string]: PlainJson }

/** How a handler without a failure schema may fail: only the message goes to the model. */
export type PlainFailure = string | { readonly message: string } | ToolAnswer.ToolAnswer

/** A declared tool that still wants its handler. */
export interface Tool<out Args, in Success, in Failure> {
  readonly declaration: ClientTool.ClientTool
  /** Says what to do for a call, in a scope of its own; interrupted when the server cancels it or is lost (CLI-2). */
  readonly handle: <R = never>(
    handler: (args: Args, call: ToolCall) => Effect.Effect<Success, Failure, R>
  ) => ToolHandler<Exclude<R, Scope.Scope>>
}

/** Tools with handlers, their names unique and all bounds of a registry kept (CLT-3). */
export interface Toolkit<out R = never> {
  readonly handlers: ReadonlyMap<string, ToolHandler<R>>
  /** The array `client_tools` as compact text. */
  readonly descriptors: JsonText
}

interface Described {
  readonly description: string
  /** Milliseconds until the server gives up a call: 1,000 to 300,000, 30,000 by default (section 8). */
  readonly timeoutMs?: number
}

type TypeOf<S extends Codec, Absent> = [S] extends [never] ? Absent : S["Type"] | ToolAnswer.ToolAnswer

/**
 * Declares a tool from schemas. `lookup` and `client__lookup` both become `client__lookup` on the wire.
 *
 * Without `parameters` the tool takes none. An encoded success that is a string is the answer's text, any other is its
 * structured value. A failure answers `error` with its encoded fields as structured value.
 */
export const make = <P extends Codec = typeof Schema.Unknown, S extends Codec = never, F extends Codec = never>(
  name: string,
  options: Described & { readonly parameters?: P; readonly success?: S; readonly failure?: F }
): Tool<P["Type"], TypeOf<S, ToolValue>, TypeOf<F, PlainFailure>> => {
  const { failure, parameters, success } = options
  const full = fullName(name)
  const derived = parameters === undefined
    ? Result.succeed(noParameters)
    : DerivedSchema.ofArguments(parameters, "parameters")
  if (Result.isFailure(derived)) {
    const { detail, path } = derived.failure
    throw new ToolDeclarationInvalid({ tool: full, path, detail })
  }
  const { declaration, schema } = declare(full, options, derived.success)
  return declared(
    declaration,
    parameters === undefined ? plainReader(schema) : argumentsReader(parameters),
    successWriter(success),
    failureWriter(failure)
  )
}

const noParameters: DerivedSchema.JsonSchema = { type: "object", additionalProperties: false }

/**
 * Declares a tool from a JSON Schema, as plain data or as text. Its handler gets the arguments as JSON text, checked and
 * lossless, and answers what it likes; `ToolAnswer.structuredText` keeps every digit.
 */
export const raw = (
  name: string,
  options: Described & { readonly parameters: DerivedSchema.JsonSchema | JsonText }
): Tool<JsonText, ToolValue, PlainFailure> => fromJsonSchema(name, options, textReader)

/**
 * Like `raw`, but the handler gets plain data, and its answer is encoded as by `make` if `success` is given; arguments with
 * numbers that a double cannot hold are answered `error`.
 */
export const plain = <S extends Codec = never>(
  name: string,
  options: Described & { readonly parameters: DerivedSchema.JsonSchema | JsonText; readonly success?: S }
): Tool<unknown, TypeOf<S, ToolValue>, PlainFailure> => fromJsonSchema(name, options, plainReader)

const fromJsonSchema = <Args, Success>(
  name: string,
  options: Described & { readonly parameters: DerivedSchema.JsonSchema | JsonText; readonly success?: Codec },
  reader: (schema: Json.JsonNode) => (argumentsText: JsonText) => Arguments<Args>
): Tool<Args, Success, PlainFailure> => {
  const tool = fullName(name)
  const { declaration, schema } = declare(tool, options, options.parameters)
  const read = Result.try(() => reader(schema))
  if (Result.isFailure(read)) {
    throw new ToolDeclarationInvalid({ tool, path: "parameters", detail: String(read.failure) })
  }
  return declared(declaration, read.success, successWriter(options.success), failureWriter(undefined))
}

/** Puts tools together. */
export const toolkit = <const Tools extends ReadonlyArray<ToolHandler<unknown>>>(
  tools: Tools
): Toolkit<Requirements<Tools>> => {
  const descriptors = `[${tools.map((tool) => ClientTool.effective(tool.declaration)).join(",")}]` as JsonText
  const registry = Registry.decode(descriptors)
  if (Result.isFailure(registry)) {
    const index = /^client_tools\[(\d+)\]/.exec(registry.failure.message)?.[1]
    throw new ToolDeclarationInvalid({
      tool: index === undefined ? "" : tools[Number(index)]!.declaration.name,
      path: "toolkit",
      detail: registry.failure.message
    })
  }
  const handlers = tools as ReadonlyArray<ToolHandler<Requirements<Tools>>>
  return { descriptors, handlers: new Map(handlers.map((tool) => [tool.declaration.name, tool])) }
}

const prefix = "client__"

const fullName = (name: string): string => name.startsWith(prefix) ? name : prefix + name

const declare = (
  name: string,
  described: Described,
  schema: DerivedSchema.JsonSchema | JsonText
): { readonly declaration: ClientTool.ClientTool; readonly schema: Json.JsonNode } => {
  const refuse = (path: string, detail: string): never => {
    throw new ToolDeclarationInvalid({ tool: name, path, detail })
  }
  const read: Result.Result<Json.JsonNode, Json.JsonFault> = typeof schema === "string"
    ? Json.read(schema)
    : Json.fromPlain(schema)
  if (Result.isFailure(read)) return refuse(`parameters.${read.failure.path}`, read.failure.message)
  const fault = InputSchema.faults(read.success, "parameters")[0]
  if (fault !== undefined) return refuse(fault.path, fault.problem)
  const { timeoutMs } = described
  const timeout = timeoutMs === undefined ? [] : [["timeout_ms", new Json.JsonNumber(String(timeoutMs))] as const]
  const node = new Map<string, Json.JsonNode>([
    ["name", name],
    ["description", described.description],
    ["input_schema", read.success],
    ...timeout
  ])
  const decoded = ClientTool.decode(node, "", Limits.defaults.clientTools)
  if (Result.isSuccess(decoded)) return { declaration: decoded.success, schema: read.success }
  const { place, problem } = decoded.failure
  const field = place.replace(/^\./, "")
  return refuse(optionOf.get(field) ?? field, problem)
}

/** What the fields of a descriptor are called where a tool is declared, if not the same. */
const optionOf: ReadonlyMap<string, string> = new Map([["input_schema", "parameters"], ["timeout_ms", "timeoutMs"]])

const declared = <Args, Success, Failure>(
  declaration: ClientTool.ClientTool,
  read: (argumentsText: JsonText) => Arguments<Args>,
  succeeded: (value: unknown) => ToolAnswer.ToolAnswer,
  failed: ReturnType<typeof failureWriter>
): Tool<Args, Success, Failure> => ({
  declaration,
  handle: (handler) => {
    const settle = { onSuccess: succeeded, onFailure: failed }
    return {
      declaration,
      answer: (call) =>
        Effect.suspend(() => {
          const args = read(call.argumentsText)
          return args._tag === "Arguments"
            ? Effect.matchCause(Effect.scoped(Effect.suspend(() => effectOf(handler(args.value, call)))), settle)
            : Effect.succeed(ToolAnswer.error(`The arguments do not fit: ${args.detail}`))
        }).pipe(Effect.catchDefect((defect) => Effect.succeed(failure(defect))))
    }
  }
})

/** What a handler returned, if it is one: a fiber that is given anything else ends at once, and nothing can say why. */
const effectOf = <A, E, R>(returned: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.isEffect(returned) ? returned : Effect.die("The tool's handler returned no Effect.")
