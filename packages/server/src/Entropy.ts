/**
 * Random bytes for ids, as the kernel gives them. This is an edge: it reads a device.
 *
 * Rule: these are the bytes that Node's own generators are seeded with; only they come without the modules of Node's
 * cryptography, which take a twentieth of the time that a server needs to start.
 */
import { closeSync, openSync, readSync } from "node:fs"

const DEVICE = "/dev/urandom"

/** Fills a buffer; where there is no such device, from the cryptography of the platform. */
export const fill = (bytes: Uint8Array): void => {
  let device: number
  try {
    device = openSync(DEVICE, "r")
  } catch {
    globalThis.crypto.getRandomValues(bytes)
    return
  }
  try {
    for (let at = 0; at < bytes.length;) at += readSync(device, bytes, at, bytes.length - at, null)
  } finally {
    closeSync(device)
  }
}
