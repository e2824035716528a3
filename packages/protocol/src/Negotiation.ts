/**
 * What `initialize` settles: required capabilities, optional extensions, and the answer (LIF-2 to LIF-4, LIF-7, LIF-8,
 * CLT-1, CLT-4, CRD-1).
 *
 * Rule: this is pure and comes before every effect; the registry is only decoded after the capabilities are settled.
 */
import * as Result from "effect/Result"
import * as Json from "./Json.ts"
import type { JsonText } from "./Json.ts"
import { step } from "./JsonScanner.ts"
import * as Limits from "./Limits.ts"
import type { BaseLimits, ClientToolLimits, LimitValues } from "./Limits.ts"
import { WireError } from "./WireError.ts"

/** The name and the version of the protocol (LIF-7). */
export const protocol = { name: "errand.local-agent", version: 1 } as const

/** The capabilities that every server has, always advertised in this order (LIF-8). */
export const baseCapabilities = [
  "initialize",
  "status",
  "shutdown",
  "session.create",
  "session.open",
  "session.list",
  "history.page",
  "turn.start",
  "turn.cancel",
  "approval.answer"
] as const

/** The optional capabilities, advertised in this order when negotiated (LIF-8). */
export const optionalCapabilities = ["tool.cards", "client.tools"] as const

/** An optional capability that this version knows. */
export type OptionalCapability = typeof optionalCapabilities[number]

/** What was settled; `clientTools` is the array as sent, not yet decoded, and null without `client.tools`. */
export interface Negotiated {
  readonly optional: ReadonlyArray<OptionalCapability>
  readonly clientTools: JsonText | null
}

/** How many more capabilities may be required when `client.tools` is among them (LIF-3). */
const withClientTools = 2
const capabilityBytes = 64

/** How many capabilities a client may require (LIF-3, LIF-8). */
export const requiredLimit = (limits: BaseLimits, clientTools: boolean): number =>
  limits.required_capabilities + (clientTools ? withClientTools : 0)

/** The fault of a list of required capabilities, if any (LIF-2, LIF-3). */
const requiredFault = (value: unknown, limits: BaseLimits): WireError | undefined => {
  const fail = (where: string, problem: string) => WireError.invalidParams(`required_capabilities${where}`, problem)
  if (value === undefined) return fail("", "missing")
  if (!Array.isArray(value)) return fail("", "expected an array of strings")
  const seen = new Set<unknown>()
  for (let i = 0; i < value.length; i++) {
    const name: unknown = value[i]
    if (typeof name !== "string") return fail(`[${i}]`, "expected a string")
    if (name === "" || Json.byteLength(name) > capabilityBytes) return fail(`[${i}]`, "expected 1 to 64 bytes")
    if (seen.has(name)) return fail(`[${i}]`, "given twice")
    seen.add(name)
  }
  const most = requiredLimit(limits, seen.has("client.tools"))
  return value.length > most ? fail("", `${value.length} are required, at most ${most} may be`) : undefined
}

/**
 * Settles the params of `initialize`, read by `Json.parse` with `client_tools` opaque. `offered` are the optional
 * capabilities of this server. Shape first, then `unsupported_capability`, then the presence of `client_tools`.
 */
export const negotiate = (
  params: Readonly<Record<string, unknown>>,
  offered: ReadonlyArray<OptionalCapability>,
  limits: LimitValues = Limits.defaults
): Result.Result<Negotiated, WireError> => {
  for (const key of Object.keys(params)) {
    if (key !== "required_capabilities" && key !== "client_tools") {
      return Result.fail(WireError.invalidParams(step(key).replace(/^\./, ""), "unknown field"))
    }
  }
  const fault = requiredFault(params["required_capabilities"], limits.base)
  if (fault !== undefined) return Result.fail(fault)
  const required = params["required_capabilities"] as ReadonlyArray<string>
  const known = new Set<string>([...baseCapabilities, ...offered])
  const lacking = required.filter((name) => !known.has(name))
  if (lacking.length > 0) return Result.fail(WireError.unsupportedCapability(lacking))
  const optional = optionalCapabilities.filter((name) => required.includes(name))
  const tools = params["client_tools"]
  if (!optional.includes("client.tools")) {
    return tools === undefined
      ? Result.succeed({ optional, clientTools: null })
      : Result.fail(WireError.invalidParams("client_tools", "only allowed when client.tools is required"))
  }
  if (tools === undefined) {
    return Result.fail(WireError.invalidParams("client_tools", "missing, client.tools is required"))
  }
  return tools instanceof Json.Opaque && Json.kindOf(tools.text) === "array"
    ? Result.succeed({ optional, clientTools: tools.text })
    : Result.fail(WireError.invalidParams("client_tools", "expected an array"))
}

/** The names of the registered tools and the limits that hold for them (CLT-4). */
export interface ClientToolsSummary {
  readonly tools: ReadonlyArray<string>
  readonly limits: ClientToolLimits
}

/** The result of `initialize` (LIF-7, CLT-4). */
export interface InitializeResult {
  readonly protocol: string
  readonly version: number
  readonly server: { readonly name: string; readonly version: string }
  readonly capabilities: ReadonlyArray<string>
  readonly limits: BaseLimits
  readonly extensions: {
    readonly "tool.cards"?: { readonly schema_version: number }
    readonly "client.tools"?: ClientToolsSummary & { readonly schema_version: number; readonly registration: string }
  }
  readonly client_tools?: ClientToolsSummary
}

/** The answer to an admitted `initialize`; `tools` are the registered names in registration order. */
export const initializeResult = (options: {
  readonly negotiated: Negotiated
  readonly tools: ReadonlyArray<string>
  readonly limits: LimitValues
  readonly server: { readonly name: string; readonly version: string }
}): InitializeResult => {
  const { limits, negotiated, server, tools } = options
  const cards = negotiated.optional.includes("tool.cards")
  const clientTools = negotiated.optional.includes("client.tools")
  const summary = { tools, limits: limits.clientTools }
  return {
    protocol: protocol.name,
    version: protocol.version,
    server,
    capabilities: [...baseCapabilities, ...negotiated.optional],
    limits: { ...limits.base, required_capabilities: requiredLimit(limits.base, clientTools) },
    extensions: {
      ...(cards ? { "tool.cards": { schema_version: 1 } } : {}),
      ...(clientTools ? { "client.tools": { schema_version: 1, registration: "startup_only", ...summary } } : {})
    },
    ...(clientTools ? { client_tools: summary } : {})
  }
}
