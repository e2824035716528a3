/**
 * The compact catalog: lent tools are found and called through two tools of ours (BLT-4).
 *
 * Rule: both ask the same catalog with the caller's own permits, and a call goes through the pipeline under the tool's
 * real name; there is nothing here that a direct call could not do in a full catalog (PRM-2).
 */
import { Json, type JsonText, Limits } from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Agent } from "./Agent.ts"
import type { LocalTool } from "./LocalTools.ts"
import type { OfferedTool } from "./ModelTurn.ts"
import * as Redaction from "./Redaction.ts"
import * as ToolArguments from "./ToolArguments.ts"
import type { ToolInvocation, ToolOutcome } from "./ToolExecutor.ts"

const decodeFind = ToolArguments.decoder(() => Schema.Struct({ query: Schema.String }))

const decodeCall = ToolArguments.decoder(
  () => Schema.Struct({ name: Schema.String, arguments: Schema.optionalKey(Schema.instanceOf(Json.Opaque)) }),
  (key, depth) => depth === 1 && key === "arguments"
)

const schemaOf = (properties: object, required: ReadonlyArray<string>): JsonText =>
  JSON.stringify({ type: "object", properties, required, additionalProperties: false }) as JsonText

/** The caller as it looks into the catalog: its own permits, and no more. */
const inCatalog = (call: ToolInvocation): Agent => ({
  ...call.agent,
  parentId: call.activityId,
  view: { surface: "catalog", permits: call.agent.view.permits }
})

/** Words of a query that count; a longer one costs no more. */
const MOST_WORDS = 32

/**
 * The tools that a query finds, best first: words of the query that stand in the name count more than those in the
 * description. A query without words finds all, in catalog order.
 */
export const search = (tools: ReadonlyArray<OfferedTool>, query: string): ReadonlyArray<OfferedTool> => {
  const words: Array<string> = []
  for (const [word] of query.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) if (words.push(word) === MOST_WORDS) break
  if (words.length === 0) return tools
  const scored = tools.map((tool) => {
    const name = tool.name.toLowerCase()
    const description = tool.description.toLowerCase()
    let score = 0
    for (const word of words) score += name.includes(word) ? 3 : description.includes(word) ? 1 : 0
    return { tool, score }
  })
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).map(({ tool }) => tool)
}

/** Room for the line that says how many tools were left out. */
const NOTICE_BYTES = 128

const lineOf = ({ description, inputSchema, name }: OfferedTool, maxBytes: number): string => {
  const head = `{"name":${Json.quote(name)},"description":${Json.quote(description)}`
  const whole = Redaction.protectText(`${head},"input_schema":${inputSchema}}`)
  return NOTICE_BYTES + Json.byteLength(whole) + 1 <= maxBytes ? whole : Redaction.protectText(`${head}}`)
}

/** The lines that fit; a tool whose own line never would is told without its schema, lest nobody could find it. */
const listing = (found: ReadonlyArray<OfferedTool>, maxBytes: number): string => {
  if (found.length === 0) return "No tool was found. Try other words, or an empty query for all tools."
  const lines: Array<string> = []
  let bytes = NOTICE_BYTES
  for (const tool of found) {
    const line = lineOf(tool, maxBytes)
    bytes += Json.byteLength(line) + 1
    if (bytes > maxBytes) break
    lines.push(line)
  }
  const left = found.length - lines.length
  return left === 0
    ? lines.join("\n")
    : [...lines, `… ${left} more found and left out; ask with other words.`].join("\n")
}

const find = (maxBytes: number) => (call: ToolInvocation): Effect.Effect<ToolOutcome> =>
  Effect.sync(() => {
    const decoded = decodeFind(call.arguments)
    if (Result.isFailure(decoded)) return decoded.failure
    const tools = call.catalog.offered(inCatalog(call).view)
    return { _tag: "Success", text: listing(search(tools, decoded.success.query), maxBytes) }
  })

const callThrough = (call: ToolInvocation): Effect.Effect<ToolOutcome> => {
  const decoded = decodeCall(call.arguments)
  if (Result.isFailure(decoded)) return Effect.succeed(decoded.failure)
  return call.nested(inCatalog(call), decoded.success.name, decoded.success.arguments?.text ?? "{}", call.answered)
}

/** `find_tools` and `call_tool`. */
export const tools: Effect.Effect<ReadonlyArray<LocalTool>> = Effect.map(Limits.Limits, ({ clientTools }) => {
  const ours = { kind: "builtin", timeoutMs: 0, inspection: false, otherwise: "allow", directOnly: true } as const
  return [
    {
      ...ours,
      name: "find_tools",
      description:
        "Finds more tools than those you see. Gives name, description and input schema of each; call them with call_tool.",
      inputSchema: schemaOf(
        { query: { type: "string", description: "Words to look for; empty finds all." } },
        ["query"]
      ),
      execute: find(clientTools.result_bytes)
    },
    {
      ...ours,
      name: "call_tool",
      description: "Calls a tool that find_tools found.",
      inputSchema: schemaOf({
        name: { type: "string", description: "The tool's name." },
        arguments: { type: "object", description: "What its input schema asks for." }
      }, ["name"]),
      execute: callThrough
    }
  ]
})
