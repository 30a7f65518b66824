export interface PacedReaderInit<T> {
  /** Asked, not fed: what happened since it was last asked comes as one event. */
  readonly source: AsyncIterator<T>
  /** How long nothing is asked for after an event, in ms. */
  readonly windowMs: () => number
  readonly take: (event: T) => void
  /** Nothing has happened that was not taken: time for what `soon` asked for. */
  readonly settled: () => void
  /** The source has ended; `error` is undefined when it ended by itself. */
  readonly ended: (error: unknown) => void
}

/**
 * Reads a watch no faster than one event per window: the first event after a pause at once, all others of the window as one, net.
 */
export class PacedReader<T> {
  readonly #init: PacedReaderInit<T>
  #asking = false
  #wanted = false
  #hasBegun = false
  #closed = false
  #endWindow: (() => void) | null = null

  constructor(init: PacedReaderInit<T>) {
    this.#init = init
    void this.#run()
  }

  /** Calls `settled` as soon as no event is due, unless one comes: after this turn of the event loop, or when the window ends. Never before the first event. */
  soon(): void {
    if (this.#wanted) {
      return
    }
    this.#wanted = true
    if (this.#asking) {
      setImmediate(() => this.#settle())
    }
  }

  close(): void {
    if (!this.#closed) {
      this.#closed = true
      this.#endWindow?.()
      void this.#init.source.return?.()
    }
  }

  async #run(): Promise<void> {
    const { source, take, ended } = this.#init
    let failure: unknown
    try {
      while (!this.#closed) {
        const { value, done } = await this.#ask(source)
        if (done === true || this.#closed) {
          break
        }
        this.#wanted = false
        this.#hasBegun = true
        take(value as T)
        await this.#window()
      }
    } catch (error) {
      failure = error
    }
    if (!this.#closed) {
      this.close()
      ended(failure)
    }
  }

  async #ask(source: AsyncIterator<T>): Promise<IteratorResult<T>> {
    const next = source.next()
    this.#asking = true
    if (this.#wanted) {
      setImmediate(() => this.#settle())
    }
    try {
      return await next
    } finally {
      this.#asking = false
    }
  }

  #settle(): void {
    if (this.#wanted && this.#asking && this.#hasBegun && !this.#closed) {
      this.#wanted = false
      this.#init.settled()
    }
  }

  #window(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, this.#init.windowMs())
      this.#endWindow = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
