import type { Environment } from '../environment.ts'

/** At most so many users are remembered; the one who was seen longest ago goes first. */
const MAX_USERS = 1_000_000
const PRUNED_PER_TICK = 10_000

interface Seen {
  /** Told to people. */
  readonly wallMs: number
  /** Decides how long it is kept. */
  readonly monotonicMs: number
}

/** When users were last seen here, by the wall clock, for a set time after they went. For people to read: it decides nothing. */
export class LastSeen {
  readonly #keepMs: number
  readonly #clock: Pick<Environment, 'monotonicMs' | 'wallClockMs'>
  /** In the order in which they went. */
  readonly #seen = new Map<string, Seen>()

  constructor(keepMs: number, clock: Pick<Environment, 'monotonicMs' | 'wallClockMs'>) {
    this.#keepMs = keepMs
    this.#clock = clock
  }

  get size(): number {
    return this.#seen.size
  }

  /** `live`: he has a connection that is not in its grace. */
  note(user: string, live: boolean): void {
    if (live || this.#keepMs === 0) {
      this.#seen.delete(user)
    } else if (!this.#seen.has(user)) {
      this.#seen.set(user, { wallMs: this.#clock.wallClockMs(), monotonicMs: this.#clock.monotonicMs() })
      if (this.#seen.size > MAX_USERS) {
        this.#seen.delete(this.#seen.keys().next().value as string)
      }
    }
  }

  /** Null when he was never seen, or too long ago. Never in the future, though the clock ran back. */
  get(user: string): number | null {
    const seen = this.#seen.get(user)
    return seen === undefined || this.#isOver(seen) ? null : Math.min(seen.wallMs, this.#clock.wallClockMs())
  }

  tick(): void {
    let looked = 0
    for (const [user, seen] of this.#seen) {
      if (!this.#isOver(seen) || ++looked > PRUNED_PER_TICK) {
        return
      }
      this.#seen.delete(user)
    }
  }

  #isOver(seen: Seen): boolean {
    return this.#clock.monotonicMs() - seen.monotonicMs > this.#keepMs
  }
}
