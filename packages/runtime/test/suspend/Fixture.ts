import type { JsonText } from "@errand/protocol"
import type { Message } from "@errand/runtime"
import type { Preflight } from "@errand/runtime/suspend"
import { ClientTool, ClientToolset, Digest, State, Surface, Suspension } from "@errand/runtime/suspend"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

export const ok = <A, E>(result: Result.Result<A, E>): A => Result.getOrThrow(result)

export const failed = <A, E>(result: Result.Result<A, E>): E => Result.getOrThrow(Result.flip(result))

export const lookup = ok(ClientTool.make({
  name: "lookup_record",
  description: "Looks a record up.",
  parameters: Schema.Struct({ record_id: Schema.String }),
  success: Schema.Struct({ title: Schema.String })
}))

export const raw = ok(ClientTool.raw({
  name: "free_form",
  description: "Takes and gives anything.",
  parameters: { type: "object", properties: { n: { type: "integer" } } }
}))

export const toolset = ok(ClientToolset.make("crm", [lookup, raw]))

const objectSchema = "{\"type\":\"object\"}" as JsonText

export const builtin = (name: string, otherwise: "allow" | "ask" | "deny" = "ask") => ({
  name,
  description: `Does ${name}.`,
  inputSchema: objectSchema,
  kind: "builtin" as const,
  timeoutMs: 1000,
  inspection: false,
  otherwise
})

export const surfaceOf = (overrides: Partial<Surface.Input> = {}): Surface.Surface =>
  ok(Surface.make({
    clientTools: ok(ClientToolset.spec({ defaultToolsets: [toolset], allowRunOverride: true })),
    others: [builtin("write_file"), builtin("read_file", "allow")],
    rules: [],
    ...overrides
  }))

export const surface = surfaceOf()

/** A response with an ordinary call that is done, two external calls and an approval, in this order. */
export const history: ReadonlyArray<Message> = [
  { role: "user", text: "Look two records up, \"please\"\n and write." },
  {
    role: "assistant",
    text: "",
    toolCalls: [
      { id: "c0", name: "read_file", arguments: "{\"path\":\"a\"}" },
      { id: "c1", name: "lookup_record", arguments: "{\"record_id\":\"7\"}" },
      { id: "c2", name: "write_file", arguments: "{\"path\":\"b\"}" },
      { id: "c3", name: "free_form", arguments: "{\"n\":9007199254740993}" }
    ]
  }
]

const pendingCall = (
  call_id: string,
  tool_name: string,
  category: State.Category,
  args: string
): State.CallState => ({
  call_id,
  tool_name,
  category,
  arguments: args,
  status: "pending",
  outcome: null,
  content: null
})

export const calls: ReadonlyArray<State.CallState> = [
  {
    ...pendingCall("c0", "read_file", "local", "{\"path\":\"a\"}"),
    status: "completed",
    outcome: "success",
    content: "{\"text\":\"A\"}"
  },
  pendingCall("c1", "lookup_record", "call", "{\"record_id\":\"7\"}"),
  pendingCall("c2", "write_file", "approval", "{\"path\":\"b\"}"),
  pendingCall("c3", "free_form", "call", "{\"n\":9007199254740993}")
]

export const stateOf = (
  overrides: Partial<Pick<State.State, "calls" | "thread_id">> & { readonly messages?: ReadonlyArray<Message> } = {}
): State.State =>
  State.make({
    threadId: overrides.thread_id ?? "thread",
    base: null,
    added: overrides.messages ?? history,
    calls: overrides.calls ?? calls,
    usage: State.noUsage
  })

export const requestOf = (
  call_id: string,
  tool_name: string,
  args: string,
  from: Surface.Surface = surface
): Suspension.PendingRequest => ({
  call_id,
  tool_name,
  kind: from.tools.get(tool_name)?.kind ?? "client",
  arguments: args,
  fingerprint: from.tools.get(tool_name)?.fingerprint ?? "gone"
})

export const requests: Suspension.Requests = {
  calls: [
    requestOf("c1", "lookup_record", "{\"record_id\":\"7\"}"),
    requestOf("c3", "free_form", "{\"n\":9007199254740993}")
  ],
  approvals: [requestOf("c2", "write_file", "{\"path\":\"b\"}")],
  metadata: { c1: "{\"row\":1}" }
}

export const now = Date.UTC(2026, 10, 1)

export const contents = (overrides: Partial<Suspension.Contents> = {}): Suspension.Contents => ({
  runId: "run",
  state: stateOf(),
  requests,
  surface: surface.fingerprints,
  createdAt: now,
  expiresAt: now + 60_000,
  ...overrides
})

export const results = {
  calls: {
    c1: { status: "success", value: { title: "Seven" } },
    c3: { status: "error", message: "no such thing", content: { why: "gone" } }
  },
  approvals: { c2: { allow: true } }
} as const

export const input = (overrides: Partial<Preflight.Input> = {}): Preflight.Input => ({
  suspension: Suspension.seal(contents(), null),
  results,
  surface,
  now,
  keys: null,
  trustUnsigned: true,
  ...overrides
})

export const keysOf = (...ids: ReadonlyArray<string>): Digest.Keys =>
  ok(Digest.makeKeys(ids.map((id) => ({ id, secret: new Uint8Array(32).fill(id.charCodeAt(0)) }))))

/** The same JSON value with the keys of every object in reverse order, as a store may return it. */
export const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).reverse().map(([key, member]) => [key, reordered(member)]))
}
