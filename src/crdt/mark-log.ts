import type { Mark } from './delta-interval.ts'

const FIRST_CAPACITY = 16

/**
 * The marks of one record, ascending by event: every mark with an event in (floor, horizon], also of dots that were never
 * seen here. A ring of four columns, 18 bytes a mark; it grows to its limit and then forgets the oldest.
 *
 * INV-3: a forgotten mark raises the floor to its own event, so nobody is served from before it.
 */
export class MarkLog {
  readonly limit: number
  #floor = 0
  #size = 0
  #start = 0
  #events = new Float64Array(0)
  #counters = new Float64Array(0)
  #states = new Uint8Array(0)
  #reasons = new Uint8Array(0)

  /** @param limit the number of marks that are kept, 0 or more */
  constructor(limit: number) {
    this.limit = limit
  }

  /** Whole after this event. */
  get floor(): number {
    return this.#floor
  }

  get size(): number {
    return this.#size
  }

  /** `event` is above all events of the log. */
  push(event: number, counter: number, state: Mark['state'], reason: number): void {
    if (this.limit === 0) {
      this.#floor = event
      return
    }
    if (this.#size === this.limit) {
      this.#floor = this.#events[this.#start] as number
      this.#start = this.#slot(1)
      this.#size--
    } else if (this.#size === this.#events.length) {
      this.#grow()
    }
    const slot = this.#slot(this.#size)
    this.#events[slot] = event
    this.#counters[slot] = counter
    this.#states[slot] = state
    this.#reasons[slot] = reason
    this.#size++
  }

  /** Empty, and whole after `floor` only. Gives its memory back. */
  reset(floor: number): void {
    this.#floor = floor
    this.#size = 0
    this.#start = 0
    this.#resize(0)
  }

  /** The index of the oldest mark with an event above `event`; `size` when there is none. */
  indexAfter(event: number): number {
    let low = 0
    let high = this.#size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.eventAt(middle) > event) {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return low
  }

  eventAt(index: number): number {
    return this.#events[this.#slot(index)] as number
  }

  counterAt(index: number): number {
    return this.#counters[this.#slot(index)] as number
  }

  /** The marks with indexes in [start, end). */
  slice(start: number, end: number): Mark[] {
    const marks: Mark[] = []
    for (let index = start; index < end; index++) {
      const slot = this.#slot(index)
      marks.push({
        event: this.#events[slot] as number,
        counter: this.#counters[slot] as number,
        state: this.#states[slot] as Mark['state'],
        reason: this.#reasons[slot] as number
      })
    }
    return marks
  }

  #slot(index: number): number {
    const slot = this.#start + index
    return slot < this.#events.length ? slot : slot - this.#events.length
  }

  #grow(): void {
    this.#resize(Math.min(this.limit, Math.max(FIRST_CAPACITY, 2 * this.#events.length)))
  }

  /** Only called when the ring starts at 0: it wraps first when it is at its limit, and grows no more then. */
  #resize(capacity: number): void {
    const kept = this.#size
    this.#events = copy(new Float64Array(capacity), this.#events, kept)
    this.#counters = copy(new Float64Array(capacity), this.#counters, kept)
    this.#states = copy(new Uint8Array(capacity), this.#states, kept)
    this.#reasons = copy(new Uint8Array(capacity), this.#reasons, kept)
  }
}

function copy<T extends Float64Array | Uint8Array>(target: T, source: T, count: number): T {
  target.set(source.subarray(0, count))
  return target
}
