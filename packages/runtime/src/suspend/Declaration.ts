/**
 * Declarations of client tools: what the model is offered and who answers, as inert data (DCL-1, DCL-2, DCL-5, DCL-6).
 *
 * Rule: a declaration is checked once, when it is made, and then detached and frozen: no later change of the caller's
 * objects reaches it, and it never holds live clients, callbacks, credentials or authority.
 */
import { DerivedSchema, Json, type JsonText, SchemaCheck } from "@errand/protocol"
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { checkText, encodeMetadata } from "./FieldRules.ts"
import * as JsonValue from "./JsonValue.ts"
import { argumentsDecoder, decoder, type JsonSchemaOf } from "./SchemaCodec.ts"

export { argumentsDecoder, decoder, encoder, type JsonSchemaOf } from "./SchemaCodec.ts"

/** What the declaration says about permission; `inherit` leaves it to the rules, which means allow without one (SUR-4). */
export type Permission = "inherit" | "allow" | "deny"

/** What becomes of an answer after its call has timed out, for hosts (HST-4). */
export type LateAnswer = "reject" | "record" | "note"

/** Bounds of declarations: characters are Unicode code points, bytes are UTF-8 of canonical JSON. */
export const limits = {
  nameCharacters: 256,
  descriptionCharacters: 16_384,
  schemaBytes: 65_536,
  metadataBytes: 16_384
} as const

/**
 * A checked declaration. `parameters` is the compact text of the JSON Schema in the declared key order,
 * `canonicalParameters` the same for fingerprints (SUS-6), `metadata` the compact text of an object.
 */
export interface ClientTool<
  out Arguments = unknown,
  out Success = unknown,
  out Failure = unknown,
  out Name extends string = string
> {
  readonly name: Name
  readonly description: string
  readonly parameters: JsonText
  readonly canonicalParameters: JsonText
  readonly instruction: string | null
  readonly metadata: JsonText
  readonly permission: Permission
  readonly retrySafe: boolean
  readonly timeoutMs: number | null
  readonly lateAnswer: LateAnswer
  /** Null for a tool declared with raw JSON Schema, whose arguments and answers stay plain JSON. */
  readonly schemas: {
    readonly parameters: JsonSchemaOf<Arguments>
    readonly success: JsonSchemaOf<Success> | null
    readonly failure: JsonSchemaOf<Failure> | null
  } | null
  /** What is wrong with the text of arguments, or null (RUN-4, RSM-3). */
  readonly checkArguments: (text: string) => JsonValue.Fault | null
  /** What is wrong with a success value in its JSON form, given the text of the arguments that it answers, or null. */
  readonly checkSuccess: (value: unknown, argumentsText: string) => JsonValue.Fault | null
  /** What is wrong with the content of a failure in its JSON form, or null. */
  readonly checkFailure: (content: unknown) => JsonValue.Fault | null
}

/** What every declaration may say besides its schemas. */
export interface Options {
  readonly name: string
  readonly description: string
  readonly instruction?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly permission?: Permission
  readonly retrySafe?: boolean
  readonly timeoutMs?: number
  readonly lateAnswer?: LateAnswer
}

/** A declaration that is refused: `tool` and `field` say which, `path` where inside the field, `rule` what was broken. */
export class ClientToolInvalid extends Data.TaggedError("ClientToolInvalid")<{
  readonly code: "client_tool_invalid" | "client_tool_schema_recursive"
  readonly tool: string
  readonly field: string
  readonly path: string
  readonly rule: string
}> {
  override get message(): string {
    return `client tool ${JSON.stringify(this.tool.slice(0, 300))}: ${this.path} ${this.rule}`
  }
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_.:-]*$/
const fields: ReadonlySet<string> = new Set(
  "name description parameters instruction metadata permission retrySafe timeoutMs lateAnswer".split(" ")
)
const typedFields: ReadonlySet<string> = new Set([...fields, "success", "failure"])

type Check = JsonValue.Fault | null

const fault = (path: string, rule: string): JsonValue.Fault => ({ path, rule })

const checkName = (value: unknown): Check => {
  const text = checkText(value, "name", limits.nameCharacters)
  if (text !== null) return text
  return namePattern.test(value as string)
    ? null
    : fault("name", "must be an ASCII letter or _, then ASCII letters, digits, _ . : -")
}

const checkOptions = (options: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): Check => {
  for (const key of Reflect.ownKeys(options)) {
    if (typeof key !== "string" || !known.has(key)) return fault(String(key), "is no field of a client tool")
  }
  const required = checkName(options["name"]) ??
    checkText(options["description"], "description", limits.descriptionCharacters)
  if (required !== null) return required
  const { instruction, lateAnswer, permission, retrySafe, timeoutMs } = options
  if (instruction !== undefined) {
    const text = checkText(instruction, "instruction", limits.descriptionCharacters)
    if (text !== null) return text
  }
  if (permission !== undefined && permission !== "inherit" && permission !== "allow" && permission !== "deny") {
    return fault("permission", "must be inherit, allow or deny")
  }
  if (retrySafe !== undefined && typeof retrySafe !== "boolean") return fault("retrySafe", "must be a boolean")
  if (timeoutMs !== undefined && !(Number.isSafeInteger(timeoutMs) && (timeoutMs as number) > 0)) {
    return fault("timeoutMs", "must be a positive integer of milliseconds")
  }
  return lateAnswer === undefined || lateAnswer === "reject" || lateAnswer === "record" || lateAnswer === "note"
    ? null
    : fault("lateAnswer", "must be reject, record or note")
}

const declarations = new WeakSet<object>()

/** Whether a value is a declaration itself: checked, frozen, and no copy with other members (DCL-5). */
export const isDeclared = (value: unknown): value is ClientTool =>
  typeof value === "object" && value !== null && declarations.has(value)

const declare = <Tool extends ClientTool>(tool: Tool): Tool => {
  declarations.add(Object.freeze(tool))
  return tool
}

/** The same declaration with one more check of its successes. */
export const withSuccessCheck = <Tool extends ClientTool>(tool: Tool, more: ClientTool["checkSuccess"]): Tool =>
  declare({ ...tool, checkSuccess: (value, args) => tool.checkSuccess(value, args) ?? more(value, args) })

const build = (
  options: Options,
  known: ReadonlySet<string>,
  parameters: unknown,
  rest: (schema: Json.JsonNode) => Pick<ClientTool, "schemas" | "checkArguments" | "checkSuccess" | "checkFailure">
): Result.Result<ClientTool, ClientToolInvalid> => {
  const invalid = ({ path, rule }: JsonValue.Fault) =>
    Result.fail(
      new ClientToolInvalid({
        code: "client_tool_invalid",
        tool: typeof options.name === "string" ? options.name : "",
        field: /^[^.[]*/.exec(path)?.[0] ?? path,
        path,
        rule
      })
    )
  const options_ = checkOptions(options as unknown as Readonly<Record<string, unknown>>, known)
  if (options_ !== null) return invalid(options_)
  if (!JsonValue.isPlainObject(parameters)) return invalid(fault("parameters", "must be an object"))
  const tree = JsonValue.toTree(parameters, "parameters")
  if (Result.isFailure(tree)) return invalid(tree.failure)
  const canonical = Json.canonical(tree.success) as JsonText
  if (Json.byteLength(canonical) > limits.schemaBytes) {
    return invalid(fault("parameters", `must have at most ${limits.schemaBytes} bytes of canonical JSON`))
  }
  if (!Json.isObject(tree.success) || tree.success.get("type") !== "object") {
    return invalid(fault("parameters.type", "must be \"object\""))
  }
  const metadata = encodeMetadata(options.metadata ?? {}, "metadata", limits.metadataBytes)
  if (Result.isFailure(metadata)) return invalid(metadata.failure)
  return Result.succeed(declare({
    name: options.name,
    description: options.description,
    parameters: Json.write(tree.success),
    canonicalParameters: canonical,
    instruction: options.instruction ?? null,
    metadata: metadata.success,
    permission: options.permission ?? "inherit",
    retrySafe: options.retrySafe ?? false,
    timeoutMs: options.timeoutMs ?? null,
    lateAnswer: options.lateAnswer ?? "record",
    ...rest(tree.success)
  }))
}

/** What is wrong with the text of arguments under a raw schema, judged without loss (RUN-4). */
export const argumentsCheck = (schema: Json.JsonNode): (text: string) => Check => {
  const check = SchemaCheck.compile(schema)
  return (text) => {
    const value = Json.read(text, { maxDepth: JsonValue.deepest })
    if (Result.isFailure(value)) {
      const { message, path } = value.failure
      return fault(path === "" ? "arguments" : `arguments.${path}`, message)
    }
    const misfit = check(value.success)
    return misfit === undefined ? null : fault(JsonValue.formatPath("arguments", misfit.path), misfit.problem)
  }
}

/** Declares a tool with raw JSON Schema; arguments and answers stay plain JSON (DCL-1). */
export const raw = <const Name extends string>(
  options: Options & { readonly name: Name; readonly parameters: Readonly<Record<string, unknown>> }
): Result.Result<ClientTool<unknown, unknown, unknown, Name>, ClientToolInvalid> =>
  build(options, fields, options.parameters, (schema) => ({
    schemas: null,
    checkArguments: argumentsCheck(schema),
    checkSuccess: () => null,
    checkFailure: () => null
  })) as Result.Result<ClientTool<unknown, unknown, unknown, Name>, ClientToolInvalid>

const faultOf = (result: Result.Result<unknown, JsonValue.Fault>): Check =>
  Result.isFailure(result) ? result.failure : null

/**
 * Declares a tool from Effect Schemas: the JSON Schema is derived with everything inlined, arguments and answers are
 * typed (DCL-2). A schema that refers to itself is `client_tool_schema_recursive`.
 */
export const make = <A, const Name extends string, S = unknown, F = unknown>(
  options: Options & {
    readonly name: Name
    readonly parameters: JsonSchemaOf<A>
    readonly success?: JsonSchemaOf<S>
    readonly failure?: JsonSchemaOf<F>
  }
): Result.Result<ClientTool<A, S, F, Name>, ClientToolInvalid> => {
  const invalid = (field: string, code: ClientToolInvalid["code"], rule: string, path = field) =>
    Result.fail(new ClientToolInvalid({ code, tool: String(options.name), field, path, rule }))
  let parameters: unknown
  for (const field of ["parameters", "success", "failure"] as const) {
    const schema = options[field]
    if (schema === undefined && field !== "parameters") continue
    if (!Schema.isSchema(schema)) return invalid(field, "client_tool_invalid", "must be an Effect Schema")
    const derived = field === "parameters"
      ? DerivedSchema.ofArguments(schema, field)
      : DerivedSchema.derive(schema, field)
    if (Result.isSuccess(derived)) {
      if (field === "parameters") parameters = derived.success
      continue
    }
    const { detail, path, reason } = derived.failure
    return invalid(field, reason === "recursive" ? "client_tool_schema_recursive" : "client_tool_invalid", detail, path)
  }
  const decodeArguments = argumentsDecoder(options.parameters)
  const checkOf = (schema: JsonSchemaOf<unknown> | undefined, root: string): (value: unknown) => Check => {
    if (schema === undefined) return () => null
    const decode = decoder(schema, root)
    return (value) => faultOf(decode(value))
  }
  const tool = build(options, typedFields, parameters, () => ({
    schemas: {
      parameters: options.parameters,
      success: options.success ?? null,
      failure: options.failure ?? null
    },
    checkArguments: (text) => faultOf(decodeArguments(text)),
    checkSuccess: checkOf(options.success, "value"),
    checkFailure: checkOf(options.failure, "content")
  }))
  return tool as Result.Result<ClientTool<A, S, F, Name>, ClientToolInvalid>
}
