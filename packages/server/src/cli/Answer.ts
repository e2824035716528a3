/**
 * The assistant's text as it goes to stdout (PGM-3).
 *
 * Rule: what a program reads is exactly the text of each message, once it is whole, and a line feed. A terminal sees the
 * pieces as they come; when some were left out (TRN-4) it sees the whole message again.
 */
import { visible } from "./Ink.ts"

/** What was written of the message that is being written. */
export interface Answer {
  readonly messageId: string | null
  readonly written: string
}

/** Nothing is written yet. */
export const empty: Answer = { messageId: null, written: "" }

/** Takes a piece or a whole message; gives what to write now. */
export const step = (
  answer: Answer,
  event: { readonly _tag: "Delta" | "Message"; readonly messageId: string; readonly text: string },
  terminal: boolean
): { readonly answer: Answer; readonly text: string } => {
  const { _tag, messageId, text } = event
  const written = answer.messageId === messageId ? answer.written : ""
  if (_tag === "Delta") {
    return terminal
      ? { answer: { messageId, written: written + text }, text: visible(text) }
      : { answer, text: "" }
  }
  if (!terminal) return { answer: empty, text: `${text}\n` }
  const rest = text.startsWith(written) ? text.slice(written.length) : `\n${text}`
  return { answer: empty, text: `${visible(rest)}\n` }
}
