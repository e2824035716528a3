/**
 * Why a resume is refused before anything starts: one error per condition of the preflight (section 5).
 *
 * Rule: each has a `code` for programs, `details` that say which and where, and a `message` for a person that repeats no
 * payload.
 */
import * as Data from "effect/Data"
import type { Fault } from "./JsonValue.ts"

/** Requests of one of the two categories: external calls, or local calls that need a decision. */
export type RequestCategory = "calls" | "approvals"

const name = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 99).toWellFormed()}…` : text)
const names = (ids: ReadonlyArray<string>): string =>
  ids.slice(0, 8).map(name).join(", ") + (ids.length > 8 ? ", …" : "")

/** Check 1: the value is no suspension. */
export class SuspensionInvalid extends Data.TaggedError("SuspensionInvalid")<{ readonly details: Fault }> {
  readonly code = "suspension_invalid"
  override get message(): string {
    return `This is no suspension: ${this.details.path === "" ? "it" : this.details.path} ${this.details.rule}.`
  }
}

/** Check 1: a suspension of a version that this program does not know. */
export class SuspensionVersionUnsupported extends Data.TaggedError("SuspensionVersionUnsupported")<{
  readonly details: { readonly version: unknown; readonly supported: ReadonlyArray<number> }
}> {
  readonly code = "suspension_version_unsupported"
  override get message(): string {
    return `The suspension has a version other than ${this.details.supported.join(", ")}.`
  }
}

/**
 * Check 2: the digest is not that of the rest (`mismatch`), is unkeyed where a key is required (`unkeyed`), has an
 * unknown key (`unknown_key`), or approvals are pending in an unsigned suspension without `trustUnsigned` (`unsigned_approvals`).
 */
export class SuspensionIntegrityFailed extends Data.TaggedError("SuspensionIntegrityFailed")<{
  readonly details: { readonly reason: "mismatch" | "unkeyed" | "unknown_key" | "unsigned_approvals" }
}> {
  readonly code = "suspension_integrity_failed"
  override get message(): string {
    switch (this.details.reason) {
      case "mismatch":
        return "The suspension was changed after it was sealed."
      case "unkeyed":
        return "The suspension is not signed, and this host accepts signed ones only."
      case "unknown_key":
        return "The suspension was signed with a key that this host does not have."
      case "unsigned_approvals":
        return "The suspension is not signed; resuming approvals from it needs the option trustUnsigned."
    }
  }
}

/** Check 3: the time `expires_at` has passed. */
export class SuspensionExpired extends Data.TaggedError("SuspensionExpired")<{
  readonly details: { readonly expiresAt: string }
}> {
  readonly code = "suspension_expired"
  override get message(): string {
    return `The suspension expired at ${this.details.expiresAt}.`
  }
}

/** Check 4: a request id that is blank, or that occurs twice in its category. */
export class DeferredRequestDuplicate extends Data.TaggedError("DeferredRequestDuplicate")<{
  readonly details: { readonly callId: string; readonly category: RequestCategory }
}> {
  readonly code = "deferred_request_duplicate"
  override get message(): string {
    return `The request id ${name(this.details.callId)} is blank or occurs twice in ${this.details.category}.`
  }
}

/** Check 5: ids that are pending both as calls and as approvals. */
export class DeferredRequestCategoryOverlap extends Data.TaggedError("DeferredRequestCategoryOverlap")<{
  readonly details: { readonly callIds: ReadonlyArray<string> }
}> {
  readonly code = "deferred_request_category_overlap"
  override get message(): string {
    return `Pending both as call and as approval: ${names(this.details.callIds)}.`
  }
}

/** Check 6: nothing is pending. */
export class DeferredRequestsEmpty extends Data.TaggedError("DeferredRequestsEmpty")<{ readonly details: {} }> {
  readonly code = "deferred_requests_empty"
  override get message(): string {
    return "The suspension has no pending request."
  }
}

/** Check 6: more requests are pending than one suspension may hold. */
export class DeferredRequestsTooLarge extends Data.TaggedError("DeferredRequestsTooLarge")<{
  readonly details: { readonly count: number; readonly limit: number }
}> {
  readonly code = "deferred_requests_too_large"
  override get message(): string {
    return `The suspension has ${this.details.count} pending requests; at most ${this.details.limit} are accepted.`
  }
}

/** Check 7: the results do not cover the requests exactly. An id that is given in the other category is only in `wrongCategory`. */
export class DeferredResultsIncomplete extends Data.TaggedError("DeferredResultsIncomplete")<{
  readonly details: {
    readonly missing: ReadonlyArray<string>
    readonly unexpected: ReadonlyArray<string>
    readonly wrongCategory: ReadonlyArray<string>
  }
}> {
  readonly code = "deferred_results_incomplete"
  override get message(): string {
    const { missing, unexpected, wrongCategory } = this.details
    const parts = [["missing", missing], ["unexpected", unexpected], ["in the wrong category", wrongCategory]] as const
    const told = parts.filter(([, ids]) => ids.length > 0).map(([word, ids]) => `${word}: ${names(ids)}`)
    return `The results do not cover the requests exactly; ${told.join("; ")}.`
  }
}

interface CallFault extends Fault {
  readonly callId: string | null
}

/** Check 8: a decision that is none, or whose arguments the tool does not take (RSM-3). */
export class DeferredApprovalInvalid
  extends Data.TaggedError("DeferredApprovalInvalid")<{ readonly details: CallFault }>
{
  readonly code = "deferred_approval_invalid"
  override get message(): string {
    return `${this.details.path} ${this.details.rule}.`
  }
}

/** Check 9: an answer that is none, that is not finite JSON, is too large, or does not fit the tool's success schema. */
export class DeferredResultsInvalid
  extends Data.TaggedError("DeferredResultsInvalid")<{ readonly details: CallFault }>
{
  readonly code = "deferred_results_invalid"
  override get message(): string {
    return `${this.details.path} ${this.details.rule}.`
  }
}

/** Check 10: metadata of a request or a result for an unknown id, that is no JSON object, or that is too large. */
export class DeferredMetadataInvalid
  extends Data.TaggedError("DeferredMetadataInvalid")<{ readonly details: CallFault }>
{
  readonly code = "deferred_metadata_invalid"
  override get message(): string {
    return `${this.details.path} ${this.details.rule}.`
  }
}

interface RequestFacts {
  readonly callId: string
  readonly toolName: string
}

/** Check 11: a pending request is not in the last model response of the state. */
export class DeferredRequestMissing
  extends Data.TaggedError("DeferredRequestMissing")<{ readonly details: RequestFacts }>
{
  readonly code = "deferred_request_missing"
  override get message(): string {
    return `The request ${name(this.details.callId)} is not in the last model response of the state.`
  }
}

/** Check 12: a pending request has its result in the state already. */
export class DeferredRequestCompleted extends Data.TaggedError("DeferredRequestCompleted")<{
  readonly details: RequestFacts
}> {
  readonly code = "deferred_request_completed"
  override get message(): string {
    return `The request ${name(this.details.callId)} is already answered in the state.`
  }
}

/** Check 13: a request and the state disagree about `field`; or a call of the state has no request (`request`). */
export class DeferredRequestMismatch extends Data.TaggedError("DeferredRequestMismatch")<{
  readonly details: RequestFacts & { readonly field: "tool_name" | "arguments" | "category" | "request" }
}> {
  readonly code = "deferred_request_mismatch"
  override get message(): string {
    return `The request ${name(this.details.callId)} and the state differ in ${this.details.field}.`
  }
}

/** A tool as a surface mismatch names it. */
export interface ToolFacts {
  readonly kind: string
  readonly fingerprint: string
}

/** Check 14: the current surface lacks a pending tool, or has another one of its name. `current` is null where it lacks it. */
export class DeferredSurfaceMismatch extends Data.TaggedError("DeferredSurfaceMismatch")<{
  readonly details: RequestFacts & { readonly suspended: ToolFacts; readonly current: ToolFacts | null }
}> {
  readonly code = "deferred_surface_mismatch"
  override get message(): string {
    const { current, suspended, toolName } = this.details
    return current === null
      ? `The tool ${name(toolName)} no longer exists.`
      : current.kind === suspended.kind
      ? `The tool ${name(toolName)} has changed since the run was suspended.`
      : `The tool ${name(toolName)} was of kind ${suspended.kind} and is now of kind ${current.kind}.`
  }
}

/** Any reason for which the preflight refuses. */
export type ResumeError =
  | SuspensionInvalid
  | SuspensionVersionUnsupported
  | SuspensionIntegrityFailed
  | SuspensionExpired
  | DeferredRequestDuplicate
  | DeferredRequestCategoryOverlap
  | DeferredRequestsEmpty
  | DeferredRequestsTooLarge
  | DeferredResultsIncomplete
  | DeferredApprovalInvalid
  | DeferredResultsInvalid
  | DeferredMetadataInvalid
  | DeferredRequestMissing
  | DeferredRequestCompleted
  | DeferredRequestMismatch
  | DeferredSurfaceMismatch
