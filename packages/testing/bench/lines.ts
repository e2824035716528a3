/** Raw NDJSON for the bare contestants: nothing is checked, and small frames of one chunk go out together. */

/** As the server does it: more at once makes each side wait for the other. */
const FLUSH_AT = 4096

/** Splits chunks into lines; only the new chunk is looked at. */
export const splitter = (onLine: (line: string) => void): (chunk: Buffer) => void => {
  let rest: Array<Buffer> = []
  return (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      if (rest.length === 0) onLine(chunk.toString("utf8", start, end))
      else {
        const whole = Buffer.concat([...rest, chunk.subarray(start, end)])
        rest = []
        onLine(whole.toString("utf8"))
      }
      start = end + 1
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
  }
}

/** Reads lines from one stream and writes to another; gives what writes a line. */
export const connect = (
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  onLine: (line: string) => void
): (line: string) => void => {
  let out = ""
  let reading = false
  const flush = () => {
    if (out === "") return
    output.write(out)
    out = ""
  }
  const split = splitter(onLine)
  input.on("data", (chunk: Buffer) => {
    reading = true
    split(chunk)
    reading = false
    flush()
  })
  return (line) => {
    out += `${line}\n`
    if (!reading || out.length >= FLUSH_AT) flush()
  }
}
