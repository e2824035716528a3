/**
 * Replacements in the texts of a script (SCR-3).
 *
 * Rule: a text is looked through once, when its script is loaded; what a replacement inserts is never looked at again.
 */
import { Json } from "@errand/protocol"
import type { ModelRequest, OfferedTool, ToolResult } from "@errand/runtime"

type Replacement = (request: ModelRequest) => string

/** The deltas of one step, with the replacements in them found; made by `compile`. */
export type Template = ReadonlyArray<ReadonlyArray<string | Replacement>>

/**
 * Finds the replacements in the joined text of some deltas (SCR-3).
 *
 * A replacement whose marks are cut over several deltas belongs to the delta in which it begins.
 */
export const compile = (deltas: ReadonlyArray<string>): Template => {
  const text = deltas.join("")
  const template = deltas.map((): Array<string | Replacement> => [])
  let delta = 0
  let end = deltas[0]?.length ?? 0
  const seek = (position: number) => {
    while (position >= end) end += deltas[++delta]!.length
  }
  const literal = (from: number, to: number) => {
    for (let at = from; at < to;) {
      seek(at)
      const stop = Math.min(to, end)
      template[delta]!.push(text.slice(at, stop))
      at = stop
    }
  }
  let done = 0
  for (const match of text.matchAll(/\{\{(?:(results|tools|roles|prompt)|tool:([^{}]*))\}\}/g)) {
    literal(done, match.index)
    seek(match.index)
    template[delta]!.push(match[1] === undefined ? tool(match[2]!) : words[match[1] as keyof typeof words])
    done = match.index + match[0].length
  }
  literal(done, text.length)
  return template
}

/** The deltas for one request; empty ones are left out. */
export const render = (template: Template, request: ModelRequest): ReadonlyArray<string> => {
  const deltas: Array<string> = []
  for (const parts of template) {
    let text = ""
    for (const part of parts) text += typeof part === "string" ? part : part(request)
    if (text !== "") deltas.push(text)
  }
  return deltas
}

const result = ({ content, id, name, outcome }: ToolResult): string =>
  `{"id":${Json.quote(id)},"name":${Json.quote(name)},"outcome":"${outcome}","result":${content}}`

/** Looks back to the last assistant message only, so its cost does not grow with the conversation. */
const results: Replacement = ({ messages }) => {
  const since = messages.findLastIndex((message) => message.role === "assistant") + 1
  const entries = messages.slice(since).flatMap((message) => message.role === "tool" ? message.results.map(result) : [])
  return `[${entries.join(",")}]`
}

const tools: Replacement = (request) => `[${request.tools.map(({ name }) => Json.quote(name)).join(",")}]`

const offered = ({ description, inputSchema, name }: OfferedTool): string =>
  `{"name":${Json.quote(name)},"description":${Json.quote(description)},"input_schema":${inputSchema}}`

const tool = (name: string): Replacement => ({ tools }) => {
  const found = tools.find((one) => one.name === name)
  return found === undefined ? "null" : offered(found)
}

/** The one replacement that reads the whole conversation; the instructions count as a message of the role "system". */
const roles: Replacement = ({ instructions, messages }) =>
  JSON.stringify([...(instructions === null ? [] : ["system"]), ...messages.map(({ role }) => role)])

const prompt: Replacement = ({ messages }) => messages.findLast((message) => message.role === "user")?.text ?? ""

const words = { results, tools, roles, prompt }
