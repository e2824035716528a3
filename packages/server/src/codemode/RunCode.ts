/**
 * `run_code`, Code Mode: code that calls tools (BLT-3).
 *
 * Rule: a call made by code is a call like any other. It takes every step of the pipeline on the surface `code`, under
 * the identities of the agent that wrote the code; only its result goes to the code and not to the model.
 */
import { Ids, Json, type JsonText, Limits } from "@errand/protocol"
import {
  CompactCatalog,
  isClientName,
  type LocalTools,
  ToolArguments,
  type ToolInvocation,
  type ToolOutcome,
  type View
} from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Excerpt from "../builtins/Excerpt.ts"
import type { Settings } from "../Settings.ts"
import * as CodeResult from "./CodeResult.ts"
import * as LargeIntegers from "./LargeIntegers.ts"
import * as Sandbox from "./Sandbox.ts"

/** Bounds of one piece of code where the configuration says nothing. */
const TIME_MS = 10_000
const MEMORY_BYTES = 64 * 1024 * 1024

/** The most that is granted, whatever the configuration says: what a timer counts to, and what the interpreter is built for. */
const MOST_TIME_MS = 2_000_000_000
const MOST_MEMORY_BYTES = 2 * 1024 * 1024 * 1024

/** Calls that one piece of code may make, and how many of them at a time; searches count too. */
const ASKS = 1000
const ASKS_AT_A_TIME = 64

/** Characters of one call's arguments; what a client is sent is bounded more narrowly (CAL-4). */
const ARGUMENTS_CHARACTERS = 1024 * 1024

/** Characters of what a failing tool told that stand in the message of the error. */
const MESSAGE_CHARACTERS = 2000

const inputSchema = JSON.stringify({
  type: "object",
  properties: { code: { type: "string", minLength: 1, description: "The body of an async function." } },
  required: ["code"],
  additionalProperties: false
}) as JsonText

const describe = (timeMs: number, memoryBytes: number): string =>
  [
    "Runs JavaScript in a sandbox: the body of an async function, whose returned value is the result.",
    "It sees `await tools.search(text)` → [{name, description}], `await tools.describe(name)` → {name, description, input_schema},",
    "`await tools.call(name, args)` → {text, structured?} (throws an Error with `code`), and `console.log`.",
    "Await every call, several at a time with Promise.all: calls that are open when the code ends are cancelled.",
    "There are no files, network, timers or modules, except through tools. Integers beyond 2^53 are BigInts.",
    `At most ${timeMs / 1000} s of computing (waiting for tools does not count) and ${
      Excerpt.count(memoryBytes)
    } bytes of memory.`
  ].join(" ")

const decode = ToolArguments.decoder(() => Schema.Struct({ code: Schema.NonEmptyString }))

type Reply = Omit<Sandbox.Reply, "id">

const failure = (code: string, message: string): Reply => ({ ok: false, text: JSON.stringify({ code, message }) })

/** Code must not wait for ever for a call that we failed. */
const unexpected = failure(
  "internal_error",
  "The call failed unexpectedly. It may have executed: do not repeat it blindly."
)

/** The tools that a search finds, as code reads them. */
const found = (call: ToolInvocation, view: View, text: string): Reply => {
  const tools = CompactCatalog.search(call.catalog.offered(view), text)
  return { ok: true, text: JSON.stringify(tools.map(({ description, name }) => ({ name, description }))) }
}

const described = (call: ToolInvocation, view: View, name: string): Reply => {
  const tool = call.catalog.offered(view).find((one) => one.name === name)
  if (tool === undefined) {
    return failure("unknown_tool", `There is no tool of the name ${Excerpt.clip(name, 100)} here.`)
  }
  const { description, inputSchema } = tool
  const text = `{"name":${Json.quote(name)},"description":${Json.quote(description)},"input_schema":${inputSchema}}`
  return { ok: true, text }
}

/** What came of a call, as code reads it: the fields of a result, or those of an error. */
const settled = (name: string, outcome: ToolOutcome): Reply => {
  switch (outcome._tag) {
    case "Success":
      return { ok: true, text: fields(outcome) }
    case "Failure": {
      const code = isClientName(name) ? "client_tool_error" : "tool_error"
      const message = Json.quote(Excerpt.clip(outcome.text, MESSAGE_CHARACTERS))
      return { ok: false, text: `{"code":"${code}","message":${message},${fields(outcome).slice(1)}` }
    }
    case "Refused":
    case "Uncertain":
      return failure(outcome.code, outcome.message)
  }
}

const fields = (
  { structured, text }: ToolOutcome & { readonly text: string; readonly structured?: JsonText }
): string => `{"text":${Json.quote(text)}${structured === undefined ? "" : `,"structured":${structured}`}}`

/** The tool under the configured bounds; a call of it takes no approval, the calls that code makes take theirs. */
export const make = Effect.fnUntraced(function*(bounds: Settings["codeMode"]) {
  const newId = yield* Ids.Generator
  const { clientTools: { result_bytes: max } } = yield* Limits.Limits
  const memoryBytes = Math.min(bounds.memory_bytes ?? MEMORY_BYTES, MOST_MEMORY_BYTES)
  const timeMs = Math.min(bounds.time_ms ?? TIME_MS, MOST_TIME_MS)

  const execute = (call: ToolInvocation): Effect.Effect<ToolOutcome> => {
    const decoded = decode(call.arguments)
    if (Result.isFailure(decoded)) return Effect.succeed(decoded.failure)
    const mark = `int-${newId()}:`
    const view: View = { surface: "code", permits: call.agent.view.permits }
    const agent = { ...call.agent, parentId: call.activityId, view }
    const reply = ({ args, name, what }: Sandbox.Ask): Effect.Effect<Reply> => {
      switch (what) {
        case "search":
          return Effect.sync(() => found(call, view, name))
        case "describe":
          return Effect.sync(() => described(call, view, name))
        case "call":
          return Effect.map(call.nested(agent, name, args), (outcome) => settled(name, outcome))
      }
    }
    const job: Sandbox.Job = {
      code: decoded.success.code,
      memoryBytes,
      timeMs,
      logCharacters: max,
      asks: ASKS,
      asksAtATime: ASKS_AT_A_TIME,
      argumentsCharacters: ARGUMENTS_CHARACTERS,
      mark
    }
    const answer = (ask: Sandbox.Ask) =>
      Effect.catchDefect(
        reply(ask),
        (defect) => Effect.as(Effect.logError("a call by code failed", defect), unexpected)
      )
        .pipe(Effect.map(({ ok, text }) => ({ ok, text: LargeIntegers.mark(text as JsonText, mark) })))
    return Effect.map(Sandbox.run(job, answer), (ended) => CodeResult.of(ended, max))
  }

  const tool: LocalTools.LocalTool = {
    name: "run_code",
    description: describe(timeMs, memoryBytes),
    inputSchema,
    kind: "code",
    timeoutMs: 0,
    inspection: false,
    directOnly: true,
    otherwise: "allow",
    execute
  }
  return tool
})
