/** Handshakes cost 7 ms of processor on each side, and thirty at once time each other out: so many may be in their first second. */
const FRESH_MAX = 2
/** A dial that takes longer waits for somebody who does not answer, and does not keep others from being dialled. */
const FRESH_MS = 1_000
/** A wake-up that is later says that this process does not get the processor it wants: then one dial at a time, and more patience. */
const LATE_MS = 50
const STRAINED_MS = 5_000
/** Dials at one time in all. */
const PARALLEL_MAX = 16

/** When the next dial may begin. All times are monotonic, in ms. */
export class DialPace {
  readonly #startedMs = new Map<object, number>()
  #strainedUntilMs = Number.NEGATIVE_INFINITY

  /** Dials in progress. */
  get size(): number {
    return this.#startedMs.size
  }

  began(dial: object, nowMs: number): void {
    this.#startedMs.set(dial, nowMs)
  }

  ended(dial: object): void {
    this.#startedMs.delete(dial)
  }

  /** A timer ran so much later than it should have. */
  ranLate(lateMs: number, nowMs: number): void {
    if (lateMs > LATE_MS) {
      this.#strainedUntilMs = nowMs + STRAINED_MS
    }
  }

  /** In the past when there is room now; Infinity when a dial has to end first. */
  roomAtMs(nowMs: number): number {
    if (this.#startedMs.size >= PARALLEL_MAX) {
      return Number.POSITIVE_INFINITY
    }
    const strained = nowMs < this.#strainedUntilMs
    const freshMs = strained ? STRAINED_MS : FRESH_MS
    const fresh = [...this.#startedMs.values()].map(startedMs => startedMs + freshMs).filter(endMs => endMs > nowMs)
    return fresh.length < (strained ? 1 : FRESH_MAX) ? Number.NEGATIVE_INFINITY : Math.min(...fresh)
  }
}
