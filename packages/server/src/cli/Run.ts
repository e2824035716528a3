/**
 * `errand run`: one turn of a server of its own (PGM-3).
 *
 * Rule: stdout carries the assistant's text and nothing else; calls, questions and faults go to stderr. The exit code is
 * the outcome of the run. This is an edge: it writes to both.
 */
import { type Client, make as makeClient, type TurnEvent } from "@errand/client"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Options from "../Options.ts"
import * as Answer from "./Answer.ts"
import * as Approval from "./Approval.ts"
import * as ExitCode from "./ExitCode.ts"
import { paint } from "./Ink.ts"
import { err, out } from "./Process.ts"
import { hasColour } from "./Screen.ts"
import { spawnOptions } from "./ServerProcess.ts"
import * as Story from "./Story.ts"
import * as ToolsFile from "./ToolsFile.ts"

/** The session that was used last. */
export const LAST = Symbol("last")

/** What was asked on the command line. */
export interface Request {
  readonly prompt: string
  readonly tools: string | undefined
  /** A session to go on with, by its id or the one that was used last; without, a new one. */
  readonly session: string | typeof LAST | undefined
  readonly options: Options.OptionTexts
}

/** The exit code of a run that ended so. */
export const codeOf = { completed: ExitCode.DONE, failed: ExitCode.FAILED, cancelled: ExitCode.CANCELLED }

/** Runs the turn and gives the exit code. */
export const run = (request: Request): Effect.Effect<number> =>
  Effect.scoped(turn(request)).pipe(
    Effect.catchTags({
      FileUnreadable: ({ message }) => complain(message, ExitCode.USAGE),
      ToolsInvalid: ({ message }) => complain(message, ExitCode.FAULTY)
    }),
    Effect.catch(({ message }) => complain(message, ExitCode.FAILED))
  )

const complain = (message: string, code: number) => Effect.as(err(`errand run: ${message}\n`), code)

const turn = Effect.fnUntraced(function*(request: Request) {
  const tools = request.tools === undefined ? undefined : yield* ToolsFile.loadToolkit(request.tools)
  const desk = Approval.desk()
  const client = yield* makeClient({
    server: { ...spawnOptions(request.options), log: (text) => void process.stderr.write(text) },
    approve: desk.approve,
    ...(tools === undefined ? {} : { tools })
  })
  const session = yield* attach(client, request.session)
  yield* err(`session ${session.id}\n`)
  const show = yield* shower
  let code: number = ExitCode.FAILED
  yield* Stream.runForEach(session.turn(request.prompt), (event) => {
    if (event._tag === "Finished") code = codeOf[event.status]
    return event._tag === "ApprovalRequested" ? desk.ask(event) : show(event)
  }).pipe(Effect.onInterrupt(() => err("  cancelled\n")))
  return code
})

const attach = Effect.fnUntraced(function*(client: Client["Service"], session: Request["session"]) {
  if (session === undefined) return yield* client.createSession
  if (session !== LAST) return yield* client.openSession(session)
  const sessions = yield* Stream.runCollect(client.listSessions)
  const last = sessions.reduce<(typeof sessions)[number] | undefined>(
    (last, one) => last === undefined || one.updated_at > last.updated_at ? one : last,
    undefined
  )
  return yield* last === undefined ? client.createSession : client.openSession(last.session_id)
})

/** Shows the events of a turn as they come. */
const shower = Effect.map(Clock.Clock, (clock) => {
  const terminal = process.stdout.isTTY
  const colour = hasColour(process.stderr, process.env)
  let story = Story.empty
  let answer = Answer.empty
  return (event: TurnEvent): Effect.Effect<void> => {
    if (event._tag === "Delta" || event._tag === "Message") {
      const next = Answer.step(answer, event, terminal)
      answer = next.answer
      return out(next.text)
    }
    const next = Story.step(story, event, clock.currentTimeMillisUnsafe())
    story = next.story
    return err(next.lines.map((line) => `${paint(line, colour)}\n`).join(""))
  }
})
