/**
 * What is wrong with a set of tool descriptors, all of it, and how much of the limits a valid one uses (PGM-4).
 *
 * Rule: the verdict is that of `Registry.decode`; this module only looks further than the first fault.
 */
import { ProviderRules } from "@errand/models"
import { ClientTool, InputSchema, Json, Limits, Registry } from "@errand/protocol"
import { Diagnosis } from "@errand/runtime"
import * as Result from "effect/Result"

/** The outcome of a check, as lines for a person. */
export interface Report {
  readonly valid: boolean
  readonly lines: ReadonlyArray<string>
}

const bounds = Limits.defaults.clientTools

/**
 * Checks the text of a JSON array of descriptors; each fault begins with the path that the server would name. With a
 * provider, what that is known to refuse is a fault too, and what only some of its models refuse is told (SCH-5).
 */
export const report = (text: string, provider?: string): Report => {
  const decoded = Registry.decode(text)
  if (Result.isSuccess(decoded)) {
    const refusals = provider === undefined ? [] : ProviderRules.check(provider, decoded.success)
    return {
      valid: !refusals.some(({ certain }) => certain),
      lines: [
        ...uses(decoded.success),
        ...refusals.map(({ certain, problem, tool }) =>
          `${tool}: ${provider} ${certain ? "refuses" : "may refuse"} it: ${problem}`
        )
      ]
    }
  }
  const first = Diagnosis.told(decoded.failure).message
  const read = Json.read(text, { maxDepth: Limits.defaults.base.json_depth })
  const nodes = Result.isSuccess(read) && Json.isArray(read.success) ? read.success : []
  const faults = nodes.slice(0, bounds.tools).flatMap((node, i) => faultsOf(node, `client_tools[${i}]`))
  // Faults of the whole (not JSON, too many, two of one name, too large) are only told by the first one.
  return {
    valid: false,
    lines: faults.includes(first) ? faults : [...faults, first]
  }
}

/** Fields that are valid for sure, in place of which the given ones are looked at one by one. */
const sound: ReadonlyMap<string, Json.JsonNode> = new Map<string, Json.JsonNode>([
  ["name", "client__x"],
  ["description", "x"],
  ["input_schema", new Map([["type", "object"]])]
])

const faultsOf = (node: Json.JsonNode, path: string): ReadonlyArray<string> => {
  if (!Json.isObject(node)) return messageOf(node, path)
  const fields = new Set([...sound.keys(), ...node.keys()])
  return [...fields].flatMap((field) => {
    const one = new Map(sound)
    const given = node.get(field)
    if (given === undefined) one.delete(field)
    else one.set(field, given)
    const [message] = messageOf(one, path)
    if (message === undefined) return []
    if (field !== "input_schema" || given === undefined) return [message]
    const inside = InputSchema.faults(given, `${path}.input_schema`).map(({ path, problem }) =>
      `${Diagnosis.place(path)}: ${problem}`
    )
    return inside.includes(message) ? inside : [message, ...inside]
  })
}

const messageOf = (node: Json.JsonNode, path: string): ReadonlyArray<string> => {
  const decoded = ClientTool.decode(node, path, bounds)
  return Result.isSuccess(decoded) ? [] : [Diagnosis.told(decoded.failure).message]
}

const uses = (tools: ReadonlyArray<ClientTool.ClientTool>): ReadonlyArray<string> => {
  const bytes = Json.byteLength(`[${tools.map((tool) => ClientTool.effective(tool)).join()}]`)
  return [
    `registry: ${tools.length} of ${bounds.tools} tools, ${bytes} of ${bounds.registry_bytes} bytes`,
    ...tools.map((tool) =>
      [
        `${tool.name}: schema ${Json.byteLength(tool.inputSchema)} of ${bounds.schema_bytes} bytes`,
        `depth ${depthOf(tool.inputSchema)} of ${bounds.schema_depth}`,
        `description ${Json.byteLength(tool.description)} of ${bounds.description_bytes} bytes`,
        `name ${Json.byteLength(tool.name)} of ${bounds.name_bytes} bytes`,
        `time-out ${tool.timeoutMs} of ${bounds.max_timeout_ms} ms`
      ].join(", ")
    )
  ]
}

/** Containers in depth; a text of valid JSON needs no more than its brackets outside of strings counted. */
const depthOf = (json: string): number => {
  let depth = 0
  let deepest = 0
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === "{" || token === "[") deepest = Math.max(deepest, ++depth)
    else if (token === "}" || token === "]") depth--
  }
  return deepest
}
