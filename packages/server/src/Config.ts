/**
 * The config file (PGM-6).
 *
 * Rule: the file is closed and validated as a whole; a fault names its path, and nothing is started then.
 */
import { IssuePath, Json, Limits } from "@errand/protocol"
import { Diagnosis } from "@errand/runtime"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

const Pattern = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_.:-]*\*?$/), Schema.isMinLength(1))
const Positive = Schema.Int.check(Schema.isGreaterThan(0))
const Address = Schema.String.check(
  Schema.makeFilter((text) =>
    URL.canParse(text) && /^https?:/i.test(text) || "Expected an address that begins with http:// or https://"
  )
)

/** A permission rule (HKS-1). */
export const PermissionRule = Schema.Struct({
  tool: Pattern,
  surface: Schema.optionalKey(Schema.Literals(["direct", "code"])),
  allow: Schema.Union([Schema.Boolean, Schema.Literal("ask")])
})

/** A hook command (HKS-2). */
export const HookCommand = Schema.Struct({
  event: Schema.Literals(["before", "after"]),
  tool: Pattern,
  command: Schema.Array(Schema.String).check(Schema.isMinLength(1)),
  timeout_ms: Schema.optionalKey(Positive)
})
export type HookCommand = typeof HookCommand.Type

/** An MCP server: a command to spawn, or the address of one that runs (BLT-5); `type` says again which it is. */
export const McpServer = Schema.Union([
  Schema.Struct({
    type: Schema.optionalKey(Schema.Literal("stdio")),
    command: Schema.String.check(Schema.isMinLength(1)),
    args: Schema.optionalKey(Schema.Array(Schema.String)),
    env: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  }),
  Schema.Struct({
    type: Schema.optionalKey(Schema.Literal("http")),
    url: Schema.String.check(Schema.isPattern(/^https?:\/\/[^/]/)),
    headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })
])
export type McpServer = typeof McpServer.Type

/** The config file's content. */
export const Config = Schema.Struct({
  model: Schema.optionalKey(Schema.String),
  base_url: Schema.optionalKey(Address),
  instructions: Schema.optionalKey(Schema.String),
  catalog: Schema.optionalKey(Schema.Literals(["full", "compact"])),
  permissions: Schema.optionalKey(Schema.Array(PermissionRule)),
  hooks: Schema.optionalKey(Schema.Array(HookCommand)),
  mcpServers: Schema.optionalKey(
    Schema.Record(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,32}$/)), McpServer)
  ),
  turn_limit: Schema.optionalKey(Positive),
  run_timeout_ms: Schema.optionalKey(Positive),
  request_ids: Schema.optionalKey(Schema.Int.check(
    Schema.isBetween({ minimum: Limits.requestIds.least, maximum: Limits.requestIds.most })
  )),
  code_mode: Schema.optionalKey(Schema.Struct({
    enabled: Schema.optionalKey(Schema.Boolean),
    memory_bytes: Schema.optionalKey(Positive),
    time_ms: Schema.optionalKey(Positive)
  }))
})
export type Config = typeof Config.Type

const standard = SchemaIssue.makeFormatterStandardSchemaV1()

/** Decodes the text of a config file; the failure is a message with the path of the first fault. */
export const decode = (text: string): Result.Result<Config, string> => {
  const parsed = Json.parse(text)
  if (Result.isFailure(parsed)) return Result.fail(`is no valid JSON: ${parsed.failure.message}`)
  const decoded = Schema.decodeUnknownResult(Config, { onExcessProperty: "error" })(parsed.success)
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  const [first] = standard(decoded.failure.issue).issues
  const path = IssuePath.told(first?.path, (key) => `.${Diagnosis.quoted(key)}`)
  return Result.fail(`${path === "" ? "the file" : path}: ${first?.message ?? "is not valid"}`)
}
