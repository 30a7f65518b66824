import type { Cancel, Environment } from '../environment.ts'

interface Waiter {
  /** True when it is done with. */
  readonly check: () => boolean
  readonly timeOut: () => void
  cancel: Cancel
}

/** Things that wait for the state to get somewhere: looked at after each step, for a bounded time. */
export class Waiting {
  readonly #environment: Environment
  readonly #waiters = new Set<Waiter>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  get size(): number {
    return this.#waiters.size
  }

  /** Checks now and after each step; past `timeoutMs` calls `timedOut`. Returns a function that gives up waiting. */
  add(check: () => boolean, timeoutMs: number, timedOut: () => void): () => void {
    if (check()) {
      return () => {}
    }
    const timeOut = (): void => {
      if (this.#waiters.delete(waiter)) {
        timedOut()
      }
    }
    const waiter: Waiter = { check, timeOut, cancel: this.#environment.schedule(timeoutMs, timeOut) }
    this.#waiters.add(waiter)
    return () => {
      this.#waiters.delete(waiter)
      waiter.cancel()
    }
  }

  stepped(): void {
    for (const waiter of this.#waiters) {
      if (waiter.check()) {
        this.#waiters.delete(waiter)
        waiter.cancel()
      }
    }
  }

  /** Nobody waits any longer: the tracker stops. */
  endAll(): void {
    for (const waiter of [...this.#waiters]) {
      waiter.cancel()
      waiter.timeOut()
    }
  }
}
