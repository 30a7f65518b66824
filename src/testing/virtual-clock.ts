import type { Cancel } from '../tracker/environment.ts'

/** Something that waits in the clock. It stays its owner's: a cancelled one is skipped when its time has come. */
interface Waiting {
  readonly dueMs: number
  readonly order: number
  /** Undefined once cancelled: what it holds on to is freed at once. */
  task: (() => void) | undefined
}

/**
 * Virtual time: a heap of tasks, run one by one in the order of their time, and of scheduling where times are equal. Time stands
 * still while a task runs, and jumps from one to the next.
 */
export class VirtualClock {
  readonly #heap: Waiting[] = []
  #nowMs = 0
  #order = 0
  #live = 0

  /** Milliseconds since the clock was made. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** Tasks that wait and were not cancelled. */
  get waiting(): number {
    return this.#live
  }

  /** Runs `task` at `dueMs`, or now when that has passed; never before the caller returns. */
  at(dueMs: number, task: () => void): Cancel {
    const item: Waiting = { dueMs: Math.max(dueMs, this.#nowMs), order: this.#order++, task }
    this.#push(item)
    this.#live++
    return () => {
      if (item.task !== undefined) {
        item.task = undefined
        this.#live--
      }
    }
  }

  /** Runs `task` `delayMs` from now. */
  after(delayMs: number, task: () => void): Cancel {
    if (!(delayMs >= 0)) {
      throw new RangeError(`delayMs is ${delayMs}, allowed is a number from 0`)
    }
    return this.at(this.#nowMs + delayMs, task)
  }

  /** Runs the next task that is due at `untilMs` or before; false when there is none, and time is `untilMs` then. */
  step(untilMs: number): boolean {
    for (;;) {
      const next = this.#heap[0]
      if (next === undefined || next.dueMs > untilMs) {
        this.#nowMs = Math.max(this.#nowMs, untilMs)
        return false
      }
      this.#pop()
      if (next.task !== undefined) {
        const { task } = next
        next.task = undefined
        this.#live--
        this.#nowMs = next.dueMs
        task()
        return true
      }
    }
  }

  #push(item: Waiting): void {
    const heap = this.#heap
    let index = heap.length
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent] as Waiting
      if (!before(item, above)) {
        break
      }
      heap[index] = above
      index = parent
    }
    heap[index] = item
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop() as Waiting
    if (heap.length === 0) {
      return
    }
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      const right = heap[child + 1]
      if (right !== undefined && before(right, heap[child] as Waiting)) {
        child++
      }
      const below = heap[child]
      if (below === undefined || !before(below, last)) {
        break
      }
      heap[index] = below
      index = child
    }
    heap[index] = last
  }
}

const before = (a: Waiting, b: Waiting): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)
