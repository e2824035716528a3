/**
 * What an MCP server tells of its tools and their results, as our catalog and our models take it (BLT-5).
 *
 * Rule: nothing that a server says is trusted. Names become legal and stay apart, descriptions are protected and bounded,
 * and no annotation makes a tool harmless.
 */
import { Json, type JsonText, Sha256 } from "@errand/protocol"
import { type CatalogTool, Redaction, type ToolOutcome } from "@errand/runtime"
import * as Excerpt from "../builtins/Excerpt.ts"
import * as FittedResult from "../builtins/FittedResult.ts"
import { member, text } from "./McpMessage.ts"

/** A tool of a server: `original` is the name the server knows it by. */
export interface McpTool extends CatalogTool {
  readonly server: string
  readonly original: string
}

/** The longest name that every provider takes. */
const NAME_CHARACTERS = 64

/** Bytes of a description that are offered, and of a schema: a tool with a larger one is left out. */
export const DESCRIPTION_BYTES = 4096
export const SCHEMA_BYTES = 65_536

const mark = (server: string, original: string): string => Sha256.hex(`${server}\0${original}`).slice(0, 8)

/**
 * `mcp__SERVER__TOOL`. A name that is too long or holds illegal characters, and that of a server whose own name could be
 * read in two ways, gets a mark of what it stands for, so that two tools never share a name.
 */
export const nameOf = (server: string, original: string): string => {
  const plain = `mcp__${server}__${original.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`
  const clear = plain.endsWith(`__${original}`) && plain.length <= NAME_CHARACTERS && original !== "" &&
    !server.includes("__") && !server.endsWith("_")
  return clear ? plain : `${plain.slice(0, NAME_CHARACTERS - 9)}_${mark(server, original)}`
}

const describe = (server: string, original: string, told: unknown): string => {
  const given = text(told, "description") ?? text(told, "title") ?? ""
  const clean = Redaction.protectText(given).trim()
  if (clean === "") return `The tool ${Redaction.protectMessage(original, 100)} of the MCP server ${server}.`
  if (Excerpt.size(clean) <= DESCRIPTION_BYTES) return clean
  return `${Excerpt.head(clean, DESCRIPTION_BYTES - 4)} ${Excerpt.MARK}`
}

/** The schema as the server wrote it; undefined when it is none for an object, or too large. */
const schemaOf = (told: unknown): JsonText | undefined => {
  const schema = member(told, "inputSchema")
  if (schema === undefined) return `{"type":"object"}` as JsonText
  if (!(schema instanceof Json.Opaque) || Json.kindOf(schema.text) !== "object") return undefined
  return Json.byteLength(schema.text) <= SCHEMA_BYTES ? schema.text : undefined
}

/** The tools of a server, and what is wrong with those that are left out. */
export const listed = (server: string, told: ReadonlyArray<unknown>) => {
  const tools = new Map<string, McpTool>()
  const faults: Array<string> = []
  for (const one of told) {
    const original = text(one, "name")
    const inputSchema = schemaOf(one)
    const name = original === undefined ? "" : nameOf(server, original)
    if (original === undefined || inputSchema === undefined || tools.has(name)) {
      const problem = original === undefined ? "has no name" : tools.has(name)
        ? "is there twice"
        : `has no object schema of at most ${SCHEMA_BYTES} bytes`
      faults.push(`the tool ${Redaction.protectMessage(original ?? "", 100)} ${problem}`)
      continue
    }
    tools.set(name, {
      name,
      description: describe(server, original, one),
      inputSchema,
      kind: "mcp",
      timeoutMs: 0,
      inspection: false,
      otherwise: "ask",
      server,
      original
    })
  }
  return { tools: [...tools.values()], faults }
}

const blockOf = (block: unknown): string => {
  const kind = text(block, "type") ?? "unknown"
  const leftOut = (what: string, of: unknown) => {
    const type = text(of, "mimeType")
    const data = text(of, "data") ?? text(of, "blob") ?? ""
    return `[${what} left out${type === undefined ? "" : `: ${type}`}, ${
      Excerpt.count(Math.floor(data.length * 0.75))
    } bytes]`
  }
  switch (kind) {
    case "text":
      return text(block, "text") ?? ""
    case "resource_link":
      return `[resource ${text(block, "title") ?? text(block, "name") ?? ""}: ${text(block, "uri") ?? ""}]`
    case "resource": {
      const resource = member(block, "resource")
      return text(resource, "text") ?? leftOut(`resource ${text(resource, "uri") ?? ""}`, resource)
    }
    default:
      return leftOut(kind, block)
  }
}

/** What a result tells, within `max` bytes. A text that only repeats the structured value is dropped. */
export const outcomeOf = (result: unknown, max: number): ToolOutcome => {
  const content = member(result, "content")
  const blocks = Array.isArray(content) ? (content as ReadonlyArray<unknown>).map(blockOf) : []
  const told = member(result, "structuredContent")
  const structured = told instanceof Json.Opaque ? told.text : undefined
  const joined = blocks.join("\n")
  const repeats = structured !== undefined && repeated(joined, structured)
  const _tag = member(result, "isError") === true ? "Failure" : "Success"
  return { _tag, ...FittedResult.of(repeats ? "" : joined, structured, max) }
}

const repeated = (told: string, structured: JsonText): boolean => {
  const compact = Json.compact(told, { maxDepth: 256 })
  return compact._tag === "Success" && compact.success.text === structured
}
