import type { Wire } from '../protocol/wire.ts'

/** What a client was sent and is to have: it is asked whether it lives, and its answer says that it has taken all that came before. */
export class Receipts {
  readonly #wire: Wire
  readonly #waiting = new Set<() => void>()

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** Resolves with whether the client is known to have all that it was sent until now; false after `timeoutMs`, or when it is over. */
  ask(timeoutMs: number): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (has: boolean): void => {
        clearTimeout(timer)
        this.#waiting.delete(gone)
        resolve(has)
      }
      const gone = (): void => settle(false)
      const timer = setTimeout(gone, timeoutMs)
      this.#waiting.add(gone)
      this.#wire.ping(() => settle(true))
    })
  }

  end(): void {
    for (const gone of [...this.#waiting]) {
      gone()
    }
  }
}
