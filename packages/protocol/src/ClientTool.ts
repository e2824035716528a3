/**
 * The declaration of one client tool (CLT-2, CLT-7, DEL-2).
 *
 * Rule: a declaration is taken whole or not at all, and its schema stays the text that the client sent, compacted.
 */
import * as Result from "effect/Result"
import * as Decimal from "./Decimal.ts"
import * as InputSchema from "./InputSchema.ts"
import * as Json from "./Json.ts"
import type { JsonNode, JsonText } from "./Json.ts"
import { step } from "./JsonScanner.ts"
import type { ClientToolLimits } from "./Limits.ts"
import * as Sha256 from "./Sha256.ts"
import { WireError } from "./WireError.ts"

/** A declared tool; `fingerprint` is SHA-256 in lower-case hex of the effective descriptor (DEL-2). */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonText
  readonly timeoutMs: number
  readonly fingerprint: string
}

const fields = new Set(["name", "description", "input_schema", "timeout_ms"])

/** The effective descriptor as compact text, keys in the order of CLT-7, the default time-out included. */
export const effective = (tool: Omit<ClientTool, "fingerprint">): JsonText =>
  `{"name":${Json.quote(tool.name)},"description":${
    Json.quote(tool.description)
  },"input_schema":${tool.inputSchema},"timeout_ms":${tool.timeoutMs}}` as JsonText

const fingerprintOf = (name: string, description: string, inputSchema: JsonNode, timeoutMs: number): string =>
  Sha256.hex(
    Json.canonical(
      new Map<string, JsonNode>([
        ["name", name],
        ["description", description],
        ["input_schema", inputSchema],
        ["timeout_ms", new Json.JsonNumber(String(timeoutMs))]
      ])
    )
  )

/** The fingerprint of any described tool (DEL-2); a schema that is no JSON counts as its text. */
export const fingerprint = (tool: Omit<ClientTool, "fingerprint">): string => {
  const schema = Json.read(tool.inputSchema, { maxDepth: Infinity })
  return fingerprintOf(tool.name, tool.description, Result.getOrElse(schema, () => tool.inputSchema), tool.timeoutMs)
}

/** Whether a name is one of a client tool: `client__` and 1 or more of `A-Z a-z 0-9 _`, within `name_bytes`. */
export const isName = (name: string, limits: ClientToolLimits): boolean =>
  name.length <= limits.name_bytes && /^client__[A-Za-z0-9_]+$/.test(name)

const nameProblem = (name: JsonNode | undefined, limits: ClientToolLimits): string | undefined => {
  if (name === undefined) return "missing"
  if (typeof name !== "string") return "expected a string"
  return isName(name, limits)
    ? undefined
    : `expected "client__" and then letters, digits and _, at most ${limits.name_bytes} bytes in all`
}

const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

const descriptionProblem = (description: JsonNode | undefined, limits: ClientToolLimits): string | undefined => {
  if (description === undefined) return "missing"
  if (typeof description !== "string") return "expected a string"
  if (description.trim() === "") return "must not be blank"
  if (controls.test(description)) return "must hold no control characters but line feed and tab"
  const bytes = Json.byteLength(description)
  return bytes > limits.description_bytes
    ? `has ${bytes} bytes, at most ${limits.description_bytes} are allowed`
    : undefined
}

const timeoutProblem = (timeout: JsonNode | undefined, limits: ClientToolLimits): string | undefined => {
  if (timeout === undefined) return undefined
  const expected = `expected an integer from ${limits.min_timeout_ms} to ${limits.max_timeout_ms}`
  if (!(timeout instanceof Json.JsonNumber) || !Decimal.isInteger(timeout.text)) return expected
  const value = Number(timeout.text)
  return value >= limits.min_timeout_ms && value <= limits.max_timeout_ms ? undefined : expected
}

const schemaProblem = (text: JsonText, depth: number, limits: ClientToolLimits): string | undefined => {
  if (depth > limits.schema_depth) return `has ${depth} containers in depth, at most ${limits.schema_depth} are allowed`
  const bytes = Json.byteLength(text)
  return bytes > limits.schema_bytes
    ? `has ${bytes} compact bytes, at most ${limits.schema_bytes} are allowed`
    : undefined
}

const depthOf = (node: JsonNode): number => {
  if (node === null || typeof node !== "object" || node instanceof Json.JsonNumber) return 0
  let deep = 0
  for (const item of node.values()) deep = Math.max(deep, depthOf(item))
  return deep + 1
}

/** A descriptor as it was sent, at `path` (`client_tools[2]`); any fault is `invalid_params` with its path (CLT-3). */
export const decode = (
  node: JsonNode,
  path: string,
  limits: ClientToolLimits
): Result.Result<ClientTool, WireError> => {
  const fail = (field: string, problem: string) => Result.fail(WireError.invalidParams(path + field, problem))
  if (!Json.isObject(node)) return fail("", "expected an object")
  for (const key of node.keys()) if (!fields.has(key)) return fail(step(key), "unknown field")
  const name = node.get("name")
  const wrongName = nameProblem(name, limits)
  if (wrongName !== undefined) return fail(".name", wrongName)
  const description = node.get("description")
  const wrongDescription = descriptionProblem(description, limits)
  if (wrongDescription !== undefined) return fail(".description", wrongDescription)
  const schema = node.get("input_schema")
  if (schema === undefined) return fail(".input_schema", "missing")
  const inputSchema = Json.write(schema)
  const wrongSchema = schemaProblem(inputSchema, depthOf(schema), limits)
  if (wrongSchema !== undefined) return fail(".input_schema", wrongSchema)
  const fault = InputSchema.faults(schema, `${path}.input_schema`)[0]
  if (fault !== undefined) return Result.fail(WireError.invalidParams(fault.path, fault.problem))
  const timeout = node.get("timeout_ms")
  const wrongTimeout = timeoutProblem(timeout, limits)
  if (wrongTimeout !== undefined) return fail(".timeout_ms", wrongTimeout)
  const timeoutMs = timeout === undefined ? limits.default_timeout_ms : Number((timeout as Json.JsonNumber).text)
  return Result.succeed({
    name: name as string,
    description: description as string,
    inputSchema,
    timeoutMs,
    fingerprint: fingerprintOf(name as string, description as string, schema, timeoutMs)
  })
}
