/**
 * An async iterator that is asked, not fed: an event is built when the consumer comes for it. One who comes late gets the newest, never a queue.
 */
export class PullIterator<T> implements AsyncIterableIterator<T> {
  readonly #take: () => T | undefined
  readonly #onEnd: () => void
  #waiting: { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void }[] = []
  #ended = false
  #error: { readonly cause: unknown } | null = null

  /** `take` gives the next event, or undefined when there is none yet. `onEnd` is called once, however it ends. */
  constructor(take: () => T | undefined, onEnd: () => void) {
    this.#take = take
    this.#onEnd = onEnd
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The consumer waits for an event. */
  get waiting(): boolean {
    return this.#waiting.length > 0
  }

  get ended(): boolean {
    return this.#ended
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#waiting.length === 0 && !this.#ended) {
      const value = this.#take()
      if (value !== undefined) {
        return Promise.resolve({ value, done: false })
      }
    }
    if (this.#ended) {
      const error = this.#error
      this.#error = null
      return error === null ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(error.cause)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
    })
  }

  return(): Promise<IteratorResult<T>> {
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  /** There may be an event now. */
  wake(): void {
    while (this.#waiting.length > 0 && !this.#ended) {
      const value = this.#take()
      if (value === undefined) {
        return
      }
      this.deliver(value)
    }
  }

  /** Hands an event to a consumer who waits. */
  deliver(value: T): void {
    this.#waiting.shift()?.resolve({ value, done: false })
  }

  /** Ends at once, or with an error that the next call of `next` rejects with. */
  end(error?: unknown): void {
    if (this.#ended) {
      return
    }
    this.#ended = true
    const waiting = this.#waiting
    this.#waiting = []
    if (error !== undefined && waiting.length === 0) {
      this.#error = { cause: error }
    }
    waiting.forEach(({ resolve, reject }, i) => {
      if (error !== undefined && i === 0) {
        reject(error)
      } else {
        resolve({ value: undefined, done: true })
      }
    })
    this.#onEnd()
  }
}

/** Ends the iterator without an error when the signal aborts. */
export function endOnAbort(iterator: { end(): void }, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) {
    return () => {}
  }
  const end = (): void => iterator.end()
  if (signal.aborted) {
    end()
  } else {
    signal.addEventListener('abort', end, { once: true })
  }
  return () => signal.removeEventListener('abort', end)
}
