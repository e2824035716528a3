/**
 * Strict, lossless JSON (FRM-5 to FRM-7, FRM-12, FRM-13).
 */
import type * as Brand from "effect/Brand"

/** Compact JSON text, digits and key order as received (FRM-13). */
export type JsonText = string & Brand.Brand<"JsonText">
