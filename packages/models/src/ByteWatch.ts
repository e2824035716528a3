/**
 * A `fetch` that tells when bytes arrive (MDL-5). This is an edge: it speaks promises and web streams.
 *
 * Rule: it changes nothing of what passes, with one exception: a redirection is not followed, since a key that travels
 * in a header of the provider's own would go along to whoever is named there.
 */

/** Tells the arrival of bytes to who listens for them. */
export interface ByteWatch {
  /** For the provider library, which must hand on the signal of the request. */
  readonly fetch: typeof globalThis.fetch
  /** Calls `onBytes` whenever something arrives for the request that is made with this signal. */
  readonly listen: (signal: AbortSignal, onBytes: () => void) => void
}

/** A watch for any number of requests. */
export const make = (): ByteWatch => {
  const listeners = new WeakMap<AbortSignal, () => void>()
  const watched: typeof globalThis.fetch = (input, init) => {
    const onBytes = init?.signal ? listeners.get(init.signal) : undefined
    const answer = globalThis.fetch(input, { ...init, redirect: "manual" })
    return onBytes === undefined ? answer : answer.then((response) => listenedTo(response, onBytes))
  }
  return { fetch: watched, listen: (signal, onBytes) => void listeners.set(signal, onBytes) }
}

const listenedTo = (response: Response, onBytes: () => void): Response => {
  onBytes()
  if (response.body === null) return response
  const told = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (bytes, controller) => {
      onBytes()
      controller.enqueue(bytes)
    }
  })
  const { headers, status, statusText } = response
  return new Response(response.body.pipeThrough(told), { headers, status, statusText })
}
