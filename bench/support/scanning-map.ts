import type { DeltaInterval, Entry } from '../../src/crdt/index.ts'

/**
 * The peer of the merge bench: an observed-remove map that merges as Phoenix.Tracker does. A delta carries its dots and the
 * values of those that live; what is held, named and not valued is removed, and to find that the whole table is scanned. It
 * has no hash, no log and no checks, so it does less per entry than the map it is compared with.
 */
export class ScanningMap {
  readonly #rows = new Map<number, Entry>()
  readonly #scansAlways: boolean
  #context = 0

  /** @param scansAlways false: the scan is left out for deltas without removals, a mend of five lines */
  constructor({ scansAlways }: { scansAlways: boolean }) {
    this.#scansAlways = scansAlways
  }

  get count(): number {
    return this.#rows.size
  }

  merge({ adds, marks, to }: DeltaInterval): { joined: number; left: number } {
    const values = new Set<number>()
    const named = new Set<number>()
    for (const { counter } of adds) {
      values.add(counter)
      named.add(counter)
    }
    for (const { counter } of marks) {
      named.add(counter)
    }
    let left = 0
    if (this.#scansAlways || named.size > values.size) {
      for (const { counter } of this.#rows.values()) {
        if (named.has(counter) && !values.has(counter)) {
          this.#rows.delete(counter)
          left++
        }
      }
    }
    let joined = 0
    for (const entry of adds) {
      if (entry.counter > this.#context) {
        this.#rows.set(entry.counter, entry)
        joined++
      }
    }
    this.#context = Math.max(this.#context, to)
    return { joined, left }
  }
}
