import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { ByteWatch } from "../src/index.ts"

/** A server on loopback; gives its address. */
const serving = (listener: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer(listener)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  )

describe("program 2: bytes of a provider", () => {
  it.effect("MDL-2 a redirection is not followed, so that no key goes along to whoever is named there", () =>
    Effect.gen(function*() {
      let asked = 0
      const other = yield* serving((_, response) => {
        asked++
        response.end("theirs")
      })
      const url = yield* serving((_, response) => void response.writeHead(307, { location: other }).end())
      const { fetch } = ByteWatch.make()
      const response = yield* Effect.promise(() => fetch(url, { headers: { "x-api-key": "k" } }))
      assert.deepStrictEqual([response.status, response.ok, asked], [307, false, 0])
    }))

  it.effect("MDL-5 what arrives is told to the one who listens for this request, and passes unchanged", () =>
    Effect.gen(function*() {
      const url = yield* serving((_, response) => void response.writeHead(200, { "x-a": "b" }).end("hello"))
      const { fetch, listen } = ByteWatch.make()
      const mine = new AbortController()
      const told: Array<string> = []
      listen(mine.signal, () => told.push("mine"))
      listen(new AbortController().signal, () => told.push("another's"))
      const response = yield* Effect.promise(() => fetch(url, { signal: mine.signal }))
      assert.deepStrictEqual(told, ["mine"])
      assert.strictEqual(response.headers.get("x-a"), "b")
      assert.strictEqual(yield* Effect.promise(() => response.text()), "hello")
      assert.deepStrictEqual(told, ["mine", "mine"])
      assert.strictEqual(yield* Effect.promise(() => fetch(url).then((one) => one.text())), "hello")
      assert.strictEqual(told.length, 2)
    }))
})
