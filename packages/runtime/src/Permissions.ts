/**
 * Who may call what: rules of the host and the defaults of the tools (HKS-1, PRM-1).
 *
 * Rule: the most specific matching rule decides; nothing that a client or a model sends can add one.
 */
import * as Context from "effect/Context"

/** Where a call is made: by the model itself, or by code in Code Mode. */
export type Surface = "direct" | "code"

/** What a rule says of a call. */
export type Decision = "allow" | "deny" | "ask"

/** `tool` is a name, or a prefix that ends in `*`; without `surface` a rule holds on both. */
export interface PermissionRule {
  readonly tool: string
  readonly surface?: Surface
  readonly allow: boolean | "ask"
}

/** The rules in force; none by default. */
export const Permissions = Context.Reference<ReadonlyArray<PermissionRule>>("@errand/runtime/Permissions", {
  defaultValue: () => []
})

/** How exactly a pattern names a tool: Infinity for its name, the prefix length, -1 for no match. */
const specificity = (pattern: string, name: string): number => {
  if (pattern === name) return Infinity
  if (!pattern.endsWith("*")) return -1
  const prefix = pattern.slice(0, -1)
  return name.startsWith(prefix) ? prefix.length : -1
}

/** Whether a pattern names a tool (HKS-1, HKS-2). */
export const patternMatches = (pattern: string, name: string): boolean => specificity(pattern, name) >= 0

/**
 * What the rules say of a tool on a surface: exact name first, then the longest prefix; among equals one with a surface,
 * then the last; `otherwise` where none matches (HKS-1).
 */
export const decide = (
  rules: ReadonlyArray<PermissionRule>,
  name: string,
  surface: Surface,
  otherwise: Decision
): Decision => {
  let best = -1
  let bestHasSurface = false
  let decision = otherwise
  for (const rule of rules) {
    if (rule.surface !== undefined && rule.surface !== surface) continue
    const exact = specificity(rule.tool, name)
    const hasSurface = rule.surface !== undefined
    if (exact < 0 || exact < best || (exact === best && bestHasSurface && !hasSurface)) continue
    best = exact
    bestHasSurface = hasSurface
    decision = rule.allow === "ask" ? "ask" : rule.allow ? "allow" : "deny"
  }
  return decision
}
