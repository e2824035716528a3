/**
 * Names that a provider accepts in place of names that it does not (DCL-10, MDL-4).
 *
 * Rule: an alias depends on its name alone, so it is the same in every run and process; and no two names share one,
 * so the way back is certain.
 */
import * as Digest from "./Digest.ts"

/**
 * What a provider accepts: `legal` matches a whole legal name and admits ASCII letters, digits and `_`; `maxLength`
 * counts characters and is 32 or more.
 */
export interface Rules {
  readonly legal: RegExp
  readonly maxLength: number
}

/** A two-way table that grows by the names it is asked for; one per provider. */
export interface Aliases {
  /** The name as the provider is told: itself where the provider accepts it, else its alias. */
  readonly toProvider: (name: string) => string
  /** The declared name behind what the provider says; what was never told to the provider stays as it is. */
  readonly toDeclared: (alias: string) => string
}

const mark = "_x"
const digits = 16
/** A legal name that looks like an alias gets an alias too, so that none is ever taken for another's. */
const aliasShape = /_x[0-9a-f]{16}$/

const candidate = (name: string, salt: number, rules: Rules, legal: (text: string) => boolean): string => {
  const suffix = mark + Digest.sha256(salt === 0 ? name : `${salt}:${name}`).slice(0, digits)
  const readable = name.replace(/[^A-Za-z0-9_]/gu, "_").slice(0, rules.maxLength - suffix.length)
  return legal(readable + suffix) ? readable + suffix : `t${suffix}`
}

/** A table of aliases under a provider's rules, empty at first. */
export const make = (rules: Rules): Aliases => {
  const pattern = new RegExp(rules.legal.source, rules.legal.flags.replace(/[gy]/g, ""))
  const legal = (text: string): boolean => text.length <= rules.maxLength && pattern.test(text)
  const aliases = new Map<string, string>()
  const names = new Map<string, string>()
  const add = (name: string): string => {
    let salt = 0
    let alias = legal(name) && !aliasShape.test(name) ? name : candidate(name, salt, rules, legal)
    while (names.has(alias)) alias = candidate(name, ++salt, rules, legal)
    aliases.set(name, alias)
    names.set(alias, name)
    return alias
  }
  return {
    toProvider: (name) => aliases.get(name) ?? add(name),
    toDeclared: (alias) => names.get(alias) ?? alias
  }
}
