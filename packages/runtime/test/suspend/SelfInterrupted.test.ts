/** Tools and hooks that interrupt themselves: each is a failure of its own call and of nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { type Message, ToolHooks, type ToolHooksService } from "@errand/runtime"
import { HostTool } from "@errand/runtime/suspend"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { ok } from "./Fixture.ts"
import { call, completed, Counted, definition, FakeModel, harnessOf, suspended } from "./Rig.ts"

const broken = (permission: "allow" | "ask", execute: () => Effect.Effect<string>) =>
  ok(
    HostTool.make({ name: "broken", description: "Stops itself.", permission, parameters: Schema.Struct({}), execute })
  )

const joined = () =>
  Effect.flatMap(Effect.forkChild(Effect.never), (fiber) => Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber)))

const told = (messages: ReadonlyArray<Message> | undefined) => {
  const last = messages?.findLast((message) => message.role === "tool")
  return last?.role === "tool" ? last.results.map(({ content, id, outcome }) => `${id} ${outcome} ${content}`) : []
}

const success = { c1: { status: "success", value: "KEPT" } } as const

describe("harness 5: what interrupts itself", () => {
  it.effect.each([["by itself", () => Effect.interrupt], ["by a fiber that it joins", joined]] as const)(
    "RUN-1 RUN-2 RSM-2 a tool that is interrupted %s fails, asked for or not, and takes no other call with it",
    ([, execute]) =>
      Effect.gen(function*() {
        for (const permission of ["allow", "ask"] as const) {
          const model = new FakeModel([{ calls: [call("b", "broken"), call("c1", "free_form")] }, { text: "done" }])
          const harness = yield* harnessOf(definition([broken(permission, execute)]), model)
          const first = suspended(yield* harness.run({ prompt: "go" }))
          const approvals = permission === "ask" ? { b: { allow: true } } as const : {}
          completed(yield* harness.resume(first.suspension, { calls: success, approvals }))
          const [one, two] = told(model.requests[1]?.messages)
          assert.match(one!, /^b failure .*It may have executed/)
          assert.match(two!, /^c1 success .*KEPT/)
        }
      })
  )

  it.effect.each(["before", "after"] as const)(
    "HKS-2 a hook that interrupts itself %s a call denies or rejects like one that dies",
    (when) =>
      Effect.gen(function*() {
        const tools = new Counted()
        const hooks: ToolHooksService = {
          before: () => when === "before" ? Effect.interrupt : Effect.succeed({ allow: true }),
          after: () => when === "after" ? Effect.interrupt : Effect.succeed(undefined)
        }
        const model = new FakeModel([
          { calls: [call("r", "read_file")] },
          { calls: [call("c1", "free_form")] },
          { text: "done" }
        ])
        const run = Effect.gen(function*() {
          const harness = yield* harnessOf(definition([tools.tool("read_file")]), model)
          const first = yield* harness.run({ prompt: "go" })
          if (first._tag !== "Suspended") return first
          return yield* harness.resume(first.suspension, { calls: success, approvals: {} })
        })
        completed(yield* Effect.provideService(run, ToolHooks, hooks))
        const [read] = told(model.requests[1]?.messages)
        const [asked] = told(model.requests[2]?.messages)
        if (when === "before") {
          assert.deepStrictEqual(tools.ran, [])
          assert.match(read!, /^r denied .*A hook refused the call/)
          assert.match(asked!, /^c1 denied .*A hook refused the call/)
        } else {
          assert.match(read!, /^r failure .*a hook rejected it/)
          assert.match(asked!, /^c1 failure .*a hook rejected it/)
          assert.notInclude(asked, "KEPT")
        }
      })
  )
})
