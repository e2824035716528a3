/**
 * Server-sent events, as far as MCP uses them: the data of each event (BLT-5).
 *
 * Rule: linear in what comes, however it is cut; nothing but `data` is looked at.
 */

/** Cuts a stream of text into events. */
export class EventStream {
  private line = ""
  private data: Array<string> = []
  private size = 0
  /** Whether the text ended between the two characters of a line end. */
  private halfEnd = false
  private readonly event: (data: string) => void

  constructor(event: (data: string) => void) {
    this.event = event
  }

  /** Takes more text; gives the characters that wait for the end of their event. */
  push(text: string): number {
    const lines = (this.halfEnd && text.startsWith("\n") ? text.slice(1) : text).split(/\r\n|\n|\r/)
    this.halfEnd = text === "" ? this.halfEnd : text.endsWith("\r")
    lines[0] = this.line + lines[0]
    this.line = lines.pop()!
    for (const line of lines) this.take(line)
    return this.size + this.line.length
  }

  private take(line: string): void {
    if (line === "") {
      const data = this.data.join("\n")
      this.data = []
      this.size = 0
      if (data.trim() !== "") this.event(data)
    } else if (line.startsWith("data:")) {
      const value = line.slice(line.charAt(5) === " " ? 6 : 5)
      this.data.push(value)
      this.size += value.length
    }
  }
}
