/**
 * What providers allow in the tools that they are offered (MDL-4, SCH-5, DCL-10).
 *
 * Rule: a tool is never changed to please a provider. Names get aliases, which are reversible; everything else that a
 * provider would refuse is told.
 */
import { Json } from "@errand/protocol"
import type { OfferedTool } from "@errand/runtime"
import type { Alias } from "@errand/runtime/suspend"
import * as Result from "effect/Result"

/** The kinds of providers whose rules are known; `openai-compatible` stands for all others. */
export type Family = "openai" | "anthropic" | "openai-compatible"

/** The family of a provider as models are named (`openai:MODEL`) or as the AI SDK calls it (`openai.responses`). */
export const familyOf = (provider: string): Family => {
  const [first] = provider.split(/[.:]/, 1)
  return first === "openai" || first === "anthropic" ? first : "openai-compatible"
}

/** The tool names that all of these providers allow (DCL-10). */
export const names: Alias.Rules = { legal: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

/** Whether a text is white space alone, which providers refuse. */
export const isBlank = (text: string): boolean => text.trim() === ""

/** What a user said who said nothing, since no message may be empty. */
export const saidOf = (text: string): string => isBlank(text) ? "(no text)" : text

/**
 * A tool that a provider refuses, and with it every request that offers the tool. `certain` is false where only some of
 * the provider's models do.
 */
export interface Refusal {
  readonly tool: string
  readonly problem: string
  readonly certain: boolean
}

interface Rules {
  /** How many tools one request may offer. */
  readonly tools: number
  readonly rootKeywords: ReadonlyArray<string>
  readonly propertyNames: RegExp | null
  /** What is looked for in each schema, at any depth. */
  readonly inSchema: (schema: Keywords) => Fault | null
  /** Characters of a description that every model takes. */
  readonly description: number
}

type Keywords = ReadonlyMap<string, Json.JsonNode>
type Fault = Pick<Refusal, "problem" | "certain">

/** A look ahead or behind, for all that such a text can look like; escapes and classes are not told apart. */
const lookaround = /\(\?<?[=!]/

const openAiSchema = (schema: Keywords): Fault | null => {
  if (schema.get("type") === "array" && !schema.has("items")) {
    return { problem: "an array must tell its items", certain: true }
  }
  if (schema.has("propertyNames")) return { problem: "some models do not take propertyNames", certain: false }
  const pattern = schema.get("pattern")
  return typeof pattern === "string" && lookaround.test(pattern)
    ? { problem: "some models do not take patterns that look ahead or behind", certain: false }
    : null
}

const rules: { readonly [F in Family]: Rules } = {
  openai: {
    tools: 128,
    rootKeywords: ["oneOf", "anyOf", "allOf", "enum", "not"],
    propertyNames: null,
    inSchema: openAiSchema,
    description: 1024
  },
  anthropic: {
    tools: Infinity,
    rootKeywords: ["oneOf", "anyOf", "allOf"],
    propertyNames: /^[a-zA-Z0-9_.-]{1,64}$/,
    inSchema: () => null,
    description: Infinity
  },
  "openai-compatible": {
    tools: Infinity,
    rootKeywords: [],
    propertyNames: null,
    inSchema: () => null,
    description: Infinity
  }
}

/**
 * Which of these tools a provider refuses, and why, in the order of the tools. `provider` is what `familyOf` takes.
 *
 * What is told comes from the providers' own messages; a provider may refuse more than is known here, and then the run
 * fails with its message (SCH-5).
 */
export const check = (provider: string, tools: ReadonlyArray<OfferedTool>): ReadonlyArray<Refusal> => {
  const allowed = rules[familyOf(provider)]
  return tools.flatMap((tool, index) => {
    const refusals: Array<Refusal> = []
    const refuse = (problem: string, certain = true) => refusals.push({ tool: tool.name, problem, certain })
    if (index >= allowed.tools) refuse(`a request may offer ${allowed.tools} tools; this is number ${index + 1}`)
    if (tool.description.length > allowed.description) {
      refuse(`some models take descriptions of at most ${allowed.description} characters`, false)
    }
    const schema = Json.read(tool.inputSchema, { maxDepth: Infinity })
    if (Result.isFailure(schema) || !Json.isObject(schema.success)) refuse("input_schema: must be an object")
    else checkSchema(allowed, schema.success, refuse)
    return refusals
  })
}

type Refuse = (problem: string, certain?: boolean) => void

const checkSchema = (allowed: Rules, root: Keywords, refuse: Refuse): void => {
  if (root.get("type") !== "object") refuse(`input_schema.type: must be "object"`)
  for (const keyword of allowed.rootKeywords) {
    if (root.has(keyword)) refuse(`input_schema.${keyword}: is not allowed at the top level`)
  }
  const properties = root.get("properties")
  if (allowed.propertyNames !== null && properties !== undefined && Json.isObject(properties)) {
    for (const name of properties.keys()) {
      if (allowed.propertyNames.test(name)) continue
      refuse(`input_schema.properties: the name ${Json.quote(name)} does not match ${allowed.propertyNames.source}`)
    }
  }
  walk(root, "input_schema", (schema, path) => {
    const fault = allowed.inSchema(schema)
    if (fault !== null) refuse(`${path}: ${fault.problem}`, fault.certain)
  })
}

/** Keywords whose value is a schema or a list of schemas, and those whose members are schemas. */
const inner = new Set([
  "items",
  "prefixItems",
  "contains",
  "additionalProperties",
  "propertyNames",
  "not",
  "oneOf",
  "anyOf",
  "allOf"
])
const named = new Set(["properties", "$defs", "definitions", "patternProperties"])

/** Visits each schema in a schema, and nothing that is data. */
const walk = (node: Json.JsonNode, path: string, visit: (schema: Keywords, path: string) => void): void => {
  if (Json.isArray(node)) {
    for (const [index, one] of node.entries()) walk(one, `${path}[${index}]`, visit)
  }
  if (!(node instanceof Map)) return
  visit(node, path)
  for (const [keyword, value] of node as Keywords) {
    if (inner.has(keyword)) walk(value, `${path}.${keyword}`, visit)
    if (!named.has(keyword) || !Json.isObject(value)) continue
    for (const [name, one] of value) walk(one, `${path}.${keyword}.${name}`, visit)
  }
}
