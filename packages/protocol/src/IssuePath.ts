/**
 * Where in a value a schema found something, as it is told: `a.b[2].c`.
 *
 * Rule: this is the one spelling of such places; whoever tells a key of others says how much of it is shown.
 */

/** A step as the issues of `effect/Schema` have it. */
export type Step = PropertyKey | { readonly key: PropertyKey }

const whole = (key: string): string => `.${key}`

/** One step as text: `[2]` or `.name`; `member` writes the name of a member with what stands before it. */
export const step = (of: Step, member: (key: string) => string = whole): string => {
  const key = typeof of === "object" ? of.key : of
  return typeof key === "number" ? `[${key}]` : member(String(key))
}

/** A whole path, empty for the value itself. */
export const told = (path: ReadonlyArray<Step> | undefined, member?: (key: string) => string): string =>
  (path ?? []).map((one) => step(one, member)).join("").replace(/^\./, "")
