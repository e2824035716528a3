/**
 * What one measurement is: so many live client calls of one size, so many of them in flight, in one shape.
 *
 * Rule: every contestant does the same jobs in the same order, and is timed in its client, from the first call that
 * arrives to the last acknowledgement.
 */

/** `steps`: a batch, and the next when all of it is answered, as a model does it; `loop`: each answer brings a call. */
export interface Job {
  readonly size: number
  readonly inFlight: number
  readonly shape: "steps" | "loop"
  readonly calls: number
}

/** What a job took: milliseconds by the clock, and microseconds of processor for each call on both sides. */
export interface Taken {
  readonly ms: number
  readonly clientUs: number
  readonly serverUs: number
}

/** Payloads in characters; the largest is what with its escapes just fits into a result of 32 KiB (`result_bytes`). */
const sizes = [200, 4096, 30_000]

/** How a size is called. */
export const nameOf = (size: number): string => size === 30_000 ? "32 KiB" : size === 4096 ? "4 KiB" : `${size} B`

/** The calls of a job: about a tenth of a second on one core. */
const callsOf = (size: number): number => size < 1024 ? 2560 : size < 8192 ? 1024 : 256

/** All jobs of a round. */
export const jobs: ReadonlyArray<Job> = sizes.flatMap((size) => [
  { size, inFlight: 1, shape: "steps" as const, calls: callsOf(size) },
  { size, inFlight: 16, shape: "steps" as const, calls: callsOf(size) },
  { size, inFlight: 16, shape: "loop" as const, calls: callsOf(size) }
])

/** Arguments may have 16 KiB, so for a larger payload they only ask for it and it is in the result alone. */
const MOST_ARGUMENTS = 8192

/** What a server sends for a payload size. */
export const askFor = (size: number): { readonly text: string } | { readonly size: number } =>
  size > MOST_ARGUMENTS ? { size } : { text: textOf(size) }

/** What a client answers to it: the text it got, or one of the size that was asked for. */
export const answerTo = (ask: { readonly text?: string; readonly size?: number }): string =>
  ask.text ?? textOf(ask.size!)

const LINE = "const row = lookup(\"rec-00421\", { fields: [\"name\", \"owner\"], limit: 25 }); // step\n"
const texts = new Map<number, string>()

/** Lines of code of exactly so many characters, of which 7 % need an escape in JSON. */
const textOf = (size: number): string => {
  let text = texts.get(size)
  if (text === undefined) {
    text = ""
    for (let i = 0; text.length < size; i++) text += `${i.toString(36).padStart(5, "0")} ${LINE}`
    texts.set(size, text = Buffer.from(text.slice(0, size)).toString("latin1"))
  }
  return text
}

/** Runs calls in the shape of a job; for servers whose calls are promises. */
export const run = async ({ calls, inFlight, shape }: Job, call: () => Promise<unknown>): Promise<void> => {
  if (shape === "steps") {
    for (let done = 0; done < calls; done += inFlight) await Promise.all(Array.from({ length: inFlight }, call))
    return
  }
  let begun = 0
  const worker = async () => {
    while (begun++ < calls) await call()
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}
