/**
 * What can go wrong between a program and its server, as typed errors.
 *
 * Rule: the name says the fact, the fields say which, and `message` says it to a person without a stack trace.
 */
import * as Schema from "effect/Schema"

const exitText = (code: number | null, signal: string | null): string =>
  signal === null ? code === null ? "went away" : `exited with code ${code}` : `was ended by ${signal}`

const tailText = (tail: string): string => tail.trim() === "" ? "" : `; its stderr ends:\n${tail.trimEnd()}`

const Exited = {
  /** Exit code, or null when a signal ended the process or nothing is known. */
  code: Schema.NullOr(Schema.Number),
  signal: Schema.NullOr(Schema.String),
  /** At most the last 8 KiB of what the server wrote to stderr. */
  stderrTail: Schema.String
}

/** The server could not be started, or ended before it answered `initialize` (faults G12). */
export class ServerSpawnFailed extends Schema.TaggedError<ServerSpawnFailed>()("ServerSpawnFailed", {
  command: Schema.String,
  /** What the operating system said, such as `spawn errand ENOENT`; null when the process started and then ended. */
  reason: Schema.NullOr(Schema.String),
  ...Exited
}) {
  override get message(): string {
    return `The server ${JSON.stringify(this.command)} could not be started: ${
      this.reason ?? `it ${exitText(this.code, this.signal)}`
    }${tailText(this.stderrTail)}`
  }
}

/** The server is gone; everything that waited for it fails with this (CLI-2). */
export class ServerExited extends Schema.TaggedError<ServerExited>()("ServerExited", {
  ...Exited,
  /** The reason of `connection.closing`, or null when the server did not say goodbye (CLS-1). */
  reason: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    return `The server ${exitText(this.code, this.signal)}${this.reason === null ? "" : ` (${this.reason})`}${
      tailText(this.stderrTail)
    }`
  }
}

/** The server sent something that is not this protocol; the connection is given up. */
export class ServerProtocolViolated extends Schema.TaggedError<ServerProtocolViolated>()("ServerProtocolViolated", {
  detail: Schema.String
}) {
  override get message(): string {
    return `The server broke the protocol: ${this.detail}`
  }
}

/** The server answered a request with an error (REQ-5). */
export class RequestRefused extends Schema.TaggedError<RequestRefused>()("RequestRefused", {
  method: Schema.String,
  /** One of the error codes of section 2, such as `run_active`. */
  code: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.method} was refused (${this.code}): ${this.detail}`
  }
}

/** A request that cannot be sent as it is: too large for a frame, too deep, or not JSON. */
export class RequestInvalid extends Schema.TaggedError<RequestInvalid>()("RequestInvalid", {
  method: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.method} cannot be sent: ${this.detail}`
  }
}

/** Too few request ids are left; start another server (CLI-3, REQ-4). */
export class RequestIdsExhausted extends Schema.TaggedError<RequestIdsExhausted>()("RequestIdsExhausted", {
  left: Schema.Number,
  /** How many must be left for what was asked. */
  needed: Schema.Number
}) {
  override get message(): string {
    return `Only ${this.left} request ids are left on this connection and ${this.needed} are needed; start another server`
  }
}

/** Nobody took a turn's events for so long that too many waited; the turn was cancelled. */
export class TurnEventsOverflowed extends Schema.TaggedError<TurnEventsOverflowed>()("TurnEventsOverflowed", {
  waiting: Schema.Number
}) {
  override get message(): string {
    return `${this.waiting} events of the turn wait to be taken; the turn was cancelled`
  }
}

/** A turn ended without completing; only `ask` fails with it, a stream of events ends with `Finished`. */
export class TurnNotCompleted extends Schema.TaggedError<TurnNotCompleted>()("TurnNotCompleted", {
  status: Schema.Literals(["failed", "cancelled"]),
  /** One of TRN-7, null when the turn was cancelled. */
  code: Schema.NullOr(Schema.String),
  detail: Schema.String
}) {
  override get message(): string {
    return this.status === "cancelled" ? "The turn was cancelled" : `The turn failed (${this.code}): ${this.detail}`
  }
}

/** A tool or a set of tools that the protocol does not allow; thrown where it is declared (CLT-2, SCH-1). */
export class ToolDeclarationInvalid extends Schema.TaggedError<ToolDeclarationInvalid>()("ToolDeclarationInvalid", {
  tool: Schema.String,
  /** Where in the declaration, such as `parameters.properties.a`. */
  path: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `The tool ${JSON.stringify(this.tool)} cannot be declared: ${this.path}: ${this.detail}`
  }
}

/** Why the connection as a whole ended. */
export type ConnectionLost = ServerExited | ServerProtocolViolated

/** How a single request can fail. */
export type RequestError = ConnectionLost | RequestRefused | RequestInvalid | RequestIdsExhausted

/** How a turn can fail before its end is known. */
export type TurnError = RequestError | TurnEventsOverflowed
