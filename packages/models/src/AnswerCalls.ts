/**
 * The calls of an answer while it comes, and whether an answer that has ended is a whole one (MDL-3).
 *
 * Rule: calls are told when the answer is complete. What was cut off, filtered or lost on the way is never taken for a whole
 * answer, whichever adapter reads it.
 */
import { Json } from "@errand/protocol"
import { ModelFailed, type ModelToolCall } from "@errand/runtime"

/** Why a provider ended an answer; every word that is none of these is an ordinary end. */
export type Reason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | (string & {})

/** A failure in our own words. */
export const failed = (message: string, retryable = false): ModelFailed =>
  new ModelFailed({ code: "model_failed", message, retryable })

/** The answer never ended. */
export const brokenOff = failed("the connection to the provider ended before the answer did", true)

/** Arguments that no tool takes, in place of such as never came. */
const unknownArguments = Json.quote("the answer was cut off before the arguments")

/** The calls of one answer. */
export class AnswerCalls {
  private readonly calls: Array<ModelToolCall> = []
  /** Calls whose arguments came in pieces, with these; those of a call that was told are no longer `unfinished`. */
  private readonly streamed = new Map<string, { readonly name: string; text: string }>()
  private readonly unfinished = new Set<string>()
  private elsewhere = false

  /** The calls that were told, in their order. */
  get told(): ReadonlyArray<ModelToolCall> {
    return this.calls
  }

  /** A call begins whose arguments come in pieces. */
  begin(id: string, name: string): void {
    this.streamed.set(id, { name, text: "" })
    this.unfinished.add(id)
  }

  /** A piece of arguments; one of a call that never began is none of ours. */
  piece(id: string, text: string): void {
    const call = this.streamed.get(id)
    if (call !== undefined) call.text += text
  }

  /** The arguments of a call as they came in pieces; undefined where they did not. */
  pieces(id: string): string | undefined {
    return this.streamed.get(id)?.text
  }

  /** A call is whole. */
  tell(call: ModelToolCall): void {
    this.unfinished.delete(call.id)
    this.calls.push(call)
  }

  /** The provider made a call itself, which is not ours to settle. */
  executed(): void {
    this.elsewhere = true
  }

  /**
   * Why an answer that ended this way is none; null when it is one. Calls that the limit of output tokens cut off are told
   * with what came of them, and fail where arguments are checked.
   */
  refusalOf(reason: Reason): ModelFailed | null {
    switch (reason) {
      case "error":
        return failed("the provider ended the answer with an error")
      case "content-filter":
        return failed("the provider's content filter stopped the answer")
      case "length":
        this.cutOff()
        return this.calls.length > 0
          ? null
          : failed("the answer was cut off where the provider's limit of output tokens was reached")
      default:
        if (this.unfinished.size > 0) return failed("the provider ended the answer in the middle of a tool call", true)
        return reason === "tool-calls" && this.calls.length === 0 && !this.elsewhere
          ? failed("the provider ended the answer for tool calls and told none", true)
          : null
    }
  }

  /** Marks what was cut off: calls that were never told, and a last one that looks empty. */
  private cutOff(): void {
    const last = this.calls.at(-1)
    if (last !== undefined && this.streamed.get(last.id)?.text.trim() === "") {
      this.calls[this.calls.length - 1] = { ...last, arguments: unknownArguments }
    }
    for (const id of this.unfinished) {
      const { name, text } = this.streamed.get(id)!
      this.calls.push({ id, name, arguments: text.trim() === "" ? unknownArguments : text })
    }
  }
}
