const BLOCK_SHIFT = 12

/** Slots per block: a block of deadlines is scanned in a few microseconds, and a million slots have 245 blocks. */
export const BLOCK_SLOTS = 1 << BLOCK_SHIFT
/** The bound of a block in which nothing is due, ever. */
export const NEVER = 0xffffffff

/**
 * For each block of slots a lower bound of its earliest deadline, in ticks. It may lie: earlier than the truth, never
 * later. So who adds a deadline lowers the bound, who moves one later or ends it does nothing, and a scan of the
 * block makes it exact again.
 */
export class BlockBounds {
  #ticks: Uint32Array
  #last = 0

  constructor(slots: number) {
    this.#ticks = new Uint32Array(blocksOf(slots)).fill(NEVER)
  }

  grow(slots: number): void {
    const before = this.#ticks
    this.#ticks = new Uint32Array(blocksOf(slots)).fill(NEVER, before.length)
    this.#ticks.set(before)
  }

  lower(slot: number, tick: number): void {
    if (tick < this.#ticks[slot >>> BLOCK_SHIFT]!) {
      this.#ticks[slot >>> BLOCK_SHIFT] = tick
    }
  }

  set(block: number, tick: number): void {
    this.#ticks[block] = tick
  }

  map(moved: (tick: number) => number): void {
    this.#ticks = this.#ticks.map(moved)
  }

  /** The smallest bound, NEVER when there is none. */
  first(): number {
    let first = NEVER
    for (const tick of this.#ticks) {
      first = Math.min(first, tick)
    }
    return first
  }

  /** The next block whose bound is at most `limit`, or −1. Round robin, so that none starves. */
  nextDue(limit: number): number {
    const blocks = this.#ticks.length
    for (let step = 0; step < blocks; step++) {
      this.#last = this.#last + 1 < blocks ? this.#last + 1 : 0
      if (this.#ticks[this.#last]! <= limit) {
        return this.#last
      }
    }
    return -1
  }
}

export function blockOf(slot: number): number {
  return slot >>> BLOCK_SHIFT
}

function blocksOf(slots: number): number {
  return Math.ceil(slots / BLOCK_SLOTS)
}
