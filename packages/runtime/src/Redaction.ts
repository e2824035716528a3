/**
 * Protection of what comes from outside before hooks, history or the model see it (section 11).
 *
 * Rule: total, idempotent and linear in the input (PRO-6). What holds nothing suspicious is returned as the same string,
 * after a few scans and without a tree being built.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"
import * as CleanText from "./CleanText.ts"
import * as ControlText from "./ControlText.ts"
import * as SecretKeys from "./SecretKeys.ts"
import { marker } from "./SecretMarker.ts"
import * as SecretPatterns from "./SecretPatterns.ts"

/** Why a whole result was refused (PRO-5); `path` is protected and cut, and nothing of the payload is repeated. */
export class ProtectionFault {
  readonly rule: "equal_keys" | "result_bytes" | "invalid_json"
  readonly path: string
  readonly message: string
  constructor(rule: ProtectionFault["rule"], path: string, message: string) {
    this.rule = rule
    this.path = path
    this.message = message
  }
}

/** A result of a tool: what it tells, and the structured value if there is one. */
export interface Protected {
  readonly text: string
  readonly structured?: JsonText
}

/** A text without secrets, terminal control sequences, control characters and lone surrogates (PRO-3, PRO-4). */
export const protectText = (text: string): string =>
  CleanText.isClean(text) ? text : SecretPatterns.redact(ControlText.plain(text))

/** A protected text of at most `maxCharacters` code points, for messages of others, log lines and titles. */
export const protectMessage = (text: string, maxCharacters: number): string => {
  const whole = protectText(text)
  if (whole.length <= maxCharacters) return whole
  let end = 0
  for (let left = maxCharacters; left > 0 && end < whole.length; left--) end += whole.codePointAt(end)! > 0xffff ? 2 : 1
  return whole.slice(0, end)
}

type Step = string | number

const pathOf = (path: ReadonlyArray<Step>): string =>
  protectMessage(path.map((step) => typeof step === "number" ? `[${step}]` : `.${step}`).join(""), 200)

/** Protects the trees of one value; notes the first fault and goes no further in the object that has it. */
class Walk {
  changed = false
  fault: ProtectionFault | undefined
  private readonly path: Array<Step> = []

  node(value: Json.JsonNode): Json.JsonNode {
    if (typeof value === "string") return this.text(value)
    if (Json.isArray(value)) return value.map((item, index) => this.at(index, item))
    return value !== null && typeof value === "object" && Json.isObject(value) ? this.object(value) : value
  }

  private text(value: string): string {
    const text = protectText(value)
    if (text !== value) this.changed = true
    return text
  }

  private at(step: Step, value: Json.JsonNode): Json.JsonNode {
    this.path.push(step)
    const node = this.node(value)
    this.path.pop()
    return node
  }

  private object(members: ReadonlyMap<string, Json.JsonNode>): Json.JsonNode {
    const keys = Array.from(members.keys(), (key) => this.text(key))
    if (this.clash([...members.keys()], keys)) return members
    const object = new Map<string, Json.JsonNode>()
    let index = 0
    for (const value of members.values()) {
      const key = keys[index++]!
      if (!SecretKeys.isCredential(key)) object.set(key, this.at(key, value))
      else {
        if (value !== marker) this.changed = true
        object.set(key, marker)
      }
    }
    return object
  }

  /** Keys that protection left alone stay apart by case; a changed key must differ from all others without it (PRO-5). */
  private clash(before: ReadonlyArray<string>, after: ReadonlyArray<string>): boolean {
    if (after.every((key, index) => key === before[index])) return false
    const seen = new Map<string, boolean>()
    for (const [index, key] of after.entries()) {
      const folded = key.toLowerCase()
      const changed = key !== before[index]
      const other = seen.get(folded)
      if (other === true || (other === false && changed)) {
        this.fault ??= new ProtectionFault("equal_keys", pathOf(this.path), "two keys of one object become equal")
        return true
      }
      seen.set(folded, changed)
    }
    return false
  }
}

/** Compact JSON text with keys, strings and values under credential-like keys protected; digits and key order stay (PRO-2 to PRO-5). */
export const protectJson = (text: JsonText): Result.Result<JsonText, ProtectionFault> => {
  if (CleanText.isCleanJson(text)) return Result.succeed(text)
  const tree = Json.read(text, { maxDepth: Json.deepest })
  if (Result.isFailure(tree)) {
    return Result.fail(new ProtectionFault("invalid_json", protectMessage(tree.failure.path, 200), tree.failure.rule))
  }
  const walk = new Walk()
  const node = walk.node(tree.success)
  if (walk.fault !== undefined) return Result.fail(walk.fault)
  return Result.succeed(walk.changed ? Json.write(node) : text)
}

/** A protected result of at most `maxBytes`: UTF-8 bytes of the text and of the compact structured value (PRO-5). */
export const protectResult = (input: Protected, maxBytes: number): Result.Result<Protected, ProtectionFault> => {
  const text = protectText(input.text)
  if (input.structured === undefined) return bounded({ text }, maxBytes)
  const structured = protectJson(input.structured)
  return Result.isFailure(structured)
    ? Result.fail(structured.failure)
    : bounded({ text, structured: structured.success }, maxBytes)
}

const bounded = (result: Protected, maxBytes: number): Result.Result<Protected, ProtectionFault> => {
  const characters = result.text.length + (result.structured?.length ?? 0)
  // A UTF-16 code unit takes at most three bytes, so most results need no count.
  if (characters * 3 <= maxBytes) return Result.succeed(result)
  const bytes = Json.byteLength(result.text) +
    (result.structured === undefined ? 0 : Json.byteLength(result.structured))
  return bytes <= maxBytes
    ? Result.succeed(result)
    : Result.fail(new ProtectionFault("result_bytes", "", `the protected result has more than ${maxBytes} bytes`))
}
