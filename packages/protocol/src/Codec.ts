/**
 * The service that turns bytes into requests, and responses and events into text, under the bounds in force.
 *
 * Rule: it adds nothing of its own to the modules that it composes: `Frame`, `Json` and `Wire`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { ServerEvent } from "./Events.ts"
import * as Frame from "./Frame.ts"
import * as Ids from "./Ids.ts"
import type { InstanceId } from "./Ids.ts"
import * as Json from "./Json.ts"
import type { JsonText } from "./Json.ts"
import * as Limits from "./Limits.ts"
import * as Wire from "./Wire.ts"
import { WireError } from "./WireError.ts"

/**
 * One server process on the wire: `instanceId` is fresh for each layer (REQ-8).
 *
 * `decode` reads a line that the decoder of `frames` gave; texts that are made here have no LF yet (`Frame.encode`).
 */
export class Codec extends Context.Service<Codec, {
  readonly instanceId: InstanceId
  readonly frames: () => Frame.FrameDecoder
  readonly decode: (item: Exclude<Frame.FrameItem, { readonly _tag: "Overflow" }>) => Result.Result<
    Wire.Request,
    Wire.Rejection
  >
  readonly result: (id: string, result: object | JsonText) => string
  readonly error: (id: string | null, error: WireError) => string
  readonly event: (seq: number, event: ServerEvent) => string
  readonly fits: (text: string) => boolean
}>()("@errand/protocol/Codec") {
  /** A codec under the limits in force, with an instance id of its own. */
  static readonly layer: Layer.Layer<Codec> = Layer.effect(
    Codec,
    Effect.gen(function*() {
      const { base } = yield* Limits.Limits
      const instanceId = (yield* Ids.Generator)() as InstanceId
      const options = { maxDepth: base.json_depth, opaque: Wire.inRequests }
      return {
        instanceId,
        frames: () => new Frame.FrameDecoder(base.input_frame_bytes),
        decode: (item) => {
          if (item._tag === "Invalid") return Result.fail({ id: null, error: WireError.invalidFrame(item.reason) })
          const value = Json.parse(item.text, options)
          return Result.isSuccess(value) ? Wire.decodeRequest(value.success) : Result.fail({
            id: null,
            error: WireError.invalidFrame(value.failure.message)
          })
        },
        result: (id, result) => Wire.encodeResult(instanceId, id, result),
        error: (id, error) => Wire.encodeError(instanceId, id, error),
        event: (seq, event) => Wire.encodeEvent(instanceId, seq, event),
        fits: (text) => Frame.fits(text, base.output_frame_bytes)
      }
    })
  )
}
