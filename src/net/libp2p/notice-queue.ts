/**
 * Notices to a listener, in order, and never from within the call that caused them: a stream that is aborted says so at once, also in
 * the middle of our own `send`.
 */
export class NoticeQueue {
  readonly #onError: (error: unknown) => void
  #notices: (() => void)[] = []
  #planned = false

  /** @param onError What a notice threw; the next ones are given all the same. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  push(notice: () => void): void {
    this.#notices.push(notice)
    if (!this.#planned) {
      this.#planned = true
      queueMicrotask(() => {
        this.#planned = false
        this.flush()
      })
    }
  }

  /** Gives what waits, now. */
  flush(): void {
    while (this.#notices.length > 0) {
      const notices = this.#notices
      this.#notices = []
      for (const notice of notices) {
        this.#call(notice)
      }
    }
  }

  /** Gives one notice now, after those that wait. */
  give(notice: () => void): void {
    this.flush()
    this.#call(notice)
  }

  clear(): void {
    this.#notices = []
  }

  #call(notice: () => void): void {
    try {
      notice()
    } catch (error) {
      this.#onError(error)
    }
  }
}
