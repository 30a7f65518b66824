import type { Entry } from './entry.ts'

/** A chunk is split past this size. */
const CHUNK_MAX = 512
/** A chunk below a quarter is joined to a neighbour, unless both together would soon be split again. */
const CHUNK_MIN = CHUNK_MAX / 4
const JOINED_MAX = (CHUNK_MAX * 3) / 4
/** Probes by spacing before a search bisects. */
const GUESSES = 4

/**
 * Entries in ascending order of their dots, in chunks of at most 512: to append, find, remove and walk cost the same among
 * a thousand and a million, but for the binary search over the chunks.
 */
export class DotSequence {
  readonly #chunks: Entry[][] = []
  /** The first dot of each chunk, so that the search over chunks touches one array only. */
  readonly #firsts: number[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The number of chunks. */
  get chunks(): number {
    return this.#chunks.length
  }

  get(counter: number): Entry | undefined {
    const index = this.#chunkOf(counter)
    const chunk = this.#chunks[index]
    if (chunk === undefined || !Number.isInteger(counter)) {
      return undefined
    }
    const entry = chunk[this.#slotOf(index, counter)]
    return entry !== undefined && entry.counter === counter ? entry : undefined
  }

  /** Puts the entry in its place; one with the same dot is replaced. Returns that one. */
  put(entry: Entry): Entry | undefined {
    const counter = entry.counter
    const index = Math.max(0, this.#chunkOf(counter))
    const chunk = this.#chunks[index]
    if (chunk === undefined) {
      this.#insertChunk(0, [entry])
      this.#size++
      return undefined
    }
    const slot = counter > (chunk[chunk.length - 1] as Entry).counter ? chunk.length : this.#slotOf(index, counter)
    const held = chunk[slot]
    if (held !== undefined && held.counter === counter) {
      chunk[slot] = entry
      return held
    }
    this.#size++
    if (slot < chunk.length) {
      this.#insertAt(index, slot, entry)
    } else if (chunk.length < CHUNK_MAX) {
      chunk.push(entry)
    } else {
      this.#insertChunk(index + 1, [entry])
    }
    return undefined
  }

  /** Returns the removed entry, undefined when the dot is not held. */
  remove(counter: number): Entry | undefined {
    const index = this.#chunkOf(counter)
    const chunk = this.#chunks[index]
    if (chunk === undefined) {
      return undefined
    }
    const slot = this.#slotOf(index, counter)
    const entry = chunk[slot]
    if (entry === undefined || entry.counter !== counter) {
      return undefined
    }
    chunk.splice(slot, 1)
    this.#size--
    if (chunk.length < CHUNK_MIN) {
      this.#join(index)
    } else if (slot === 0) {
      this.#firsts[index] = (chunk[0] as Entry).counter
    }
    return entry
  }

  /** Walks the dots above `after` upwards until `visit` returns false. Nothing may be put or removed meanwhile. */
  walk(after: number, visit: (entry: Entry) => boolean): void {
    let index = Math.max(0, this.#chunkOf(after))
    let slot = this.#size === 0 ? 0 : this.#slotOf(index, Math.floor(after) + 1)
    for (; index < this.#chunks.length; index++, slot = 0) {
      const chunk = this.#chunks[index] as Entry[]
      for (; slot < chunk.length; slot++) {
        if (!visit(chunk[slot] as Entry)) {
          return
        }
      }
    }
  }

  /** The entries with dots above `after`, ascending. Safe while nothing is put or removed. */
  *after(after: number): IterableIterator<Entry> {
    let index = Math.max(0, this.#chunkOf(after))
    let slot = this.#size === 0 ? 0 : this.#slotOf(index, Math.floor(after) + 1)
    for (; index < this.#chunks.length; index++, slot = 0) {
      const chunk = this.#chunks[index] as Entry[]
      for (; slot < chunk.length; slot++) {
        yield chunk[slot] as Entry
      }
    }
  }

  /** The chunk that holds the dot if any does: the last that starts at or below it; −1 when all start above. */
  #chunkOf(counter: number): number {
    const firsts = this.#firsts
    let low = 0
    let high = firsts.length
    if (high > 0 && counter >= (firsts[high - 1] as number)) {
      return high - 1
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((firsts[middle] as number) <= counter) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low - 1
  }

  /**
   * The slot of the first entry at or above the dot in a chunk; the length when there is none. Every probe may be a cache miss, so
   * the first ones guess by the spacing of the dots; and because dots are distinct integers, a probe that is off by n dots is off by
   * at most n slots. Where nothing was removed the first probe hits; the bisection after the guesses bounds the worst case.
   */
  #slotOf(index: number, counter: number): number {
    const chunk = this.#chunks[index] as Entry[]
    const first = this.#firsts[index] as number
    const beyond = this.#firsts[index + 1] ?? (chunk[chunk.length - 1] as Entry).counter + 1
    const density = chunk.length / (beyond - first)
    let low = 0
    let high = chunk.length
    let probe = Math.trunc((counter - first) * density)
    for (let probes = 1; low < high; probes++) {
      probe = Math.max(low, Math.min(high - 1, probe))
      const difference = counter - (chunk[probe] as Entry).counter
      if (difference === 0) {
        return probe
      }
      if (difference > 0) {
        low = probe + 1
        high = Math.min(high, probe + difference)
      } else {
        high = probe
        low = Math.max(low, probe + difference)
      }
      probe = probes < GUESSES ? probe + Math.round(difference * density) : (low + high) >>> 1
    }
    return low
  }

  #insertAt(index: number, slot: number, entry: Entry): void {
    const chunk = this.#chunks[index] as Entry[]
    chunk.splice(slot, 0, entry)
    if (slot === 0) {
      this.#firsts[index] = entry.counter
    }
    if (chunk.length > CHUNK_MAX) {
      this.#insertChunk(index + 1, chunk.splice(CHUNK_MAX / 2))
    }
  }

  #insertChunk(index: number, chunk: Entry[]): void {
    this.#chunks.splice(index, 0, chunk)
    this.#firsts.splice(index, 0, (chunk[0] as Entry).counter)
  }

  /** A small chunk moves into its left or right neighbour when there is room; an empty one always goes. */
  #join(index: number): void {
    const chunk = this.#chunks[index] as Entry[]
    const left = this.#chunks[index - 1]
    const right = this.#chunks[index + 1]
    if (chunk.length === 0) {
      this.#deleteChunk(index)
    } else if (left !== undefined && left.length + chunk.length <= JOINED_MAX) {
      left.push(...chunk)
      this.#deleteChunk(index)
    } else if (right !== undefined && right.length + chunk.length <= JOINED_MAX) {
      chunk.push(...right)
      this.#firsts[index] = (chunk[0] as Entry).counter
      this.#deleteChunk(index + 1)
    } else {
      this.#firsts[index] = (chunk[0] as Entry).counter
    }
  }

  #deleteChunk(index: number): void {
    this.#chunks.splice(index, 1)
    this.#firsts.splice(index, 1)
  }
}
