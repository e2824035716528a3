/**
 * JSON texts as values for a library that writes them with `JSON.stringify` (MDL-1, SCH-5, faults E7).
 *
 * Rule: what `JSON.stringify` makes of such a value says the same as the text, digit for digit. The one thing that may
 * change is the place of keys that look like array indices, which every JavaScript object keeps in front.
 */
import { Json } from "@errand/protocol"
import * as Result from "effect/Result"

/** A number that is written as it was read; engines have it since Node 21, its type is not declared yet. */
const raw = (JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown }).rawJSON

const plain = (node: Json.JsonNode): unknown => {
  if (node instanceof Json.JsonNumber) {
    const value = Number(node.text)
    return String(value) === node.text ? value : raw(node.text)
  }
  if (node === null || typeof node !== "object") return node
  if (Json.isArray(node)) return node.map(plain)
  return Object.fromEntries(Array.from(node as ReadonlyMap<string, Json.JsonNode>, ([key, one]) => [key, plain(one)]))
}

/** The value of a text; undefined where the text is no JSON. It is made to be written, not to be looked into. */
export const fromText = (text: string): unknown => {
  const read = Json.read(text, { maxDepth: Infinity })
  return Result.isSuccess(read) ? plain(read.success) : undefined
}
