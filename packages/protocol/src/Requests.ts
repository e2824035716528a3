/**
 * The methods of version 1: one table of params and results (sections 3 to 5, 10).
 *
 * Rule: types, decoding, JSON Schema and documents all come from `table`; bounds come from the limits that it is given.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as CallResult from "./CallResult.ts"
import { historyEntry } from "./HistoryEntry.ts"
import * as Ids from "./Ids.ts"
import * as Json from "./Json.ts"
import * as Limits from "./Limits.ts"
import type { InitializeResult } from "./Negotiation.ts"
import { requiredLimit } from "./Negotiation.ts"
import { count, lazy, nullable, opaque, strict, tolerant } from "./Shape.ts"
import { WireError } from "./WireError.ts"

const empty = lazy(() => Schema.Record(Schema.String, Schema.Never))
const accepted = lazy(() => Schema.Struct({ accepted: Schema.Literal(true) }))

/** The pattern of a text that `trim` leaves something of. */
const notBlank = "\\S"

const bytes = (most: number) =>
  Schema.makeFilter<string>(
    (text) => {
      if (text.trim() === "") return "must not be blank"
      const size = Json.byteLength(text)
      return size <= most || `has ${size} bytes, at most ${most} are allowed`
    },
    { toJsonSchema: () => [{ pattern: notBlank, maxLength: most }, true] }
  )

const page = (limits: Limits.LimitValues) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: limits.base.page_entries })))

const limitValues = <K extends string>(values: Readonly<Record<K, number>>) =>
  Schema.Struct(
    Object.fromEntries(Object.keys(values).map((key) => [key, Schema.Int])) as { [_ in K]: typeof Schema.Int }
  )

const summary = () => ({
  tools: Schema.Array(Schema.String),
  limits: limitValues({ ...Limits.defaults.clientTools })
})

const initializeResult = lazy((): Schema.Codec<InitializeResult, unknown> =>
  Schema.Struct({
    protocol: Schema.String,
    version: Schema.Int,
    server: Schema.Struct({ name: Schema.String, version: Schema.String }),
    capabilities: Schema.Array(Schema.String),
    limits: limitValues({ ...Limits.defaults.base }),
    extensions: Schema.Struct({
      "tool.cards": Schema.optionalKey(Schema.Struct({ schema_version: Schema.Int })),
      "client.tools": Schema.optionalKey(
        Schema.Struct({ schema_version: Schema.Int, registration: Schema.String, ...summary() })
      )
    }),
    client_tools: Schema.optionalKey(Schema.Struct(summary()))
  })
)

/** What JSON Schema can say of `client_tools`; `Registry.decode` says the rest. */
const descriptors = ({ clientTools }: Limits.LimitValues) => ({
  type: "array",
  maxItems: clientTools.tools,
  items: {
    type: "object",
    properties: {
      name: { type: "string", maxLength: clientTools.name_bytes, pattern: "^client__[A-Za-z0-9_]+$" },
      description: { type: "string", maxLength: clientTools.description_bytes, pattern: notBlank },
      input_schema: { type: "object", properties: { type: { const: "object" } }, required: ["type"] },
      timeout_ms: { type: "integer", minimum: clientTools.min_timeout_ms, maximum: clientTools.max_timeout_ms }
    },
    required: ["name", "description", "input_schema"],
    additionalProperties: false
  }
})

export type { HistoryEntry } from "./HistoryEntry.ts"

/** Every method of version 1 with its params and its result. */
export const table = {
  "initialize": {
    params: (limits: Limits.LimitValues) =>
      Schema.Struct({
        required_capabilities: Schema.Array(Schema.String).check(
          Schema.isMaxLength(requiredLimit(limits.base, true)),
          Schema.isUnique()
        ),
        client_tools: Schema.optionalKey(opaque(descriptors(limits)))
      }),
    result: initializeResult
  },
  "status": {
    params: empty,
    result: lazy(() =>
      Schema.Struct({
        state: Schema.Literals(["new", "initializing", "ready", "closing"]),
        session_id: Schema.NullOr(Ids.SessionId),
        run_id: Schema.NullOr(Ids.RunId),
        pending_calls: count,
        pending_approvals: count,
        request_ids_left: count,
        model: Schema.NullOr(Schema.Struct({ provider: Schema.String, name: Schema.String }))
      })
    )
  },
  "shutdown": { params: empty, result: empty },
  "session.create": {
    params: empty,
    result: lazy(() => Schema.Struct({ session_id: Ids.SessionId, history_revision: Schema.String }))
  },
  "session.open": {
    params: lazy(() => Schema.Struct({ session_id: Ids.SessionId })),
    result: lazy(() => Schema.Struct({ session_id: Ids.SessionId, history_revision: Schema.String, entries: count }))
  },
  "session.list": {
    params: (limits: Limits.LimitValues) =>
      Schema.Struct({ cursor: Schema.optionalKey(Schema.String), limit: page(limits) }),
    result: lazy(() =>
      Schema.Struct({
        sessions: Schema.Array(
          Schema.Struct({
            session_id: Ids.SessionId,
            created_at: Schema.String,
            updated_at: Schema.String,
            entries: count,
            title: nullable
          })
        ),
        next_cursor: nullable
      })
    )
  },
  "history.page": {
    params: (limits: Limits.LimitValues) =>
      Schema.Struct({
        session_id: Ids.SessionId,
        revision: Schema.optionalKey(Schema.String),
        cursor: Schema.optionalKey(Schema.String),
        limit: page(limits)
      }).check(
        Schema.makeFilter(
          (params) =>
            ("revision" in params) === ("cursor" in params) || "revision and cursor come together or not at all",
          { toJsonSchema: () => ({ dependentRequired: { revision: ["cursor"], cursor: ["revision"] } }) }
        )
      ),
    result: lazy(() =>
      Schema.Struct({ revision: Schema.String, entries: Schema.Array(historyEntry()), next_cursor: nullable })
    )
  },
  "turn.start": {
    params: (limits: Limits.LimitValues) =>
      Schema.Struct({ session_id: Ids.SessionId, prompt: Schema.String.check(bytes(limits.base.prompt_bytes)) }),
    result: lazy(() => Schema.Struct({ run_id: Ids.RunId }))
  },
  "turn.cancel": {
    params: lazy(() => Schema.Struct({ session_id: Ids.SessionId, run_id: Ids.RunId })),
    result: accepted
  },
  "approval.answer": {
    params: lazy(() =>
      Schema.Struct({
        session_id: Ids.SessionId,
        run_id: Ids.RunId,
        approval_id: Ids.ApprovalId,
        allow: Schema.Boolean
      })
    ),
    result: accepted
  },
  "client.tool.result": {
    params: lazy(() =>
      Schema.Struct({
        instance_id: Ids.InstanceId,
        session_id: Ids.SessionId,
        run_id: Ids.RunId,
        call_id: Ids.CallId,
        task_id: Schema.NullOr(Ids.TaskId),
        subagent_id: Schema.NullOr(Ids.SubagentId),
        status: Schema.Literals(["success", "error"]),
        text: Schema.String,
        structured: Schema.optionalKey(opaque({}))
      })
    ),
    result: accepted
  }
}

/** A method of version 1. */
export type MethodName = keyof typeof table

/** The params of a method. Opaque members (`client_tools`, `structured`) are compact text. */
export type Params<M extends MethodName> = ReturnType<typeof table[M]["params"]>["Type"]

/** The result of a method. */
export type ResultOf<M extends MethodName> = ReturnType<typeof table[M]["result"]>["Type"]

/** Every method, in the order of the table. */
export const methods = Object.keys(table) as ReadonlyArray<MethodName>

const known = new Set<string>(methods)

/** Whether a method is one of version 1; `client.tool.result` is only served when negotiated (RES-4). */
export const isMethod = (name: string): name is MethodName => known.has(name)

/** The member of a method's params that travels as opaque JSON. */
export const opaqueMember: { readonly [M in MethodName]?: string } = {
  "initialize": "client_tools",
  "client.tool.result": "structured"
}

type Decoder = (value: unknown) => Result.Result<unknown, WireError>

const decoders = new WeakMap<Limits.LimitValues, Map<MethodName, Decoder>>()

const decoderOf = (method: MethodName, limits: Limits.LimitValues): Decoder => {
  let made = decoders.get(limits)
  if (made === undefined) decoders.set(limits, made = new Map())
  let decoder = made.get(method)
  if (decoder === undefined) {
    decoder = strict(table[method].params(limits) as Schema.Codec<unknown, unknown>)
    made.set(method, decoder)
  }
  return decoder
}

/** Replaces an opaque member by its text, so that the schema sees what the type says. */
const lift = (method: MethodName, params: unknown): Result.Result<unknown, WireError> => {
  const member = opaqueMember[method]
  if (member === undefined || typeof params !== "object" || params === null || !(member in params)) {
    return Result.succeed(params)
  }
  const value = (params as Record<string, unknown>)[member]
  return value instanceof Json.Opaque
    ? Result.succeed({ ...params, [member]: value.text })
    : Result.fail(WireError.invalidParams(member, "expected JSON"))
}

/**
 * The params of a request, exactly, from what `Json.parse` made of them with `Wire.inRequests` opaque.
 *
 * For `initialize` this checks shape only; `Negotiation.negotiate` and `Registry.decode` do the rest.
 */
export const decodeParams = <M extends MethodName>(
  method: M,
  params: unknown,
  limits: Limits.LimitValues = Limits.defaults
): Result.Result<Params<M>, WireError> => {
  if (method === "client.tool.result") {
    const result = CallResult.exact(params)
    if (result !== undefined) return CallResult.within(result, limits) as Result.Result<Params<M>, WireError>
  }
  const lifted = lift(method, params)
  if (Result.isFailure(lifted)) return Result.fail(lifted.failure)
  return decoderOf(method, limits)(lifted.success) as Result.Result<Params<M>, WireError>
}

const resultDecoders = new Map<MethodName, Decoder>()

/** The result of a request as a client reads it; fields of later versions are dropped. */
export const decodeResult = <M extends MethodName>(
  method: M,
  result: unknown
): Result.Result<ResultOf<M>, WireError> => {
  let decoder = resultDecoders.get(method)
  if (decoder === undefined) {
    decoder = tolerant(table[method].result() as Schema.Codec<unknown, unknown>)
    resultDecoders.set(method, decoder)
  }
  return decoder(result) as Result.Result<ResultOf<M>, WireError>
}
