/**
 * Arguments of the tools that this process executes itself, decoded strictly (BLT-1, BLT-2, BLT-4).
 *
 * Rule: what does not fit the schema is refused before anything happens, and the model reads what was wrong and where.
 */
import { IssuePath, Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Redaction from "./Redaction.ts"
import type { ToolOutcome } from "./ToolExecutor.ts"

/** How deep arguments may nest. */
const MOST_DEPTH = 256

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

const faultsOf = ({ issue }: Schema.SchemaError): string =>
  issuesOf(issue).issues.map(({ message, path }) => `${IssuePath.told(path)}: ${message}`).join("; ")

/** A decoder whose failure is the outcome of the call; a member for which `opaque` holds stays lossless text. */
export const decoder = <A>(
  schema: () => Schema.ConstraintDecoder<unknown> & { readonly Type: A },
  opaque?: (key: string, depth: number) => boolean
): (text: JsonText) => Result.Result<A, ToolOutcome> => {
  let decode: ((value: unknown) => Result.Result<A, Schema.SchemaError>) | undefined
  return (text) => {
    decode ??= Schema.decodeUnknownResult(schema(), { onExcessProperty: "error" })
    return Json.parse(text, { maxDepth: MOST_DEPTH, opaque }).pipe(
      Result.mapError((fault) => fault.message),
      Result.flatMap((value) => Result.mapError(decode!(value), faultsOf)),
      Result.mapError((faults): ToolOutcome => ({
        _tag: "Refused",
        code: "invalid_arguments",
        message: `${Redaction.protectMessage(faults, 900)}. The call was not executed.`
      }))
    )
  }
}
