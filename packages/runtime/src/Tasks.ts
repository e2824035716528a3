/**
 * The tool `task`: a subagent with a conversation of its own (BLT-2, DEL-1 to DEL-3).
 *
 * Rule: a delegated agent never has more than its parent, and what happens to it is the outcome of one call: only
 * storage that refuses ends more than that.
 */
import { Ids, Json, type JsonText, Limits } from "@errand/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Agent, ownerOf } from "./Agent.ts"
import { EnclosingLoop, type LoopError } from "./AgentLoop.ts"
import { TaskHistories } from "./History.ts"
import type { LocalTool } from "./LocalTools.ts"
import * as Redaction from "./Redaction.ts"
import * as TaskScope from "./TaskScope.ts"
import * as ToolArguments from "./ToolArguments.ts"
import type { ToolInvocation, ToolOutcome } from "./ToolExecutor.ts"

const decode = ToolArguments.decoder(() => {
  const words = Schema.String.check(
    Schema.makeFilter((text) => text.trim() !== "" || "Expected a text that is not blank")
  )
  return Schema.Struct({
    description: words,
    prompt: words,
    profile: Schema.Literals(TaskScope.profiles),
    tools: Schema.optionalKey(Schema.Array(Schema.String)),
    resume: Schema.optionalKey(words)
  })
})

const inputSchema = JSON.stringify({
  type: "object",
  properties: {
    description: { type: "string", minLength: 1, description: "A few words that name the task." },
    prompt: { type: "string", minLength: 1, description: "What to do, with all that must be known for it." },
    profile: {
      type: "string",
      enum: TaskScope.profiles,
      description: "general: the tools you have. inspect: only tools that read files and look around."
    },
    tools: {
      type: "array",
      items: { type: "string" },
      description: "Names of client and MCP tools that the agent may have; all of yours when absent."
    },
    resume: { type: "string", minLength: 1, description: "The task_id of an earlier task of yours, to go on with it." }
  },
  required: ["description", "prompt", "profile"],
  additionalProperties: false
}) as JsonText

/** Room in a result for the task's id and for what protection adds to a text that was cut. */
const RESERVED_BYTES = 512

/** Delegates, and tells which tasks run. */
export class Tasks extends Context.Service<Tasks, {
  /** The tool `task`. */
  readonly tool: LocalTool
  /** Cancels a running task and nothing else: its caller goes on and reads that it was cancelled (CAN-2). False: none runs. */
  readonly cancel: (taskId: string) => Effect.Effect<boolean>
}>()("@errand/runtime/Tasks") {
  /** Delegation in the loop that a call of `task` is made in. */
  static readonly layer = Layer.effect(
    Tasks,
    Effect.gen(function*() {
      const newId = yield* Ids.Generator
      const maxBytes = (yield* Limits.Limits).clientTools.result_bytes
      const running = new Map<string, Deferred.Deferred<void>>()

      const delegate = Effect.fnUntraced(function*(call: ToolInvocation, args: Arguments, taskId: Ids.TaskId) {
        const loop = yield* EnclosingLoop
        const histories = yield* TaskHistories
        if (loop === null || histories === null) return unavailable
        const parent = call.agent
        const subagentId = call.activityId as string as Ids.SubagentId
        const history = yield* histories.open(taskId, subagentId)
        const scope = args.resume === undefined
          ? TaskScope.make(parent, call.catalog, args)
          : TaskScope.restore(history.scope)
        if (args.resume !== undefined && !(history.known && scope.parentTaskId === parent.taskId)) return unknownTask
        const agent: Agent = {
          ...parent,
          taskId,
          subagentId,
          parentId: call.activityId,
          depth: parent.depth + 1,
          view: TaskScope.viewOf(parent, scope, args),
          history,
          label: args.description,
          suspends: false
        }
        const owner = ownerOf(agent)
        yield* history.append([
          ...(args.resume === undefined ? [{ kind: "scope", ...owner, scope } as const] : []),
          { kind: "user", ...owner, text: args.prompt }
        ])
        const end = yield* loop.run(agent)
        // a delegated agent never suspends (CHD-2)
        return end._tag === "Answered"
          ? finished(end.text, taskId, maxBytes)
          : yield* Effect.die(new Error("a step ended unanswered"))
      })

      const execute = (call: ToolInvocation): Effect.Effect<ToolOutcome> =>
        Effect.uninterruptibleMask((restore) => {
          const decoded = decode(call.arguments)
          if (Result.isFailure(decoded)) return Effect.succeed(decoded.failure)
          const args = decoded.success
          const taskId = (args.resume ?? newId()) as Ids.TaskId
          if (running.has(taskId)) return Effect.succeed(alreadyRunning)
          const cancelled = Deferred.makeUnsafe<void>()
          running.set(taskId, cancelled)
          return restore(Effect.raceFirst(
            Effect.catch(delegate(call, args, taskId), (error) => failed(call, taskId, error)),
            Effect.as(Deferred.await(cancelled), stopped(taskId))
          )).pipe(Effect.ensuring(Effect.sync(() => running.delete(taskId))))
        })

      const tool: LocalTool = {
        name: "task",
        description:
          "Gives a task to another agent with a conversation of its own; its final text is the result. Several may run "
          + "at the same time. It knows only what the prompt says.",
        inputSchema,
        kind: "task",
        timeoutMs: 0,
        inspection: false,
        otherwise: "allow",
        execute
      }
      const cancel = (taskId: string) =>
        Effect.suspend(() => {
          const cancelled = running.get(taskId)
          return cancelled === undefined ? Effect.succeed(false) : Deferred.succeed(cancelled, undefined)
        })
      return Tasks.of({ tool, cancel })
    })
  )
}

type Arguments = Result.Result.Success<ReturnType<typeof decode>>

const refused = (code: string, message: string): ToolOutcome => ({ _tag: "Refused", code, message })

const unavailable = refused("task_unavailable", "Nothing here keeps the conversations of tasks. Nothing was started.")
const unknownTask = refused(
  "unknown_task",
  "You have no earlier task of this id in this session, so there is nothing to go on with. Nothing was started."
)
const alreadyRunning = refused(
  "task_running",
  "This task is running already. Wait for its result. Nothing was started."
)

const identity = (taskId: string): JsonText => `{"task_id":${Json.quote(taskId)}}` as JsonText

const stopped = (taskId: string): ToolOutcome => ({
  _tag: "Failure",
  text: "The task was cancelled. What it did until then stays done.",
  structured: identity(taskId)
})

/** A final text as a result; of one that is too long the beginning is told, and how much is missing. */
const finished = (text: string, taskId: string, maxBytes: number): ToolOutcome => ({
  _tag: "Success",
  text: excerpt(Redaction.protectText(text), maxBytes - RESERVED_BYTES),
  structured: identity(taskId)
})

const excerpt = (text: string, maxBytes: number): string => {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return `${new TextDecoder().decode(bytes.subarray(0, end))}\n… ${
    bytes.length - end
  } more bytes of the answer left out`
}

const failed = (call: ToolInvocation, taskId: string, error: LoopError): Effect.Effect<ToolOutcome> => {
  const end: ToolOutcome = {
    _tag: "Failure",
    text: `The task failed: ${reasonOf(error)}. What it did until then stays done.`,
    structured: identity(taskId)
  }
  switch (error._tag) {
    case "StorageFailed":
      call.agent.run.failure ??= error
      return Effect.succeed(end)
    case "HistoryInvalid":
      return Effect.as(Effect.logError("the conversation of a task is damaged", error.violations), end)
    default:
      return Effect.succeed(end)
  }
}

const reasonOf = (error: LoopError): string => {
  switch (error._tag) {
    case "ModelFailed":
      return `the model said: ${Redaction.protectMessage(error.message, 1000)}`
    case "StorageFailed":
      return "its conversation could not be stored"
    case "UsageLimitExceeded":
      return `the run used up its bound of ${error.limit} ${error.bound}`
    case "TurnLimitReached":
      return `the run made ${error.limit} model requests, which is its limit`
    case "HistoryInvalid":
      return "its conversation was found damaged and was not sent"
  }
}
