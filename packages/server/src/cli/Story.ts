/**
 * A turn as a person sees it: what has happened as lines, what is open as a picture that is drawn again and again.
 *
 * Rule: this module is pure. `step` takes what happened and gives the lines to be printed once; `live` and `waiting` show
 * the same state at any moment. Times are milliseconds of one clock.
 */
import type { ToolAnswer, ToolCall, TurnEvent } from "@errand/client"
import { clip } from "@errand/protocol"
import { fit, ink, type Line, type Span, wrap } from "./Ink.ts"

/** A call that waits for its answer. */
export interface OpenCall {
  readonly name: string
  readonly startedAt: number
  readonly timeoutMs: number
  /** What the handler has answered, before the client says that it was sent. */
  readonly answer?: ToolAnswer.ToolAnswer
  /** Whether the client has stopped the handler. */
  readonly stopped?: true
}

/** What is open right now, the calls in the order in which they came. */
export interface Story {
  readonly calls: ReadonlyMap<string, OpenCall>
  /** Names of running activities that are no calls of this client. */
  readonly activities: ReadonlyMap<string, { readonly name: string; readonly startedAt: number }>
  /** The provisional text of the message that is being written. */
  readonly text: string
}

/** What can happen: an event of the turn, or what this program itself did. */
export type Happening =
  | TurnEvent
  | { readonly _tag: "Asked"; readonly prompt: string }
  | { readonly _tag: "HandlerAnswered"; readonly call: ToolCall; readonly answer: ToolAnswer.ToolAnswer }
  | { readonly _tag: "HandlerStopped"; readonly call: ToolCall }
  | { readonly _tag: "Cancelling" }
  /** A turn that was cancelled here is over; its events are not seen any more, the history says how it ended. */
  | { readonly _tag: "TurnCancelled"; readonly status: string }

/** Nothing has happened yet. */
export const empty: Story = { calls: new Map(), activities: new Map(), text: "" }

/** What a story has become, and the lines that tell the step. */
export interface Step {
  readonly story: Story
  readonly lines: ReadonlyArray<Line>
}

const margin: Span = { style: "plain", text: "  " }
const longest = 400

/** Takes what happened at `now`. */
export const step = (story: Story, happening: Happening, now: number): Step => {
  const told = (...lines: ReadonlyArray<Line>): Step => ({ story, lines })
  switch (happening._tag) {
    case "Asked":
      return told([], [ink("accent", "❯ "), ink("bold", happening.prompt)])
    case "Delta":
      return { story: { ...story, text: story.text + happening.text }, lines: [] }
    case "Message":
      return { story: { ...story, text: "" }, lines: spaced(textLines(happening.text)) }
    case "ToolCalled": {
      const { argumentsText, callId, timeoutMs } = happening.call
      const name = shortName(happening.call.name)
      const calls = new Map(story.calls).set(callId, { name, startedAt: now, timeoutMs })
      const line = [margin, ink("accent", "→ call    "), ink("bold", name), ink("dim", ` ${shortened(argumentsText)}`)]
      return { story: { ...story, calls }, lines: [line] }
    }
    case "HandlerAnswered":
      return { story: noted(story, happening.call.callId, { answer: happening.answer }), lines: [] }
    case "HandlerStopped":
      return { story: noted(story, happening.call.callId, { stopped: true }), lines: [] }
    case "ToolAnswered": {
      const { callId } = happening.call
      const open = story.calls.get(callId)
      const good = happening.status === "success"
      return {
        story: { ...story, calls: without(story.calls, callId) },
        lines: [[
          margin,
          ink(good ? "good" : "bad", "← answer  "),
          ink("bold", shortName(happening.call.name)),
          ink("dim", open === undefined ? "" : ` after ${seconds(now - open.startedAt)}`),
          ink(good ? "good" : "bad", ` ${happening.status}`),
          ink("plain", open?.answer === undefined ? "" : ` ${shortened(contentOf(open.answer))}`)
        ]]
      }
    }
    case "ToolCancelled": {
      const open = story.calls.get(happening.callId)
      return open === undefined ? told() : {
        story: { ...story, calls: without(story.calls, happening.callId) },
        lines: [cancelLine(open, happening.reason, now)]
      }
    }
    case "ToolActivity":
      return activity(story, happening, now)
    case "Cancelling":
      return told([], [ink("accent", "❯ "), ink("bold", "cancel the turn")], [])
    case "TurnCancelled": {
      const stopped = [...story.calls.values()].filter((open) => open.stopped === true)
      const style = happening.status === "cancelled" ? "warn" : "bad"
      return {
        story: empty,
        lines: [
          ...stopped.map((open) => cancelLine(open, "cancelled", now)),
          [margin, ink(style, happening.status), ink("dim", ", says the history")]
        ]
      }
    }
    case "ApprovalResolved":
      // The other outcomes are told by the activity that they decide.
      return happening.outcome === "expired"
        ? told([margin, ink("warn", "nobody answered the question for permission in time")])
        : told()
    case "Finished": {
      const { error, status, usage } = happening
      const style = status === "completed" ? "good" : status === "failed" ? "bad" : "warn"
      const reason = error === null ? "" : ` (${error.code}): ${error.message}`
      const count = usage.toolCalls === 1 ? "1 tool call" : `${usage.toolCalls} tool calls`
      return { story: empty, lines: [[margin, ink(style, status), ink("plain", reason), ink("dim", `, ${count}`)]] }
    }
    case "ApprovalRequested":
    case "Started":
    case "ToolCard":
      return told()
  }
}

const cancelLine = ({ name, startedAt, stopped }: OpenCall, reason: string, now: number): Line => [
  margin,
  ink("warn", "× cancel  "),
  ink("bold", name),
  ink("dim", ` after ${seconds(now - startedAt)}`),
  ink("warn", ` ${reason}`),
  ink("dim", stopped === true ? ", its handler is stopped" : "")
]

const noted = (story: Story, callId: string, note: Partial<OpenCall>): Story => {
  const open = story.calls.get(callId)
  return open === undefined ? story : { ...story, calls: new Map(story.calls).set(callId, { ...open, ...note }) }
}

/** Tools of the client are told by their calls; all others by their activities. */
const activity = (story: Story, event: Extract<TurnEvent, { readonly _tag: "ToolActivity" }>, now: number): Step => {
  const { activityId, name, status } = event
  if (name.startsWith(clientPrefix)) return { story, lines: [] }
  if (status === "running") {
    const activities = new Map(story.activities).set(activityId, { name, startedAt: now })
    return { story: { ...story, activities }, lines: [[margin, ink("accent", "→ server  "), ink("bold", name)]] }
  }
  const open = story.activities.get(activityId)
  return {
    story: { ...story, activities: without(story.activities, activityId) },
    lines: [[
      margin,
      ink(status === "success" ? "good" : "warn", "← server  "),
      ink("bold", name),
      ink("dim", open === undefined ? "" : ` after ${seconds(now - open.startedAt)}`),
      ink(status === "success" ? "good" : "warn", ` ${status}`)
    ]]
  }
}

const wheel = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
const barCells = 20

/** What is open at `now`, at most `columns` wide: the text that is being written, and each call with the time it has left. */
export const live = (story: Story, now: number, columns: number): ReadonlyArray<Line> => {
  const names = Math.max(0, ...[...story.calls.values()].map(({ name }) => name.length))
  const cells = columns < 60 ? barCells / 2 : barCells
  const rows = [...story.calls.values()].map(({ name, startedAt, timeoutMs }) => {
    const left = Math.max(0, startedAt + timeoutMs - now)
    const share = left / timeoutMs
    const full = Math.ceil(share * cells)
    const style = share > 0.5 ? "good" : share > 0.2 ? "warn" : "bad"
    return fit([
      margin,
      ink("accent", `${wheel[Math.floor(Math.max(0, now) / 100) % wheel.length]} `),
      ink("plain", name.padEnd(names)),
      ink("plain", "  "),
      ink(style, "█".repeat(full)),
      ink("dim", "░".repeat(cells - full)),
      ink("plain", ` ${seconds(left)} left`)
    ], columns)
  })
  return [...spaced(textLines(story.text)).flatMap((line) => wrap(line, columns)), ...rows]
}

/** The open calls with the time they have left, in one line; undefined when there are none. */
export const waiting = (story: Story, now: number): Line | undefined => {
  if (story.calls.size === 0) return undefined
  const calls = [...story.calls.values()].map(({ name, startedAt, timeoutMs }) =>
    `${name} ${seconds(Math.max(0, startedAt + timeoutMs - now))} left`
  )
  return [margin, ink("dim", `· waiting ${calls.join(", ")}`)]
}

const spaced = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => lines.length === 0 ? [] : [[], ...lines]

/** Text as lines with a margin; no line for an empty text. */
const textLines = (text: string): ReadonlyArray<Line> =>
  text === "" ? [] : text.split("\n").map((line) => [margin, ink("plain", line)])

const clientPrefix = "client__"

const shortName = (name: string): string => name.startsWith(clientPrefix) ? name.slice(clientPrefix.length) : name

const shortened = (text: string): string => clip(text, longest + 1)

const contentOf = ({ structured, text }: ToolAnswer.ToolAnswer): string =>
  [text, structured].filter((part) => part !== undefined && part !== "").join(" ")

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

const without = <V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> => {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}
