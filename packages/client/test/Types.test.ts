import { assert, it } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { make, Tool, tool, ToolAnswer } from "../src/index.ts"

const described = {
  description: "d",
  parameters: Schema.Struct({ record_id: Schema.String, at: Schema.DateFromString })
}
const typed = Tool.make("typed", {
  ...described,
  success: Schema.Struct({ title: Schema.String }),
  failure: Schema.Struct({ code: Schema.Int })
})
const plain = Tool.make("plain", described)

class Database {
  declare private readonly database: true
}

class Clock {
  declare private readonly clock: true
}

/** Never runs: the compiler is the test, and an expected error that is none fails it. */
export const declarations = () => {
  typed.handle(({ at, record_id }) => Effect.succeed({ title: `${record_id.trim()} ${at.getTime()}` }))
  typed.handle(() => Effect.fail({ code: 1 }))
  typed.handle(() => Effect.succeed(ToolAnswer.structuredText("{}")))
  // @ts-expect-error the arguments are typed
  typed.handle(({ record_id }) => Effect.succeed({ title: record_id.nothing }))
  // @ts-expect-error a wrong success type is a compile error
  typed.handle(() => Effect.succeed({ title: 1 }))
  // @ts-expect-error nothing is no answer of this tool
  typed.handle(() => Effect.void)
  // @ts-expect-error a wrong failure type is a compile error
  typed.handle(() => Effect.fail({ code: "1" }))

  plain.handle(() => Effect.succeed({ a: [1, null, { b: "c" }] }))
  plain.handle(() => Effect.void)
  plain.handle(() => Effect.fail(new Error("message")))
  // @ts-expect-error undefined inside of a value is refused by type
  plain.handle(() => Effect.succeed({ a: undefined }))
  // @ts-expect-error a date is no JSON
  plain.handle(() => Effect.succeed({ a: new Date() }))
  // @ts-expect-error a failure without a schema has a message
  plain.handle(() => Effect.fail(1))

  const needs = plain.handle(() => Effect.as(Effect.asVoid(Effect.context<Database>()), "x"))
  // @ts-expect-error what handlers need must be provided
  Effect.runPromise(Effect.scoped(make({ tools: [needs] })))

  const other = plain.handle(() => Effect.as(Effect.asVoid(Effect.context<Clock>()), "x"))
  const both: Effect.Effect<unknown, unknown, Scope.Scope | Database | Clock> = make({
    tools: [typed.handle(() => Effect.fail({ code: 1 })), needs, other]
  })
  // @ts-expect-error what several handlers need, each for itself, must all be provided
  const one: Effect.Effect<unknown, unknown, Scope.Scope | Database> = make({ tools: [needs, other] })
  // @ts-expect-error what decides about permission may need something too
  Effect.runPromise(Effect.scoped(make({ approve: () => Effect.as(Effect.asVoid(Effect.context<Clock>()), true) })))

  tool({ name: "t", ...described }, async ({ record_id }) => record_id)
  // @ts-expect-error the arguments are typed
  tool({ name: "t", ...described }, async ({ nothing }) => nothing)
  // @ts-expect-error a function is no JSON
  tool({ name: "t", description: "d" }, async () => ({ a: () => 1 }))
  // @ts-expect-error a wrong success type is a compile error
  tool({ name: "t", ...described, success: Schema.Struct({ n: Schema.Int }) }, async () => ({ n: "1" }))
  const success = Schema.Struct({ title: Schema.String })
  const parameters = { type: "object", properties: { record_id: { type: "string" } } } as const
  tool({ name: "t", description: "d", success }, async () => ({ title: "a" }))
  tool({ name: "t", description: "d", success }, () => ToolAnswer.text("a"))
  tool({ name: "t", description: "d", parameters, success }, ({ record_id }) => ({ title: String(record_id) }))
  // @ts-expect-error a wrong success type is a compile error, without parameters too
  tool({ name: "t", description: "d", success }, async () => ({ title: 1 }))
  // @ts-expect-error and with those of a plain JSON Schema
  tool({ name: "t", description: "d", parameters, success }, async () => ({ title: 1 }))
  Tool.plain("t", { description: "d", parameters, success }).handle(() => Effect.succeed({ title: "a" }))
  // @ts-expect-error a wrong success type is a compile error
  Tool.plain("t", { description: "d", parameters, success }).handle(() => Effect.succeed({ title: 1 }))
  return [both, one]
}

it("types are checked by the compiler", () => {
  assert.strictEqual(typed.declaration.name, "client__typed")
})
