import { assert, describe, it } from "@effect/vitest"
import {
  Codec,
  Events,
  Json,
  type MethodName,
  Negotiation,
  Registry,
  Requests,
  Wire,
  WireError
} from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { readdirSync, readFileSync } from "node:fs"

const root = new URL("../fixtures/", import.meta.url)

const files = (kind: "accept" | "reject") =>
  readdirSync(new URL(kind, root)).flatMap((type) =>
    readdirSync(new URL(`${kind}/${type}`, root)).map((name) => ({
      type,
      name: name.replace(".json", ""),
      text: readFileSync(new URL(`${kind}/${type}/${name}`, root), "utf8")
    }))
  )

/** What a server does with a request until its handler has the params. */
const serve = (codec: Codec["Service"], text: string) => {
  const envelope = codec.decode({ _tag: "Frame", text, bytes: Json.byteLength(text) })
  if (Result.isFailure(envelope)) return Result.fail(envelope.failure.error)
  const { id, method, params } = envelope.success
  assert.isTrue(Requests.isMethod(method))
  if (method === "initialize") {
    const settled = Result.flatMap(
      Negotiation.negotiate(params, ["tool.cards", "client.tools"]),
      ({ clientTools }) => clientTools === null ? Result.succeed([]) : Registry.decode(clientTools)
    )
    if (Result.isFailure(settled)) return Result.fail(settled.failure)
  }
  return Result.map(
    Requests.decodeParams(method as MethodName, params),
    (params) => ({ id, method: method as MethodName, params })
  )
}

/** What a client does with a frame. */
const receive = (text: string) =>
  Result.flatMap(
    Result.mapError(
      Json.parse(text, { opaque: Wire.inServerFrames }),
      (fault) => WireError.invalidFrame(fault.message)
    ),
    Wire.decodeServerFrame
  )

const compact = (text: string): string => Result.getOrThrow(Json.compact(text)).text

describe("fixtures", () => {
  it("REQ-10 every method and event has fixtures of both kinds", () => {
    const types = [...Requests.methods, ...Events.names].sort()
    assert.deepStrictEqual(readdirSync(new URL("accept", root)).sort(), types)
    assert.deepStrictEqual(readdirSync(new URL("reject", root)).sort(), types)
  })

  for (const { name, text, type } of files("accept")) {
    it.effect(`REQ-10 REQ-7 accept ${type} ${name}, and writing it again gives the same text`, () =>
      Effect.gen(function*() {
        const codec = yield* Codec
        if (Events.isEvent(type)) {
          const frame = Result.getOrThrow(receive(text))
          assert.strictEqual(frame._tag, "Event")
          if (frame._tag === "Event") {
            assert.strictEqual(Wire.encodeEvent(frame.instanceId, frame.seq, frame.event), compact(text))
          }
        } else {
          const { id, method, params } = Result.getOrThrow(serve(codec, text))
          const written = Wire.encodeRequest(id, method, params as Requests.Params<MethodName>)
          assert.strictEqual(written, text.includes("\"params\"") ? compact(text) : written)
        }
      }).pipe(Effect.provide(Codec.layer)))
  }

  for (const { name, text, type } of files("reject")) {
    it.effect(`REQ-10 REQ-5 reject ${type} ${name}`, () =>
      Effect.gen(function*() {
        const codec = yield* Codec
        const whole = Result.getOrThrow(Json.read(text)) as ReadonlyMap<string, Json.JsonNode>
        const frame = Json.write(whole.get("frame")!)
        const result = Events.isEvent(type) ? Result.map(receive(frame), () => undefined) : serve(codec, frame)
        assert.isTrue(Result.isFailure(result), "it is accepted")
        if (Result.isFailure(result)) {
          assert.strictEqual(result.failure.code, whole.get("code"))
          assert.include(result.failure.message, whole.get("message") as string)
        }
      }).pipe(Effect.provide(Codec.layer)))
  }
})
