import { assert, describe, it } from "@effect/vitest"
import {
  Codec,
  type EventData,
  Ids,
  Json,
  type JsonText,
  Limits,
  type ServerEvent,
  Wire,
  WireError
} from "@errand/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

const instance = "f1b2c3d4-5e6f-4a7b-8c9d-5f0a1b2c4f06" as Ids.InstanceId

const request = (text: string) => Wire.decodeRequest(Result.getOrThrow(Json.parse(text, { opaque: Wire.inRequests })))

const rejected = (text: string, code: string, id: string | null) => {
  const result = request(text)
  assert.isTrue(Result.isFailure(result), text)
  if (Result.isFailure(result)) assert.deepStrictEqual([result.failure.error.code, result.failure.id], [code, id], text)
}

describe("2. Requests, responses, events: requests", () => {
  it("FRM-1 FRM-9 WIR-1 a frame that is no object is an invalid frame", () => {
    for (const text of ["[]", "null", "1", "\"a\"", "true", "[{\"id\":\"a\",\"method\":\"status\"}]"]) {
      rejected(text, "invalid_frame", null)
    }
  })

  it("REQ-1 a wrong envelope is invalid_request, with the id when it is valid", () => {
    for (
      const rest of [
        "\"method\":\"status\",\"extra\":1",
        "\"method\":\"status\",\"params\":null",
        "\"method\":\"status\",\"params\":[]",
        "\"method\":\"status\",\"params\":\"{}\"",
        "\"method\":\"status\",\"params\":1",
        "\"method\":null",
        "\"method\":5",
        "\"method\":[\"status\"]",
        "\"params\":{}",
        "\"method\":\"status\",\"instance_id\":\"x\"",
        "\"method\":\"status\",\"jsonrpc\":\"2.0\"",
        "\"method\":\"status\",\"__proto__\":{}",
        "\"Method\":\"status\""
      ]
    ) rejected(`{"id":"q7",${rest}}`, "invalid_request", "q7")
    for (
      const text of [
        "{}",
        "{\"method\":\"status\"}",
        "{\"id\":null,\"method\":\"status\"}",
        "{\"id\":1,\"method\":\"status\"}",
        "{\"id\":[\"a\"],\"method\":\"status\"}",
        "{\"id\":{},\"method\":\"status\"}",
        "{\"event\":\"x\",\"data\":{}}"
      ]
    ) rejected(text, "invalid_request", null)
  })

  it("REQ-1 params may be absent, and keys come in any order", () => {
    const absent = Result.getOrThrow(request("{\"id\":\"a\",\"method\":\"status\"}"))
    assert.deepStrictEqual([absent.id, absent.method, Object.keys(absent.params)], ["a", "status", []])
    const full = Result.getOrThrow(request("{\"params\":{\"x\":1},\"method\":\"\",\"id\":\"b\"}"))
    assert.deepStrictEqual([full.id, full.method, full.params["x"]], ["b", "", 1])
  })

  it("REQ-2 C9 an id has 1 to 128 characters from 0x21 to 0x7E", () => {
    const all = String.fromCharCode(...Array.from({ length: 0x7e - 0x21 + 1 }, (_, i) => 0x21 + i))
    for (const id of ["!", "~", "0", all, "x".repeat(128), "__proto__", "null"]) {
      assert.strictEqual(Result.getOrThrow(request(JSON.stringify({ id, method: "status" }))).id, id)
    }
    for (const id of ["", "x".repeat(129), "a b", " ", "a\u007f", "é", "a\u0000", "a\tb", "😀"]) {
      rejected(JSON.stringify({ id, method: "status" }), "invalid_request", null)
    }
  })

  it("REQ-5 the message does not repeat what was sent", () => {
    const result = request(`{"id":"a","method":"status","${"z".repeat(60_000)}":"hunter2"}`)
    assert.isTrue(Result.isFailure(result))
    if (Result.isFailure(result)) assert.isBelow(result.failure.error.message.length, 200)
    assert.notInclude(JSON.stringify(result), "hunter2")
  })
})

const run = { session_id: "s" as Ids.SessionId, run_id: "r" as Ids.RunId }

const call: EventData<"client.tool.call"> = {
  ...run,
  call_id: "c" as Ids.CallId,
  task_id: null,
  subagent_id: "g\"" as Ids.SubagentId,
  name: "client__a",
  arguments: "{\"big\":9007199254740993,\"10\":-0,\"2\":\"\u2028\",\"__proto__\":{}}" as JsonText,
  timeout_ms: 30_000
}

describe("2. Requests, responses, events: output", () => {
  it("REQ-5 a success, built or text already", () => {
    assert.strictEqual(
      Wire.encodeResult(instance, "\"\\", { accepted: true }),
      `{"id":"\\"\\\\","instance_id":"${instance}","result":{"accepted":true}}`
    )
    assert.strictEqual(
      Wire.encodeResult(instance, "a", "{\"n\":1.0}" as JsonText),
      `{"id":"a","instance_id":"${instance}","result":{"n":1.0}}`
    )
  })

  it("REQ-5 FRM-9 an error, with id null and details only when there are some", () => {
    assert.strictEqual(
      Wire.encodeError(instance, null, WireError.invalidFrame("not \"JSON\"")),
      `{"id":null,"instance_id":"${instance}","error":{"code":"invalid_frame","message":"not \\"JSON\\""}}`
    )
    assert.strictEqual(
      Wire.encodeError(instance, "a", WireError.unsupportedCapability(["x"])),
      `{"id":"a","instance_id":"${instance}","error":{"code":"unsupported_capability","message":"required_capabilities: not supported: x","details":{"capabilities":["x"]}}}`
    )
  })

  it("REQ-7 CAL-1 FRM-12 a call is spliced from its parts: exact data, arguments untouched", () => {
    const text = Wire.encodeEvent(instance, 7, { event: "client.tool.call", data: call })
    assert.strictEqual(
      text,
      `{"event":"client.tool.call","instance_id":"${instance}","seq":7,"data":{"session_id":"s","run_id":"r","call_id":"c","task_id":null,"subagent_id":"g\\"","name":"client__a","arguments":${call.arguments},"timeout_ms":30000}}`
    )
    const read = Json.parse(text, { opaque: Wire.inServerFrames })
    assert.deepStrictEqual(
      Wire.decodeServerFrame(Result.getOrThrow(read)),
      Result.succeed({
        _tag: "Event" as const,
        instanceId: instance,
        seq: 7,
        event: { event: "client.tool.call" as const, data: call }
      })
    )
  })

  it("FRM-5 CAL-4 the containers around arguments are counted right", () => {
    const inner = 32 - Wire.containersAroundArguments
    const text = (depth: number) =>
      Wire.encodeEvent(instance, 1, {
        event: "client.tool.call",
        data: { ...call, arguments: `${"{\"a\":".repeat(depth)}1${"}".repeat(depth)}` as JsonText }
      })
    assert.isTrue(Result.isSuccess(Json.compact(text(inner))))
    assert.isTrue(Result.isFailure(Json.compact(text(inner + 1))))
  })

  it("REQ-7 other events are written as they are", () => {
    const event: ServerEvent = { event: "connection.closing", data: { reason: "shutdown" } }
    assert.strictEqual(
      Wire.encodeEvent(instance, 1, event),
      `{"event":"connection.closing","instance_id":"${instance}","seq":1,"data":{"reason":"shutdown"}}`
    )
  })
})

describe("2. Requests, responses, events: the client's side", () => {
  const read = (text: string) =>
    Result.flatMap(
      Result.mapError(Json.parse(text, { opaque: Wire.inServerFrames }), (fault) =>
        WireError.invalidFrame(fault.message)),
      Wire.decodeServerFrame
    )

  it("REQ-5 responses of both kinds are read back", () => {
    const success = Result.getOrThrow(read(Wire.encodeResult(instance, "a", { run_id: "r" })))
    assert.strictEqual(success._tag, "Success")
    const failure = Result.getOrThrow(read(Wire.encodeError(instance, null, WireError.unsupportedCapability(["x"]))))
    assert.strictEqual(failure._tag, "Failure")
    if (failure._tag === "Failure") {
      assert.deepStrictEqual([failure.id, failure.instanceId, failure.error.code], [
        null,
        instance,
        "unsupported_capability"
      ])
      assert.strictEqual(JSON.stringify(failure.error.details), "{\"capabilities\":[\"x\"]}")
    }
  })

  it("an event of a later version is told apart, and fields of later versions are dropped", () => {
    assert.deepStrictEqual(
      read(`{"event":"later.thing","instance_id":"i","seq":3,"data":{}}`),
      Result.succeed({ _tag: "UnknownEvent" as const, instanceId: "i" as Ids.InstanceId, seq: 3, name: "later.thing" })
    )
    const frame = read(
      `{"event":"connection.closing","instance_id":"i","seq":3,"data":{"reason":"shutdown","later":1}}`
    )
    assert.deepStrictEqual(
      Result.map(frame, (frame) => frame._tag === "Event" && frame.event),
      Result.succeed({ event: "connection.closing" as const, data: { reason: "shutdown" as const } })
    )
  })

  it("a frame that is none of a server is an invalid frame", () => {
    for (
      const text of [
        "[]",
        "{}",
        "{\"id\":\"a\",\"instance_id\":\"i\"}",
        "{\"id\":\"a\",\"result\":{}}",
        "{\"id\":1,\"instance_id\":\"i\",\"result\":{}}",
        "{\"id\":null,\"instance_id\":\"i\",\"result\":{}}",
        "{\"id\":\"a\",\"instance_id\":\"i\",\"error\":{\"code\":\"x\"}}",
        "{\"event\":1,\"instance_id\":\"i\",\"seq\":1,\"data\":{}}",
        "{\"event\":\"run.started\",\"instance_id\":\"i\",\"seq\":1.5,\"data\":{}}",
        "{\"event\":\"run.started\",\"instance_id\":\"i\",\"seq\":1,\"data\":[]}",
        "{\"event\":\"run.started\",\"instance_id\":\"i\",\"seq\":1,\"data\":{}}"
      ]
    ) {
      const result = read(text)
      assert.isTrue(Result.isFailure(result), text)
      if (Result.isFailure(result)) assert.strictEqual(result.failure.code, "invalid_frame")
    }
  })

  it("RES-1 E12 a result is written with structured absent, null or lossless", () => {
    const params = {
      instance_id: instance,
      ...run,
      call_id: "c" as Ids.CallId,
      task_id: null,
      subagent_id: null,
      status: "success" as const,
      text: "é\n"
    }
    const head =
      `{"id":"1","method":"client.tool.result","params":{"instance_id":"${instance}","session_id":"s","run_id":"r","call_id":"c","task_id":null,"subagent_id":null,"status":"success","text":"é\\n"`
    assert.strictEqual(Wire.encodeRequest("1", "client.tool.result", params), `${head}}}`)
    for (const structured of ["null", "9007199254740993", "{\"10\":-0,\"2\":1.0}"] as Array<JsonText>) {
      assert.strictEqual(
        Wire.encodeRequest("1", "client.tool.result", { ...params, structured }),
        `${head},"structured":${structured}}}`
      )
    }
  })
})

describe("Codec", () => {
  it.effect("FRM-9 REQ-8 it reads lines to requests and writes under one fresh instance id", () =>
    Effect.gen(function*() {
      const codec = yield* Codec
      assert.strictEqual(codec.instanceId, "id-1")
      const decoder = codec.frames()
      decoder.push(new TextEncoder().encode("{\"id\":\"a\",\"method\":\"status\"}\r\n{\"id\":\"a\",}\n\"\xff\n"))
      decoder.push(new Uint8Array([0xff, 0x0a]))
      const seen: Array<unknown> = []
      for (let item = decoder.next(); item !== undefined; item = decoder.next()) {
        if (item._tag === "Overflow") break
        const result = codec.decode(item)
        seen.push(Result.isSuccess(result) ? result.success.id : [result.failure.id, result.failure.error.code])
      }
      assert.deepStrictEqual(seen, ["a", [null, "invalid_frame"], [null, "invalid_frame"], [null, "invalid_frame"]])
      assert.strictEqual(codec.result("a", {}), "{\"id\":\"a\",\"instance_id\":\"id-1\",\"result\":{}}")
    }).pipe(Effect.provide(Codec.layer), Effect.provideService(Ids.Generator, counter())))

  it.effect("FRM-2 FRM-3 FRM-5 it keeps to the limits in force", () =>
    Effect.gen(function*() {
      const codec = yield* Codec
      assert.deepStrictEqual([codec.fits("a".repeat(9)), codec.fits("a".repeat(10))], [true, false])
      const decoder = codec.frames()
      decoder.push(new Uint8Array(21).fill(0x20))
      assert.strictEqual(decoder.next()?._tag, "Overflow")
      const deep = codec.decode({ _tag: "Frame", text: "{\"a\":{\"b\":[]}}", bytes: 14 })
      assert.isTrue(Result.isFailure(deep) && deep.failure.error.code === "invalid_frame")
    }).pipe(
      Effect.provide(Codec.layer),
      Effect.provideService(
        Limits.Limits,
        Limits.withBounds({ base: { input_frame_bytes: 20, output_frame_bytes: 10, json_depth: 2 } })
      )
    ))
})

function counter(): () => string {
  let count = 0
  return () => `id-${++count}`
}
