/**
 * What goes wrong in the protocol, as the wire names it (section 2).
 *
 * Rule: the list of codes is closed, and a message says in plain words what was wrong and where; it repeats neither
 * secrets nor payloads (REQ-5).
 */

/** Every error code of version 1, in the order of section 2. */
export const codes = [
  "invalid_frame",
  "invalid_request",
  "duplicate_id",
  "request_quota_exceeded",
  "unsupported_method",
  "unsupported_capability",
  "invalid_params",
  "not_initialized",
  "already_initialized",
  "configuration_invalid",
  "session_not_found",
  "session_not_attached",
  "session_locked",
  "run_active",
  "stale_run",
  "stale_approval",
  "stale_client_tool_call",
  "stale_revision",
  "storage_failed",
  "shutting_down",
  "internal_error"
] as const

/** An error code of version 1. */
export type ErrorCode = typeof codes[number]

/** The most characters that a message has (REQ-5). */
export const messageCharacters = 1000

/** Cuts a text between characters, so that it has at most `most` UTF-16 units, and marks the cut. */
export const clip = (text: string, most: number): string => {
  if (text.length <= most) return text
  const end = most - 1
  const unit = text.charCodeAt(end - 1)
  return `${text.slice(0, unit >= 0xd800 && unit <= 0xdbff ? end - 1 : end)}…`
}

/** A message as it may go out: one character less, since a peer may read the bound as exclusive. */
export const clipMessage = (text: string): string => clip(text, messageCharacters - 1)

/** An error as it goes into a response; a plain class without a stack, since it is an expected outcome. */
export class WireError {
  readonly code: ErrorCode
  readonly message: string
  declare readonly details?: Readonly<Record<string, unknown>>
  /** How much of the message, from its beginning, may repeat what others sent. */
  readonly #place: number
  constructor(code: ErrorCode, message: string, details?: Readonly<Record<string, unknown>>, place = 0) {
    this.code = code
    this.message = clipMessage(message)
    this.#place = place
    if (details !== undefined) this.details = details
  }

  /** The beginning of the message, which may repeat what others sent: the path of a fault in params. */
  get place(): string {
    return this.message.slice(0, this.#place)
  }

  /** What is wrong there. */
  get problem(): string {
    return this.message.slice(this.#place).replace(/^: /, "")
  }

  /** The same with the part of the message changed that may repeat keys and names of others. */
  withPlace(change: (place: string) => string): WireError {
    const { place } = this
    const changed = change(place)
    if (changed === place) return this
    return new WireError(this.code, changed + this.message.slice(this.#place), this.details, changed.length)
  }

  private static at(code: ErrorCode, place: string, problem: string): WireError {
    return new WireError(code, `${place}: ${problem}`, undefined, place.length)
  }

  /** A fault at a place in the params: `turn: …`, `client_tools[2].name: …`; an empty path is the params themselves. */
  static invalidParams(path: string, problem: string): WireError {
    return WireError.at("invalid_params", path === "" ? "params" : path, problem)
  }

  /** A line that is no frame (FRM-9). */
  static invalidFrame(problem: string): WireError {
    return new WireError("invalid_frame", problem)
  }

  /** A frame that is no request; `key` is the member at fault (REQ-1). */
  static invalidRequest(key: string, problem: string): WireError {
    return WireError.at("invalid_request", key, problem)
  }

  /** Required capabilities that the server lacks, all of them (LIF-4). */
  static unsupportedCapability(capabilities: ReadonlyArray<string>): WireError {
    const message = `required_capabilities: not supported: ${capabilities.join(", ")}`
    return new WireError("unsupported_capability", message, { capabilities }, message.length)
  }
}
