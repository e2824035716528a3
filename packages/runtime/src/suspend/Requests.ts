/**
 * The envelope of a run that ends suspended (RUN-2, SUS-1).
 *
 * Rule: what is requested is exactly what is pending in the state, in the order of the model.
 */
import type { CallState } from "./State.ts"
import type { PendingRequest, Requests } from "./Stored.ts"
import type { Surface } from "./Surface.ts"

const none: Requests = { calls: [], approvals: [], metadata: {} }

/** The requests for the pending calls of a state; `before` knows the tools that are gone from the surface meanwhile. */
export const of = (calls: ReadonlyArray<CallState>, surface: Surface, before: Requests = none): Requests => {
  const external: Array<PendingRequest> = []
  const approvals: Array<PendingRequest> = []
  const metadata: Array<[string, string]> = []
  for (const call of calls) {
    if (call.status === "completed") continue
    const tool = surface.tools.get(call.tool_name)
    const earlier = tool === undefined
      ? [...before.calls, ...before.approvals].find((request) => request.call_id === call.call_id)
      : undefined
    const request: PendingRequest = {
      call_id: call.call_id,
      tool_name: call.tool_name,
      kind: tool?.kind ?? earlier?.kind ?? "client",
      arguments: call.arguments,
      fingerprint: tool?.fingerprint ?? earlier?.fingerprint ?? ""
    }
    if (call.category === "call") external.push(request)
    else approvals.push(request)
    const declared = tool?.client?.metadata
    if (declared !== undefined && declared !== "{}") metadata.push([call.call_id, declared])
  }
  return { calls: external, approvals, metadata: Object.fromEntries(metadata) }
}
