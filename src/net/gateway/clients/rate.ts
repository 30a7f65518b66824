/** A token bucket: so many at once, so many per second. */
export class Rate {
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #filledMs: number

  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perMs = perSecond / 1_000
    this.#burst = burst
    this.#tokens = burst
    this.#filledMs = nowMs
  }

  /** Takes one, though there be none: what was received is dealt with. Returns how long to wait for the next, in ms; 0 when there is one. */
  take(nowMs: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledMs) * this.#perMs)
    this.#filledMs = nowMs
    this.#tokens -= 1
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) / this.#perMs)
  }
}
