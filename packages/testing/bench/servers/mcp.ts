/** An MCP server whose tool samples from its client. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { z } from "zod"
import { askFor, run } from "../job.ts"

const server = new McpServer({ name: "bench", version: "1.0.0" })
server.registerTool("run", {
  description: "Asks the client many times.",
  inputSchema: { size: z.number(), inFlight: z.number(), shape: z.enum(["steps", "loop"]), calls: z.number() }
}, async (job) => {
  const ask = askFor(job.size)
  const text = "text" in ask ? ask.text : ""
  await run(job, async () => {
    const { content } = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text } }],
      maxTokens: 1,
      ...("size" in ask ? { metadata: { size: ask.size } } : {})
    })
    if (content.type !== "text" || content.text.length !== job.size) throw new Error("another answer was expected")
  })
  return { content: [] }
})
await server.connect(new StdioServerTransport())
process.stdin.on("end", () => process.exit(0))
