import type { ResolvedGatewayOptions } from '../options.ts'

/** Deliveries are averaged over about so long. */
const AVERAGE_MS = 5_000
/** Of `abovePresences` and of `aboveFanOut`: below both, a topic comes back. */
const PRESENCES_BACK = 0.8
const FAN_OUT_BACK = 0.5

/** Decides when a topic is told of by intervals, with hysteresis: by its size, and by what telling everybody everything would cost. */
export class IntervalMode {
  readonly #options: ResolvedGatewayOptions['interval']
  #deliveriesPerSecond = 0
  #measuredMs: number
  #calmSinceMs: number | null = null
  on = false

  constructor(options: ResolvedGatewayOptions['interval'], nowMs: number) {
    this.#options = options
    this.#measuredMs = nowMs
  }

  /** So many changes would have been told to each of so many watchers. */
  note(changes: number, watchers: number, nowMs: number): void {
    this.#decay(nowMs)
    this.#deliveriesPerSecond += (changes * watchers * 1_000) / AVERAGE_MS
  }

  /** Returns whether the mode has changed. */
  judge(presences: number, nowMs: number): boolean {
    this.#decay(nowMs)
    const { abovePresences, aboveFanOut, holdMs } = this.#options
    if (!this.on) {
      this.on = presences > abovePresences || this.#deliveriesPerSecond > aboveFanOut
      return this.on
    }
    const isCalm = presences < abovePresences * PRESENCES_BACK && this.#deliveriesPerSecond < aboveFanOut * FAN_OUT_BACK
    if (!isCalm) {
      this.#calmSinceMs = null
      return false
    }
    this.#calmSinceMs ??= nowMs
    if (nowMs - this.#calmSinceMs < holdMs) {
      return false
    }
    this.#calmSinceMs = null
    this.on = false
    return true
  }

  #decay(nowMs: number): void {
    this.#deliveriesPerSecond *= Math.exp((this.#measuredMs - nowMs) / AVERAGE_MS)
    this.#measuredMs = nowMs
  }
}
