import { assert, describe, it } from "@effect/vitest"
import { decide, type Decision, patternMatches, type PermissionRule } from "@errand/runtime"
import { Arbitrary, Schema } from "effect"

const names = ["client__a", "client__ab", "client__b", "mcp__s__t", "look", "*", ""]
const Rule = Schema.Struct({
  tool: Schema.Literals(["*", "client__*", "client__a*", "client__a", "client__ab", "mcp__*", "look", "**"]),
  surface: Schema.optionalKey(Schema.Literals(["direct", "code"])),
  allow: Schema.Literals([true, false, "ask"])
})

const wordOf = (allow: PermissionRule["allow"]): Decision => allow === "ask" ? "ask" : allow ? "allow" : "deny"

/** HKS-1 word by word: sort all that match, the most specific last, and take the last. */
const byTheBook = (rules: ReadonlyArray<PermissionRule>, name: string, surface: "direct" | "code"): Decision => {
  const rank = (rule: PermissionRule, index: number) => [
    rule.tool === name ? Number.MAX_SAFE_INTEGER : rule.tool.length,
    rule.surface === undefined ? 0 : 1,
    index
  ]
  const found = rules
    .map((rule, index) => ({ rule, rank: rank(rule, index) }))
    .filter(({ rule }) =>
      (rule.surface ?? surface) === surface &&
      (rule.tool === name || (rule.tool.endsWith("*") && name.startsWith(rule.tool.slice(0, -1))))
    )
    .sort((a, b) => a.rank.map((one, i) => one - b.rank[i]!).find((difference) => difference !== 0) ?? 0)
  const last = found.at(-1)
  return last === undefined ? "allow" : wordOf(last.rule.allow)
}

describe("program 4: permission rules", () => {
  it.prop(
    "HKS-1 the most specific rule decides, then the one with a surface, then the last",
    [Arbitrary.array(Arbitrary.schema(Rule), { minLength: 0, maxLength: 8 })],
    ([rules]) => {
      for (const name of names) {
        for (const surface of ["direct", "code"] as const) {
          assert.strictEqual(
            decide(rules, name, surface, "allow"),
            byTheBook(rules, name, surface),
            `${name} ${surface}`
          )
        }
      }
    }
  )

  it("HKS-1 where no rule matches the tool's own default holds", () => {
    for (const otherwise of ["allow", "deny", "ask"] as const) {
      assert.strictEqual(decide([{ tool: "other", allow: true }], "look", "direct", otherwise), otherwise)
    }
  })

  it("HKS-1 a pattern is a name or a prefix that ends in *, and nothing else", () => {
    const table: ReadonlyArray<readonly [string, string, boolean]> = [
      ["client__a", "client__a", true],
      ["client__a", "client__ab", false],
      ["client__a*", "client__a", true],
      ["client__a*", "client__", false],
      ["*", "", true],
      ["*", "anything", true],
      ["client__*a", "client__xa", false],
      ["client__.", "client__a", false],
      ["__proto__", "__proto__", true],
      ["CLIENT__*", "client__a", false]
    ]
    for (const [pattern, name, expected] of table) assert.strictEqual(patternMatches(pattern, name), expected, pattern)
  })
})
