import type { Frame } from '../protocol/wire.ts'
import type { Watcher } from './watcher.ts'

/** Told of a topic, each at its own point: level, in need of the whole state, or too slow. */
export class Audience {
  readonly #level = new Set<Watcher>()
  readonly #due = new Set<Watcher>()
  readonly #behind = new Set<Watcher>()
  readonly #onDue: () => void

  /** `onDue`: somebody is to be given the whole state, soon. */
  constructor(onDue: () => void) {
    this.#onDue = onDue
  }

  get size(): number {
    return this.#level.size + this.#due.size + this.#behind.size
  }

  get waiting(): boolean {
    return this.#due.size > 0
  }

  /** A newcomer: he is given the whole state next. */
  enter(watcher: Watcher): void {
    this.#behind.delete(watcher)
    this.#level.delete(watcher)
    this.#due.add(watcher)
    this.#onDue()
  }

  /** One who has read. True when he has missed something: he is given the whole state next. */
  resume(watcher: Watcher): boolean {
    const hasMissed = this.#behind.delete(watcher)
    if (hasMissed) {
      this.#due.add(watcher)
      this.#onDue()
    }
    return hasMissed
  }

  leave(watcher: Watcher): void {
    this.#level.delete(watcher)
    this.#due.delete(watcher)
    this.#behind.delete(watcher)
  }

  /** To all who are level. INV-94: one who does not take it is given the whole state later, and nothing is kept for him until then. */
  tell(frame: Frame): number {
    let told = 0
    for (const watcher of this.#level) {
      if (watcher.takes) {
        watcher.send(frame)
        told++
      } else {
        this.#level.delete(watcher)
        this.#behind.add(watcher)
      }
    }
    return told
  }

  /** All who are due become level: `give` sends them the whole state. */
  admit(give: (watcher: Watcher) => void): void {
    for (const watcher of this.#due) {
      this.#due.delete(watcher)
      if (watcher.takes) {
        this.#level.add(watcher)
        give(watcher)
      } else {
        this.#behind.add(watcher)
      }
    }
  }

  /** The whole state is due to all who were level. */
  recall(): void {
    for (const watcher of this.#level) {
      this.#due.add(watcher)
    }
    this.#level.clear()
  }
}
