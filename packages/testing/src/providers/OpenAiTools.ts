/**
 * What OpenAI refuses in tools, in chat completions and in responses alike.
 *
 * Rule: the words are OpenAI's.
 */
import { type Body, isObject, objects, type Refusal } from "./Dialect.ts"

const invalid = (message: string, code: string): Refusal => ({ status: 400, message, code })

/** The first fault of the tools of a request; `at` gives the path of a tool's fields, `functionOf` the tool's own part. */
export const check = (
  tools: unknown,
  at: (index: number) => string,
  functionOf: (tool: Body) => unknown
): Refusal | null => {
  if (tools === undefined) return null
  if (!Array.isArray(tools) || tools.length === 0) {
    return invalid("Invalid 'tools': empty array. Expected an array with minimum length 1.", "empty_array")
  }
  if (tools.length > 128) {
    const message =
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with " +
      `length ${tools.length} instead.`
    return invalid(message, "array_above_max_length")
  }
  for (const [index, tool] of objects(tools).entries()) {
    const body = functionOf(tool)
    if (tool.type !== "function" || !isObject(body)) {
      return invalid(`Missing required parameter: '${at(index)}'.`, "missing_required_parameter")
    }
    const fault = nameFault(body.name, `${at(index)}.name`) ?? schemaFault(String(body.name), body.parameters)
    if (fault !== null) return fault
  }
  return null
}

/** What is wrong with a tool name at a path. */
export const nameFault = (name: unknown, path: string): Refusal | null => {
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]+$/.test(name)) {
    const message = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern ` +
      "'^[a-zA-Z0-9_-]+$'."
    return invalid(message, "invalid_value")
  }
  if (name.length <= 64) return null
  const message =
    `Invalid '${path}': string too long. Expected a string with maximum length 64, but got a string with ` +
    `length ${name.length} instead.`
  return invalid(message, "string_above_max_length")
}

const schemaFault = (name: string, schema: unknown): Refusal | null => {
  const refuse = (reason: string) =>
    invalid(`Invalid schema for function '${name}': ${reason}`, "invalid_function_parameters")
  if (!isObject(schema) || schema.type !== "object") {
    const type = isObject(schema) && typeof schema.type === "string" ? schema.type : "None"
    return refuse(`schema must be a JSON Schema of 'type: "object"', got 'type: "${type}"'.`)
  }
  if (["oneOf", "anyOf", "allOf", "enum", "not"].some((keyword) => keyword in schema)) {
    return refuse("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.")
  }
  for (const [key, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    if (isObject(property) && property.type === "array" && !("items" in property)) {
      return refuse(`In context=('properties', '${key}'), array schema missing items.`)
    }
  }
  return null
}

/** An error in OpenAI's shape. */
export const errorBody = ({ code, message, status }: Refusal): string => {
  const type = status === 429 ? "rate_limit_exceeded" : status >= 500 ? "server_error" : "invalid_request_error"
  return JSON.stringify({ error: { message, type, param: null, code: code ?? null } }, null, 2)
}

/** The key of a request. */
export const keyOf = (headers: { readonly [name: string]: string | undefined }): string | undefined =>
  headers.authorization?.startsWith("Bearer ") === true ? headers.authorization.slice(7) : undefined
