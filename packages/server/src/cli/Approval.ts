/**
 * Asks the person at the terminal for permission (PGM-3, TRN-8).
 *
 * Rule: only a typed yes allows; without a terminal the answer is no. This is an edge: it reads stdin and writes stderr.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as readline from "node:readline"
import { visible } from "./Ink.ts"

/** What is asked: which tool, and in words what it would do. */
export interface Question {
  readonly approvalId: string
  readonly name: string
  readonly summary: string
  readonly expiresInMs: number
}

/** The question as a person reads it; nothing in it can steer the terminal. */
export const questionText = ({ name, summary }: Pick<Question, "name" | "summary">): string =>
  `Allow ${visible(name)}? ${visible(summary)} [y/N] `

/** Whether a typed line is a yes. */
export const isYes = (line: string): boolean => /^\s*y(?:es)?\s*$/i.test(line)

/** Where the client waits for answers, and where questions are asked when they have their turn in what is shown. */
export interface Desk {
  readonly approve: (question: Question) => Effect.Effect<boolean>
  readonly ask: (question: Question) => Effect.Effect<void>
}

/** A desk without open questions. */
export const desk = (): Desk => {
  const answers = new Map<string, Deferred.Deferred<boolean>>()
  const answerTo = ({ approvalId }: Question): Deferred.Deferred<boolean> => {
    const known = answers.get(approvalId) ?? Deferred.makeUnsafe<boolean>()
    answers.set(approvalId, known)
    return known
  }
  return {
    // Interrupted when the question is closed otherwise; then nobody needs to be asked any more.
    approve: (question) =>
      Effect.ensuring(Deferred.await(answerTo(question)), Deferred.succeed(answerTo(question), false)),
    ask: (question) =>
      Effect.raceFirst(prompt(question), Deferred.await(answerTo(question))).pipe(
        Effect.timeoutOption(question.expiresInMs),
        Effect.flatMap((answer) => Deferred.succeed(answerTo(question), Option.getOrElse(answer, () => false)))
      )
  }
}

const prompt = (question: Question): Effect.Effect<boolean> =>
  process.stdin.isTTY && process.stderr.isTTY
    ? Effect.callback((resume) => {
      // Not as a terminal of its own: Ctrl-C must stay a signal.
      const lines = readline.createInterface({ input: process.stdin, output: process.stderr, terminal: false })
      let answered = false
      lines.once("line", (line) => {
        answered = true
        lines.close()
        resume(Effect.succeed(isYes(line)))
      })
      lines.once("close", () => {
        if (!answered) resume(Effect.succeed(false))
      })
      process.stderr.write(questionText(question))
      return Effect.sync(() => {
        process.stderr.write("\n")
        lines.close()
      })
    })
    : Effect.sync(() => {
      process.stderr.write(`${questionText(question)}no, there is no terminal to ask on\n`)
      return false
    })
