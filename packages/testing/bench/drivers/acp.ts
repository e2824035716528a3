/** The TypeScript SDK of the Agent Client Protocol on both sides: a custom method without a schema, its fastest request. */
import * as acp from "@agentclientprotocol/sdk"
import { spawn } from "node:child_process"
import { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { drive, Stopwatch } from "../driver.ts"
import { answerTo } from "../job.ts"

const watch = new Stopwatch()
const child = spawn(process.execPath, [fileURLToPath(new URL("server-acp.mjs", import.meta.url))], {
  // it warns of its own listeners
  stdio: ["pipe", "pipe", "ignore"]
})
const anything = { parse: (value: unknown) => value as never }

const connection = acp.client({ name: "bench" })
  .onRequest("_bench/call", anything, async ({ params }: { readonly params: { readonly text?: string } }) => {
    watch.begin()
    return { text: answerTo(params) }
  })
  .connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>))
await connection.agent.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} })

drive(async (job) => {
  await connection.agent.request("_bench/run", job)
  watch.end()
  return watch.take()
})
