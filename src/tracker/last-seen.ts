/** At most so many users are remembered; the one who was seen longest ago goes first. */
const MAX_USERS = 1_000_000
const PRUNED_PER_TICK = 10_000

/** When users were last seen here, by the wall clock, for a set time after they went. For people to read: it decides nothing. */
export class LastSeen {
  readonly #keepMs: number
  readonly #wallClockMs: () => number
  /** In the order in which they went. */
  readonly #seen = new Map<string, number>()

  constructor(keepMs: number, wallClockMs: () => number) {
    this.#keepMs = keepMs
    this.#wallClockMs = wallClockMs
  }

  get size(): number {
    return this.#seen.size
  }

  /** `live`: he has a connection that is not in its grace. */
  note(user: string, live: boolean): void {
    if (live || this.#keepMs === 0) {
      this.#seen.delete(user)
    } else if (!this.#seen.has(user)) {
      this.#seen.set(user, this.#wallClockMs())
      if (this.#seen.size > MAX_USERS) {
        this.#seen.delete(this.#seen.keys().next().value as string)
      }
    }
  }

  /** Null when he was never seen, or too long ago. Never in the future, though the clock ran back. */
  get(user: string): number | null {
    const seen = this.#seen.get(user)
    const now = this.#wallClockMs()
    return seen === undefined || now - seen > this.#keepMs ? null : Math.min(seen, now)
  }

  tick(): void {
    const oldest = this.#wallClockMs() - this.#keepMs
    let looked = 0
    for (const [user, seen] of this.#seen) {
      if (seen >= oldest || ++looked > PRUNED_PER_TICK) {
        return
      }
      this.#seen.delete(user)
    }
  }
}
