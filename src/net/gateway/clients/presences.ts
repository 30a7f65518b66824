import type { Connection, Meta, Tracker } from '../../../tracker/types.ts'

/** What one socket shows: at most one presence per topic. */
export class Presences {
  readonly #tracker: Tracker
  readonly #connection: Connection
  readonly #keys = new Map<string, string>()

  constructor(tracker: Tracker, connection: Connection) {
    this.#tracker = tracker
    this.#connection = connection
  }

  has(topic: string): boolean {
    return this.#keys.has(topic)
  }

  /** Makes or updates the presence; under another key, the old one goes in the same diff. Returns its ref. @throws what `connection.track` throws */
  show(topic: string, key: string, meta: Meta): string {
    const before = this.#keys.get(topic)
    if (before === key) {
      return this.#connection.update(topic, meta, { key })
    }
    return this.#tracker.batch(() => {
      const ref = this.#connection.track(topic, meta, { key })
      if (before !== undefined) {
        this.#connection.untrack(topic, { key: before })
      }
      this.#keys.set(topic, key)
      return ref
    })
  }

  /** Idempotent. */
  hide(topic: string): void {
    const key = this.#keys.get(topic)
    if (key !== undefined) {
      this.#keys.delete(topic)
      this.#connection.untrack(topic, { key })
    }
  }
}
