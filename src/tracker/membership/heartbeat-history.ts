import { checkInteger, checkPositive } from '../checks.ts'

export interface HeartbeatHistoryOptions {
  /** How many intervals are kept; the oldest makes room. Two at least. */
  readonly windowSize: number
  /** The interval to expect before any was seen. More than 0. */
  readonly firstEstimateMs: number
}

const MAX_WINDOW = 2 ** 20
/** Longer intervals are no interval of any heartbeat: they count as this, so that no sum loses its small parts. */
const MAX_INTERVAL_MS = 2 ** 31

/**
 * The last intervals between a peer's heartbeats, and their mean and deviation. It begins with two that are made up,
 * a quarter below and a quarter above the first estimate: so there is a distribution before there is a past, and
 * those two leave when the window is full.
 */
export class HeartbeatHistory {
  readonly #intervals: Float64Array
  /** Sums are kept of the differences from it: small numbers, whose squares lose nothing. */
  readonly #originMs: number
  #size = 0
  #oldest = 0
  #sum = 0
  #sumOfSquares = 0

  constructor(options: HeartbeatHistoryOptions) {
    const { windowSize, firstEstimateMs } = options
    checkInteger('windowSize', windowSize, 2, MAX_WINDOW)
    checkPositive('firstEstimateMs', firstEstimateMs, MAX_INTERVAL_MS)
    this.#intervals = new Float64Array(windowSize)
    this.#originMs = firstEstimateMs
    this.record(firstEstimateMs - firstEstimateMs / 4)
    this.record(firstEstimateMs + firstEstimateMs / 4)
  }

  /** Intervals in the window, made-up ones included: 2 … windowSize. */
  get size(): number {
    return this.#size
  }

  get meanMs(): number {
    return this.#originMs + this.#sum / this.#size
  }

  /** Of the intervals in the window (the population's: divided by their number). Never negative, never NaN. */
  get deviationMs(): number {
    const mean = this.#sum / this.#size
    return Math.sqrt(Math.max(0, this.#sumOfSquares / this.#size - mean * mean))
  }

  /** Negative ones, and what is no number, are not taken. O(1). */
  record(intervalMs: number): void {
    if (!(intervalMs >= 0)) {
      return
    }
    const difference = Math.min(intervalMs, MAX_INTERVAL_MS) - this.#originMs
    if (this.#size < this.#intervals.length) {
      this.#intervals[this.#size++] = difference
      this.#add(difference, 1)
      return
    }
    this.#add(this.#intervals[this.#oldest]!, -1)
    this.#intervals[this.#oldest] = difference
    this.#add(difference, 1)
    this.#oldest++
    if (this.#oldest === this.#intervals.length) {
      this.#oldest = 0
      this.#sumAgain()
    }
  }

  #add(difference: number, times: 1 | -1): void {
    this.#sum += times * difference
    this.#sumOfSquares += times * difference * difference
  }

  /** Once per window: what rounding has added up to is forgotten. */
  #sumAgain(): void {
    this.#sum = 0
    this.#sumOfSquares = 0
    for (const difference of this.#intervals) {
      this.#add(difference, 1)
    }
  }
}
