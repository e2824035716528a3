/**
 * A map whose entries come and go, such as requests that wait for their answers.
 *
 * Rule: it behaves like a `Map`, and what has left it is garbage. V8 links each table of a `Map` to the one that replaces
 * it: once one table is old, those after it survive with all that was in them until the next full collection, and with
 * entries that hold fibers that is most of what a program makes. So every so many removals a fresh `Map` takes over.
 */

/** Removals beyond the size after which a fresh map is made: the copy costs a constant for each removal. */
const MOST_REMOVALS = 16

/** Entries in the order in which they came. */
export class PassingMap<V> {
  private entries = new Map<string, V>()
  private removals = 0

  get size(): number {
    return this.entries.size
  }

  has(key: string): boolean {
    return this.entries.has(key)
  }

  get(key: string): V | undefined {
    return this.entries.get(key)
  }

  set(key: string, value: V): void {
    this.entries.set(key, value)
  }

  /** Removes an entry; false when there is none. */
  delete(key: string): boolean {
    if (!this.entries.delete(key)) return false
    if (++this.removals > MOST_REMOVALS + this.entries.size) {
      this.removals = 0
      this.entries = new Map(this.entries)
    }
    return true
  }

  /** Removes all entries and gives them. */
  drain(): ReadonlyArray<V> {
    const all = this.values()
    this.entries = new Map()
    this.removals = 0
    return all
  }

  /** The values now; what happens to the map while they are looked at does not change them. */
  values(): ReadonlyArray<V> {
    return [...this.entries.values()]
  }
}
