import { checkDuration, checkFinite, checkInteger } from './checks.ts'
import { Rings } from './rings.ts'
import { SplitMap } from './split-map.ts'
import { TickHeap } from './tick-heap.ts'

/** Empty lists are swept out when there are so many, and more than half of all. */
const EMPTY_LISTS_MIN = 64
const NO_KEY = -1

/**
 * Millions of deadlines without timers: which keys are due, in the order of their deadlines, as many at a time as the
 * caller can afford. Within one millisecond, first scheduled is first out.
 *
 * All keys of a millisecond are one linked list; a heap holds the milliseconds in use, not the keys. Grace periods are
 * mostly equal, so a new list is nearly always the last one, and everything is O(1): 16 bytes per key, and an entry
 * in a Map to cancel by. In the worst case, each key in a millisecond of its own and in no order, it is a heap: O(log n).
 *
 * INV-62: nothing is due early. Deadlines are rounded up to whole milliseconds past the base.
 */
export class DeadlineQueue {
  readonly #nodeOf = new SplitMap<number, number>(key => key)
  /** The list of each tick: a ring through a head node. */
  readonly #lists = new Map<number, number>()
  readonly #rings = new Rings()
  readonly #ticks = new TickHeap()
  #size = 0
  #emptyLists = 0
  #baseMs = 0

  /** Keys that have a deadline. */
  get size(): number {
    return this.#size
  }

  /** What its memory grows with: nodes there is room for, one for each key and each millisecond in use. */
  get capacity(): number {
    return this.#rings.capacity
  }

  has(key: number): boolean {
    return this.#nodeOf.get(key) !== undefined
  }

  /**
   * `key` (0 or a positive safe integer) is due at `deadlineMs`, instead of when it was due before.
   *
   * @throws RangeError for another key, or a deadline that is no finite number.
   */
  schedule(key: number, deadlineMs: number): void {
    checkInteger('key', key, 0, Number.MAX_SAFE_INTEGER)
    checkFinite('deadlineMs', deadlineMs)
    this.cancel(key)
    const head = this.#listAt(Math.ceil(deadlineMs - this.#baseMs))
    const node = this.#rings.create(key)
    this.#emptyLists -= this.#rings.isAlone(head) ? 1 : 0
    this.#rings.insertBefore(head, node)
    this.#nodeOf.set(key, node)
    this.#size++
  }

  /** False when `key` has no deadline. */
  cancel(key: number): boolean {
    const node = this.#nodeOf.get(key)
    if (node === undefined) {
      return false
    }
    this.#remove(key, node)
    if (this.#emptyLists >= EMPTY_LISTS_MIN && 2 * this.#emptyLists > this.#ticks.size) {
      this.#dropEmptyLists()
    }
    return true
  }

  /**
   * Takes out what is due at `nowMs`, at most `maxItems` keys, and hands each to `due`. That may schedule and cancel
   * anything; a key that it schedules for now or earlier is due in the same call.
   *
   * @returns true when nothing due is left.
   */
  drain(nowMs: number, maxItems: number, due: (key: number) => void): boolean {
    for (let count = 0; this.#size > 0 && this.nextDeadlineMs() <= nowMs; count++) {
      if (count >= maxItems) {
        return false
      }
      const head = this.#lists.get(this.#ticks.first)!
      const node = this.#rings.next(head)
      const key = this.#rings.key(node)
      this.#remove(key, node)
      due(key)
    }
    return true
  }

  /** This process stood still: every deadline moves later by `byMs` (0 or more). O(1). */
  extendAll(byMs: number): void {
    checkDuration('byMs', byMs)
    this.#baseMs += Math.ceil(byMs)
  }

  /** When the next key is due, Infinity when there is none. */
  nextDeadlineMs(): number {
    while (this.#emptyLists > 0 && this.#dropIfEmpty(this.#ticks.first)) {
      this.#ticks.pop()
    }
    return this.#baseMs + this.#ticks.first
  }

  #listAt(tick: number): number {
    let head = this.#lists.get(tick)
    if (head === undefined) {
      head = this.#rings.create(NO_KEY)
      this.#lists.set(tick, head)
      this.#ticks.push(tick)
      this.#emptyLists++
    }
    return head
  }

  #remove(key: number, node: number): void {
    const next = this.#rings.next(node)
    this.#rings.remove(node)
    // Only the head is left. The list stays until it is the first one, or until it is swept out with others.
    this.#emptyLists += this.#rings.isAlone(next) ? 1 : 0
    this.#nodeOf.delete(key)
    this.#size--
  }

  #dropEmptyLists(): void {
    this.#ticks.filter(tick => !this.#dropIfEmpty(tick))
  }

  /** Leaves the tick in the heap. */
  #dropIfEmpty(tick: number): boolean {
    const head = this.#lists.get(tick)!
    if (!this.#rings.isAlone(head)) {
      return false
    }
    this.#rings.remove(head)
    this.#lists.delete(tick)
    this.#emptyLists--
    return true
  }
}
