/**
 * What a JSON text can be held as without loss (FRM-12).
 *
 * Rule: digits, key order and the difference between equal numbers of different spelling survive.
 */
import type * as Brand from "effect/Brand"

/** Compact JSON text, digits and key order as received (FRM-13). */
export type JsonText = string & Brand.Brand<"JsonText">

/** A number as it was written; `text` holds its digits (FRM-12). */
export class JsonNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A JSON value without loss: numbers keep their digits, objects are Maps and keep the order of all keys (FRM-12). */
export type JsonNode = null | boolean | string | JsonNumber | ReadonlyArray<JsonNode> | ReadonlyMap<string, JsonNode>

/** A value that was checked but not built; `depth` counts its containers, itself included, 0 for a scalar. */
export class Opaque {
  readonly text: JsonText
  readonly depth: number
  constructor(text: JsonText, depth: number) {
    this.text = text
    this.depth = depth
  }
}
