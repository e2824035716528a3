/**
 * Tells a damaged write-ahead log of SQLite from a torn one (SES-10).
 *
 * Rule: a torn tail, which nobody was told of, is no damage; a commit that another commit followed was acknowledged, and
 * SQLite would drop it without a word where a bit before it has changed.
 *
 * SQLite reads a log up to the first frame that does not match and takes the rest for leftovers. Each frame's checksum
 * goes on from the one before it, so whole frames behind a bad one can still be told: where they hold a commit and,
 * after it, the beginning of another, the log was complete up to there when that was written. What cannot be told from
 * a torn tail is damage of the newest commit; that is told by `SessionMark` (format:
 * https://sqlite.org/fileformat2.html#the_write_ahead_log).
 */

const HEADER = 32
const FRAME_HEADER = 24
/** The page size of all our databases, SQLite's own default. */
const PAGE = 4096
const FRAME = FRAME_HEADER + PAGE
/** How a log begins: the kind of machine that writes it sums little-endian or big-endian words. */
const LITTLE = 0x377f0682
const BIG = 0x377f0683

/** Whether commits that were acknowledged are lost in this log. */
export const isDamaged = (bytes: Uint8Array): boolean => {
  if (bytes.length < HEADER + FRAME) return false
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = view.getUint32(0)
  const sound = (magic === LITTLE || magic === BIG) && view.getUint32(8) === PAGE
    && matches(view, magic === LITTLE, 0, 24, [0, 0], 24)
  const little = !sound || magic === LITTLE
  // which frames are of this log says its header, or the first of them
  const salt = sound ? 16 : HEADER + 8
  let unbroken = sound
  let committed = false
  let before = 24
  for (let at = HEADER; at + FRAME <= bytes.length; at += FRAME) {
    const ours = view.getUint32(at + 8) === view.getUint32(salt) && view.getUint32(at + 12) === view.getUint32(salt + 4)
    const whole = ours && frameMatches(view, little, at, [view.getUint32(before), view.getUint32(before + 4)])
    const commits = view.getUint32(at + 4) !== 0
    if (!unbroken) {
      if (whole && committed) return true
      committed = whole && commits
    } else if (!whole) {
      unbroken = false
      committed = commits
    }
    before = at + 16
  }
  return false
}

type Sums = [number, number]

const add = (view: DataView, little: boolean, from: number, to: number, sums: Sums): void => {
  let [a, b] = sums
  for (let at = from; at < to; at += 8) {
    a = (a + view.getUint32(at, little) + b) >>> 0
    b = (b + view.getUint32(at + 4, little) + a) >>> 0
  }
  sums[0] = a
  sums[1] = b
}

const told = (view: DataView, at: number, [a, b]: Sums): boolean =>
  view.getUint32(at) === a && view.getUint32(at + 4) === b

const matches = (view: DataView, little: boolean, from: number, to: number, sums: Sums, at: number): boolean => {
  add(view, little, from, to, sums)
  return told(view, at, sums)
}

const frameMatches = (view: DataView, little: boolean, at: number, sums: Sums): boolean => {
  add(view, little, at, at + 8, sums)
  return matches(view, little, at + FRAME_HEADER, at + FRAME, sums, at + 16)
}
