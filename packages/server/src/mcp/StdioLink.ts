/**
 * An MCP server that we start and talk to over its pipes (BLT-5, BLT-6).
 *
 * Rule: the server is a process group of its own, and is gone when the scope of the link is closed.
 */
import * as Effect from "effect/Effect"
import type { ProcessGroups } from "../builtins/ProcessGroup.ts"
import { LinkLost, type McpLink, MOST_BYTES, type Receiver } from "./McpLink.ts"

/** What is kept of what a server writes to stderr, in bytes, to be told when it fails. */
const LOG_BYTES = 2000

const closed = new LinkLost({ message: "the server's input is closed", sent: false })

/** Cuts what comes into lines. */
class Lines {
  private parts: Array<Buffer> = []
  private bytes = 0
  private readonly receiver: Receiver

  constructor(receiver: Receiver) {
    this.receiver = receiver
  }

  push(chunk: Buffer): void {
    for (let from = 0;;) {
      const end = chunk.indexOf(0x0a, from)
      const part = chunk.subarray(from, end === -1 ? undefined : end)
      this.bytes += part.length
      if (this.bytes > MOST_BYTES) {
        this.parts = []
        return this.receiver.lost(`it sent a message of more than ${MOST_BYTES} bytes`)
      }
      this.parts.push(part)
      if (end === -1) return
      const line = Buffer.concat(this.parts).toString("utf8")
      this.parts = []
      this.bytes = 0
      if (line.trim() !== "") this.receiver.message(line)
      from = end + 1
    }
  }
}

/** Starts the server's program. */
export const open = Effect.fnUntraced(function*(
  groups: ProcessGroups["Service"],
  server: {
    readonly command: string
    readonly args?: ReadonlyArray<string>
    readonly env?: Readonly<Record<string, string>>
    readonly directory: string
  },
  receiver: Receiver
) {
  const lines = new Lines(receiver)
  let log = Buffer.alloc(0)
  const peer = yield* groups.startPeer({
    program: [server.command, ...server.args ?? []],
    env: server.env ?? {},
    directory: server.directory,
    output: (chunk) => lines.push(chunk),
    log: (chunk) => {
      log = Buffer.concat([log, chunk]).subarray(-LOG_BYTES)
    }
  }).pipe(Effect.mapError((code) => new LinkLost({ message: `it cannot be started (${code})`, sent: false })))

  const told = () => log.length === 0 ? "" : `; it wrote: ${log.toString("utf8").trim()}`
  // its last words may still be in the pipe
  const ended = Effect.flatMap(peer.ended, (how) => Effect.as(peer.drained, how))
  yield* Effect.forkScoped(
    Effect.match(ended, {
      onFailure: (code) => receiver.lost(`it cannot be started (${code})`),
      onSuccess: ({ code, signal }) => receiver.lost(`it ended (${signal ?? `code ${code}`})${told()}`)
    })
  )
  const send = (json: string) => Effect.suspend(() => peer.write(`${json}\n`) ? Effect.void : Effect.fail(closed))
  const link: McpLink = {
    request: (json) => Effect.andThen(send(json), Effect.never),
    send,
    agreed: () => Effect.void
  }
  return link
})
