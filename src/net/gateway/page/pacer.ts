import { setTimeout as sleep } from 'node:timers/promises'
import { PushError } from '../protocol/push-error.ts'

/** After a search the process is left alone for so many times as long as it took. */
const REST = 4
const MAX_WAITING = 50

/** Searches through all topics or users take long in a large cluster. They have a fifth of the process's time at most, whoever asks how often. */
export class Pacer {
  #freeAtMs = Number.NEGATIVE_INFINITY
  #waiting = 0

  /** Rejects when too many wait already, and with what `search` throws. */
  async run<T>(search: () => T): Promise<T> {
    if (this.#waiting >= MAX_WAITING) {
      throw new PushError('too many searches at once; try again')
    }
    this.#waiting++
    try {
      for (let waitMs = this.#waitMs(); waitMs > 0; waitMs = this.#waitMs()) {
        await sleep(waitMs, undefined, { ref: false })
      }
      const startMs = performance.now()
      const found = search()
      const endMs = performance.now()
      this.#freeAtMs = endMs + REST * (endMs - startMs)
      return found
    } finally {
      this.#waiting--
    }
  }

  #waitMs(): number {
    return this.#freeAtMs - performance.now()
  }
}
