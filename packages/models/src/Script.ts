/**
 * The file format of the scripted model (program.md, "The scripted model"; SCR-1, SCR-2, SCR-4).
 *
 * Rule: a file is valid as a whole or refused as a whole, with the path of its first fault.
 *
 * Format `errand.script`, version 1: the first and only one.
 */
import { Json } from "@errand/protocol"
import { Diagnosis } from "@errand/runtime"
import * as Data from "effect/Data"
import * as Result from "effect/Result"

/** A tool call of a step; `id` is null where a fresh one is made for every request. */
export interface Call {
  readonly id: string | null
  readonly name: string
  /** Raw text, perhaps no JSON; digits and key order as in the file. */
  readonly arguments: string
}

/** What one model request answers, `times` times over (SCR-2). */
export interface Step {
  readonly deltas: ReadonlyArray<string>
  readonly calls: ReadonlyArray<Call>
  /** Milliseconds before the answer begins. */
  readonly delayMs: number
  /** How the request fails, after the rest of the step was delivered. */
  readonly error: { readonly message: string; readonly retryable: boolean } | null
  readonly times: number
}

/** A whole script: steps of the root, and of each delegated task by its description (SCR-1). */
export interface Script {
  readonly root: ReadonlyArray<Step>
  readonly tasks: ReadonlyMap<string, ReadonlyArray<Step>>
}

/** The file is no script; `message` names the path, as in `root[1].text: expected a string` (SCR-4). */
export class ScriptFault extends Data.TaggedError("ScriptFault")<{ readonly message: string }> {}

/**
 * Reads a script file (SCR-2, SCR-4). A text that is no JSON is refused in the words of `Json`.
 *
 * Besides what SCR-2 says: `root` is required and `tasks` is not; `text` and `deltas` exclude each other; a call has
 * exactly one of `arguments` and `arguments_text`. Arguments may nest deeper than a frame may: it is the runtime that
 * has to refuse them.
 */
export const decode = (text: string): Decoded<Script> =>
  Result.gen(function*() {
    const node = yield* Result.mapError(Json.read(text, { maxDepth: Infinity }), notJson)
    const fields = yield* object("", node, ["format", "version", "root", "tasks"])
    if ((yield* field("", fields, "format", string)) !== "errand.script") {
      return yield* fault("format", `expected "errand.script"`)
    }
    if ((yield* field("", fields, "version", integer(0))) !== 1) return yield* fault("version", "expected 1")
    return {
      root: yield* field("", fields, "root", list(step)),
      tasks: fields.has("tasks") ? yield* field("", fields, "tasks", tasks) : new Map<string, ReadonlyArray<Step>>()
    }
  })

const notJson = ({ message, path }: Json.JsonFault) =>
  new ScriptFault({ message: path === "" ? message : `${Diagnosis.place(path)}: ${message}` })

type Decoded<A> = Result.Result<A, ScriptFault>
type Decode<A> = (path: string, node: Json.JsonNode) => Decoded<A>
type Fields = ReadonlyMap<string, Json.JsonNode>

const fault = (path: string, reason: string): Result.Result<never, ScriptFault> =>
  Result.fail(new ScriptFault({ message: path === "" ? reason : `${path}: ${reason}` }))

const quoted = (key: string): string => Json.quote(Diagnosis.quoted(key))

const string: Decode<string> = (path, node) =>
  typeof node === "string" ? Result.succeed(node) : fault(path, "expected a string")

const boolean: Decode<boolean> = (path, node) =>
  typeof node === "boolean" ? Result.succeed(node) : fault(path, "expected true or false")

const integer = (least: number): Decode<number> => (path, node) => {
  const value = node instanceof Json.JsonNumber ? Number(node.text) : NaN
  return Number.isSafeInteger(value) && value >= least
    ? Result.succeed(value)
    : fault(path, `expected an integer from ${least}`)
}

const raw: Decode<string> = (_, node) => Result.succeed(Json.write(node))

const list = <A>(item: Decode<A>): Decode<ReadonlyArray<A>> => (path, node) =>
  Result.gen(function*() {
    if (!Json.isArray(node)) return yield* fault(path, "expected an array")
    const items: Array<A> = []
    for (const [index, one] of node.entries()) items.push(yield* item(`${path}[${index}]`, one))
    return items
  })

/** The fields of an object; `known` closes it. */
const object = (path: string, node: Json.JsonNode, known?: ReadonlyArray<string>): Decoded<Fields> => {
  if (!Json.isObject(node)) return fault(path, "expected an object")
  for (const key of known === undefined ? [] : node.keys()) {
    if (!known!.includes(key)) return fault(path, `unknown field ${quoted(key)}`)
  }
  return Result.succeed(node)
}

const field = <A>(path: string, fields: Fields, key: string, decode: Decode<A>): Decoded<A> => {
  const node = fields.get(key)
  return node === undefined
    ? fault(path, `expected the field "${key}"`)
    : decode(path === "" ? key : `${path}.${key}`, node)
}

const optional = <A, B>(path: string, fields: Fields, key: string, decode: Decode<A>, absent: B): Decoded<A | B> =>
  fields.has(key) ? field(path, fields, key, decode) : Result.succeed(absent)

const tasks: Decode<Script["tasks"]> = (path, node) =>
  Result.gen(function*() {
    const tasks = new Map<string, ReadonlyArray<Step>>()
    for (const [description, steps] of yield* object(path, node)) {
      tasks.set(description, yield* list(step)(`${path}[${quoted(description)}]`, steps))
    }
    return tasks
  })

const step: Decode<Step> = (path, node) =>
  Result.gen(function*() {
    const fields = yield* object(path, node, ["text", "deltas", "tool_calls", "delay_ms", "error", "times"])
    if (fields.has("text") && fields.has("deltas")) return yield* fault(path, `expected "text" or "deltas", not both`)
    return {
      deltas: fields.has("deltas")
        ? yield* field(path, fields, "deltas", list(string))
        : [yield* optional(path, fields, "text", string, "")],
      calls: yield* optional(path, fields, "tool_calls", list(call), []),
      delayMs: yield* optional(path, fields, "delay_ms", integer(0), 0),
      error: yield* optional(path, fields, "error", error, null),
      times: yield* optional(path, fields, "times", integer(1), 1)
    }
  })

const call: Decode<Call> = (path, node) =>
  Result.gen(function*() {
    const fields = yield* object(path, node, ["id", "name", "arguments", "arguments_text"])
    if (fields.has("arguments") === fields.has("arguments_text")) {
      return yield* fault(path, `expected one of "arguments" and "arguments_text"`)
    }
    return {
      id: yield* optional(path, fields, "id", string, null),
      name: yield* field(path, fields, "name", string),
      arguments: fields.has("arguments")
        ? yield* field(path, fields, "arguments", raw)
        : yield* field(path, fields, "arguments_text", string)
    }
  })

const error: Decode<NonNullable<Step["error"]>> = (path, node) =>
  Result.gen(function*() {
    const fields = yield* object(path, node, ["message", "retryable"])
    return {
      message: yield* field(path, fields, "message", string),
      retryable: yield* optional(path, fields, "retryable", boolean, false)
    }
  })
