/**
 * Integers that a double cannot hold, on their way into code, where they become BigInts (BLT-3).
 *
 * Rule: no integer loses a digit. Decimals are doubles in code, as in any JavaScript.
 */
import { Json, type JsonText } from "@errand/protocol"
import * as Result from "effect/Result"

const large = (text: string): boolean => /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text))

const marked = (node: Json.JsonNode, mark: string): Json.JsonNode => {
  if (node instanceof Json.JsonNumber) return large(node.text) ? mark + node.text : node
  if (node === null || typeof node !== "object") return node
  if (Json.isArray(node)) return node.map((item) => marked(item, mark))
  return new Map(Array.from(node as ReadonlyMap<string, Json.JsonNode>, ([key, item]) => [key, marked(item, mark)]))
}

/** The same JSON with each such integer as a string of the mark and its digits. */
export const mark = (json: JsonText, by: string): JsonText => {
  if (!/\d{16}/.test(json)) return json
  const node = Json.read(json, { maxDepth: Json.deepest })
  return Result.isSuccess(node) ? Json.write(marked(node.success, by)) : json
}
