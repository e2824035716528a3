/**
 * The tools that a client lends for the life of a connection (CLT-1 to CLT-7).
 *
 * Rule: a registry exists whole or not at all, is built once from `client_tools`, and never changes (CLT-5).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as ClientTool from "./ClientTool.ts"
import * as Json from "./Json.ts"
import * as Limits from "./Limits.ts"
import { WireError } from "./WireError.ts"

/** The registered tools in registration order; `negotiated` says whether the client required `client.tools` at all. */
export class Registry extends Context.Service<Registry, {
  readonly tools: ReadonlyArray<ClientTool.ClientTool>
  readonly get: (name: string) => ClientTool.ClientTool | undefined
  readonly negotiated: boolean
}>()("@errand/protocol/Registry") {
  /** The whole array or its first fault, which names the descriptor and the path (CLT-3). */
  static decode(
    text: string,
    limits: Limits.LimitValues = Limits.defaults
  ): Result.Result<ReadonlyArray<ClientTool.ClientTool>, WireError> {
    const bounds = limits.clientTools
    const read = Json.read(text, { maxDepth: limits.base.json_depth })
    if (Result.isFailure(read)) {
      const { message, path } = read.failure
      const at = path === "" || path.startsWith("[") ? path : `.${path}`
      return Result.fail(WireError.invalidParams(`client_tools${at}`, message))
    }
    const nodes = read.success
    if (!Json.isArray(nodes)) return Result.fail(WireError.invalidParams("client_tools", "expected an array"))
    if (nodes.length > bounds.tools) {
      return Result.fail(
        WireError.invalidParams("client_tools", `has ${nodes.length} tools, at most ${bounds.tools} are allowed`)
      )
    }
    const tools: Array<ClientTool.ClientTool> = []
    const names = new Set<string>()
    let bytes = 2 + Math.max(0, nodes.length - 1)
    for (let i = 0; i < nodes.length; i++) {
      const decoded = ClientTool.decode(nodes[i]!, `client_tools[${i}]`, bounds)
      if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
      const tool = decoded.success
      if (names.has(tool.name)) {
        return Result.fail(WireError.invalidParams(`client_tools[${i}].name`, "another tool has this name"))
      }
      names.add(tool.name)
      bytes += Json.byteLength(ClientTool.effective(tool))
      tools.push(tool)
    }
    if (bytes > bounds.registry_bytes) {
      return Result.fail(
        WireError.invalidParams(
          "client_tools",
          `has ${bytes} compact bytes with all time-outs, at most ${bounds.registry_bytes} are allowed`
        )
      )
    }
    return Result.succeed(tools)
  }

  /** A registry of tools that are decoded already. */
  static make(tools: ReadonlyArray<ClientTool.ClientTool>): Registry["Service"] {
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    return { tools, get: (name) => byName.get(name), negotiated: true }
  }

  /** The registry of a client that supplied this array; fails with the first fault and builds nothing then. */
  static layer(text: string): Layer.Layer<Registry, WireError> {
    return Layer.effect(
      Registry,
      Effect.gen(function*() {
        return Registry.make(yield* Effect.fromResult(Registry.decode(text, yield* Limits.Limits)))
      })
    )
  }

  /** The registry of a client that did not require `client.tools`. */
  static readonly layerEmpty: Layer.Layer<Registry> = Layer.succeed(Registry, {
    tools: [],
    get: () => undefined,
    negotiated: false
  })
}
