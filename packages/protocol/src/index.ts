export * as Ids from "./Ids.ts"
export * as Json from "./Json.ts"
export type { JsonText } from "./Json.ts"
export * as Limits from "./Limits.ts"
