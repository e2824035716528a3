/** An ACP agent that asks its client. */
import * as acp from "@agentclientprotocol/sdk"
import { Readable, Writable } from "node:stream"
import { askFor, type Job, run } from "../job.ts"

const anything = { parse: (value: unknown) => value as never }

acp.agent({ name: "bench" })
  .onRequest("initialize", async () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest("session/new", async () => ({ sessionId: "s1" }))
  .onRequest("session/prompt", async () => ({ stopReason: "end_turn" as const }))
  .onRequest(
    "_bench/run",
    anything,
    async ({ client, params }: { readonly params: Job; readonly client: acp.AgentContext }) => {
      const ask = askFor(params.size)
      await run(params, async () => {
        const { text } = await client.request<{ readonly text: string }, object>("_bench/call", ask)
        if (text.length !== params.size) throw new Error(`${text.length} characters`)
      })
      return {}
    }
  )
  .connect(
    acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>)
  )
process.stdin.on("end", () => process.exit(0))
