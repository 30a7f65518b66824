import { SplitMap } from './split-map.ts'
import { TickHeap } from './tick-heap.ts'

const FIRST_CAPACITY = 256
/** Empty lists are swept out when there are so many, and more than half of all. */
const EMPTY_LISTS_MIN = 64
const NONE = 0xffffffff

/**
 * Millions of deadlines without timers: which keys are due, in the order of their deadlines, as many at a time as the
 * caller can afford. Within one millisecond, first scheduled is first out.
 *
 * All deadlines of a millisecond are one linked list, in typed arrays; a heap holds the milliseconds in use, not the
 * keys. Grace periods are mostly equal, so a new list is nearly always the last one, and everything is O(1): about
 * 16 bytes per key, and an entry in a Map to cancel by. In the worst case, each key in a millisecond of its own and
 * in no order, it is a heap: O(log n).
 *
 * INV-62: nothing is due early. Deadlines are rounded up to whole milliseconds past the base.
 */
export class DeadlineQueue {
  readonly #nodeOf = new SplitMap<number, number>(key => key)
  /** The list of each tick, as its head node: a ring through that node, so that a key leaves in O(1). */
  readonly #lists = new Map<number, number>()
  readonly #ticks = new TickHeap()
  #keys = new Float64Array(FIRST_CAPACITY)
  #next = new Uint32Array(FIRST_CAPACITY)
  #previous = new Uint32Array(FIRST_CAPACITY)
  #used = 0
  #free = NONE
  #size = 0
  #emptyLists = 0
  #baseMs = 0

  /** Keys that have a deadline. */
  get size(): number {
    return this.#size
  }

  /** What its memory grows with: nodes allocated, for keys and for the milliseconds in use. */
  get capacity(): number {
    return this.#keys.length
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
    if (!Number.isSafeInteger(key) || key < 0) {
      throw new RangeError(`key is ${key}, allowed is an integer from 0 to ${Number.MAX_SAFE_INTEGER}`)
    }
    if (!Number.isFinite(deadlineMs)) {
      throw new RangeError(`deadlineMs is ${deadlineMs}, allowed is a finite number`)
    }
    this.cancel(key)
    const head = this.#listAt(Math.ceil(deadlineMs - this.#baseMs))
    const node = this.#takeNode()
    this.#keys[node] = key
    if (this.#next[head] === head) {
      this.#emptyLists--
    }
    this.#linkBefore(head, node)
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
    for (let count = 0; this.nextDeadlineMs() <= nowMs; count++) {
      if (count >= maxItems) {
        return false
      }
      const head = this.#lists.get(this.#ticks.first)!
      const node = this.#next[head]!
      const key = this.#keys[node]!
      this.#remove(key, node)
      due(key)
    }
    return true
  }

  /** This process stood still: every deadline moves later by `byMs` (0 or more). O(1). */
  extendAll(byMs: number): void {
    if (!(byMs >= 0 && byMs < Infinity)) {
      throw new RangeError(`byMs is ${byMs}, allowed is a finite number from 0`)
    }
    this.#baseMs += Math.ceil(byMs)
  }

  /** When the next key is due, Infinity when there is none. */
  nextDeadlineMs(): number {
    while (this.#emptyLists > 0 && this.#ticks.size > 0 && this.#isEmpty(this.#ticks.first)) {
      this.#dropList(this.#ticks.first)
      this.#ticks.pop()
    }
    return this.#baseMs + this.#ticks.first
  }

  #listAt(tick: number): number {
    let head = this.#lists.get(tick)
    if (head === undefined) {
      head = this.#takeNode()
      this.#next[head] = head
      this.#previous[head] = head
      this.#lists.set(tick, head)
      this.#ticks.push(tick)
      this.#emptyLists++
    }
    return head
  }

  #linkBefore(head: number, node: number): void {
    const last = this.#previous[head]!
    this.#next[last] = node
    this.#previous[node] = last
    this.#next[node] = head
    this.#previous[head] = node
  }

  #remove(key: number, node: number): void {
    const next = this.#next[node]!
    const previous = this.#previous[node]!
    this.#next[previous] = next
    this.#previous[next] = previous
    // Both neighbours are the head: that was the list's last key. The list stays until it is first, or swept out.
    if (next === previous) {
      this.#emptyLists++
    }
    this.#nodeOf.delete(key)
    this.#freeNode(node)
    this.#size--
  }

  #isEmpty(tick: number): boolean {
    const head = this.#lists.get(tick)!
    return this.#next[head] === head
  }

  #dropList(tick: number): void {
    this.#freeNode(this.#lists.get(tick)!)
    this.#lists.delete(tick)
    this.#emptyLists--
  }

  #dropEmptyLists(): void {
    this.#ticks.filter(tick => {
      const empty = this.#isEmpty(tick)
      if (empty) {
        this.#dropList(tick)
      }
      return !empty
    })
  }

  #takeNode(): number {
    const node = this.#free
    if (node !== NONE) {
      this.#free = this.#next[node]!
      return node
    }
    if (this.#used === this.#keys.length) {
      this.#grow()
    }
    return this.#used++
  }

  #freeNode(node: number): void {
    this.#next[node] = this.#free
    this.#free = node
  }

  #grow(): void {
    const [keys, next, previous] = [this.#keys, this.#next, this.#previous]
    this.#keys = new Float64Array(2 * keys.length)
    this.#keys.set(keys)
    this.#next = new Uint32Array(2 * next.length)
    this.#next.set(next)
    this.#previous = new Uint32Array(2 * previous.length)
    this.#previous.set(previous)
  }
}
