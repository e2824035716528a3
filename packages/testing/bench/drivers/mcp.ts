/** The MCP TypeScript SDK on both sides: sampling, the request to the client that it answers fastest. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { fileURLToPath } from "node:url"
import { drive, Stopwatch } from "../driver.ts"
import { answerTo } from "../job.ts"

const watch = new Stopwatch()
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [fileURLToPath(new URL("server-mcp.mjs", import.meta.url))],
  stderr: "ignore"
})
const client = new Client({ name: "bench", version: "1.0.0" }, { capabilities: { sampling: {} } })
client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
  watch.begin()
  const { content } = params.messages[0]!
  const text = "text" in content ? content.text as string : ""
  const size = params.metadata?.["size" as never] as number | undefined
  return {
    model: "m",
    role: "assistant" as const,
    content: { type: "text" as const, text: size === undefined ? text : answerTo({ size }) }
  }
})
await client.connect(transport)

drive(async (job) => {
  await client.callTool({ name: "run", arguments: { ...job } })
  watch.end()
  return watch.take()
})
