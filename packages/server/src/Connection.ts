/**
 * Which requests are admitted, and in what order that is decided (sections 2 and 3).
 *
 * Rule: the checks of REQ-9 run in their order and the first that fails answers: frame, envelope, quota, duplicate id,
 * method known, connection state; params and domain state are the handlers' matter. Nothing here does anything.
 *
 * 1. Each fresh id is used by the first frame that carries it, whatever becomes of that frame (REQ-3).
 * 2. `idsLeft` falls by one for each fresh valid id and for each frame without a valid id, never below 0 (REQ-4).
 * 3. After `closing` only `status` is admitted (LIF-1).
 */
import { type Limits, Requests, type Wire, WireError } from "@errand/protocol"
import * as Result from "effect/Result"
import { UsedIds } from "./UsedIds.ts"

/** The lifecycle (section 3). */
export type ConnectionState = "new" | "initializing" | "ready" | "closing"

/** What became of one line of input. */
export type Admission =
  | { readonly _tag: "Rejected"; readonly id: string | null; readonly error: WireError }
  | { readonly _tag: "Admitted"; readonly id: string; readonly method: Requests.MethodName; readonly params: unknown }

/** The state that admission depends on; mutable, one per connection. */
export class Connection {
  state: ConnectionState = "new"
  /** Whether `client.tools` was negotiated: decides if `client.tool.result` is a method at all (RES-4). */
  clientTools = false
  /** Whether `tool.cards` was negotiated (CRD-1). */
  cards = false
  private ids: number
  private spent = 0
  private readonly used = new UsedIds()

  constructor(limits: Limits.BaseLimits) {
    this.ids = limits.request_ids
  }

  /** How many request ids are left (LIF-9). */
  get idsLeft(): number {
    return Math.max(0, this.ids - this.spent)
  }

  /** Sets how many ids the connection has in all; what was used stays used (PGM-6). */
  grant(ids: number): void {
    this.ids = ids
  }

  /** Decides about one line that is not blank, as `Codec.decode` read it. */
  admit(request: Result.Result<Wire.Request, Wire.Rejection>): Admission {
    if (Result.isFailure(request)) return this.reject(request.failure.id, request.failure.error)
    const { id, method, params } = request.success
    if (this.idsLeft === 0) {
      return { _tag: "Rejected", id, error: new WireError("request_quota_exceeded", EXHAUSTED) }
    }
    if (!this.used.take(id)) {
      return { _tag: "Rejected", id, error: new WireError("duplicate_id", "id: was used before on this connection") }
    }
    this.spent++
    if (!Requests.isMethod(method) || (method === "client.tool.result" && !this.clientTools)) {
      return { _tag: "Rejected", id, error: new WireError("unsupported_method", "method: is not one of this server") }
    }
    const refusal = this.refusal(method)
    return refusal === undefined ? { _tag: "Admitted", id, method, params } : { _tag: "Rejected", id, error: refusal }
  }

  private reject(id: string | null, error: WireError): Admission {
    if (this.idsLeft > 0 && (id === null || this.used.take(id))) this.spent++
    return { _tag: "Rejected", id, error }
  }

  private refusal(method: Requests.MethodName): WireError | undefined {
    if (method === "status") return undefined
    if (this.state === "closing") return new WireError("shutting_down", "the server is closing")
    if (method === "shutdown") return undefined
    if (method === "initialize") {
      return this.state === "new" ? undefined : new WireError("already_initialized", "initialize: was accepted before")
    }
    return this.state === "ready" ? undefined : new WireError("not_initialized", `${method}: initialize comes first`)
  }
}

const EXHAUSTED = "this connection has used all its request ids; what is running goes on, start a new process for more"
