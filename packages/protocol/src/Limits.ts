/**
 * The bounds that `initialize` tells, under the keys that the wire uses (LIF-7, section 8).
 *
 * Rule: no other module holds one of them. `Limits` is a `Context.Reference`, so tests and embedders can shrink
 * what they like with `Effect.provideService(Limits, Limits.withBounds({ … }))`.
 */
import * as Context from "effect/Context"

/** Bounds of the base protocol: bytes, counts and milliseconds (LIF-7). */
export interface BaseLimits {
  readonly input_frame_bytes: number
  readonly output_frame_bytes: number
  readonly json_depth: number
  readonly request_ids: number
  readonly required_capabilities: number
  readonly output_queue_frames: number
  readonly output_deadline_ms: number
  readonly cleanup_ms: number
  readonly prompt_bytes: number
  readonly page_entries: number
  readonly page_bytes: number
  readonly approval_timeout_ms: number
}

/** Bounds of the extension `client.tools`: bytes, counts and milliseconds (section 8). */
export interface ClientToolLimits {
  readonly tools: number
  readonly name_bytes: number
  readonly description_bytes: number
  readonly registry_bytes: number
  readonly schema_bytes: number
  readonly schema_depth: number
  readonly arguments_bytes: number
  readonly result_bytes: number
  readonly pending_calls: number
  readonly default_timeout_ms: number
  readonly min_timeout_ms: number
  readonly max_timeout_ms: number
}

/** The two groups of bounds; each goes to the client as it stands (LIF-7, CLT-4). */
export interface LimitValues {
  readonly base: BaseLimits
  readonly clientTools: ClientToolLimits
}

/** The bounds of protocol version 1 (LIF-7, section 8). */
export const defaults: LimitValues = {
  base: {
    input_frame_bytes: 65_536,
    output_frame_bytes: 65_536,
    json_depth: 32,
    request_ids: 4096,
    required_capabilities: 16,
    output_queue_frames: 32,
    output_deadline_ms: 2000,
    cleanup_ms: 2000,
    prompt_bytes: 32_768,
    page_entries: 100,
    page_bytes: 32_768,
    approval_timeout_ms: 60_000
  },
  clientTools: {
    tools: 32,
    name_bytes: 64,
    description_bytes: 2048,
    registry_bytes: 32_768,
    schema_bytes: 8192,
    schema_depth: 16,
    arguments_bytes: 16_384,
    result_bytes: 32_768,
    pending_calls: 16,
    default_timeout_ms: 30_000,
    min_timeout_ms: 1000,
    max_timeout_ms: 300_000
  }
}

/** How many request ids a connection may be granted (REQ-4). */
export const requestIds = { least: 64, most: 1_000_000 } as const

/** The bounds in force; the defaults are those of protocol version 1. */
export const Limits = Context.Reference<LimitValues>("@errand/protocol/Limits", { defaultValue: () => defaults })

/** The defaults with some bounds replaced, for tests and embedders. */
export const withBounds = (
  overrides: { readonly base?: Partial<BaseLimits>; readonly clientTools?: Partial<ClientToolLimits> }
): LimitValues => ({
  base: { ...defaults.base, ...overrides.base },
  clientTools: { ...defaults.clientTools, ...overrides.clientTools }
})
