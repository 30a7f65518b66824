import type { Cancel, Environment } from './environment.ts'

/** How often deadlines and peers are looked at, in ms. */
export const PULSE_MS = 250

/** A pulse that is later than this was not jitter of the timer: the process stood still. */
const LATE_MS = 250

export interface PulseTarget {
  /** Everything that waits is to wait `byMs` longer. */
  paused(byMs: number): void
  tick(nowMs: number): void
}

/**
 * The one timer that judges. When it is late the process itself was stopped (garbage collection, SIGSTOP, a laptop's sleep) and what peers and
 * clients sent meanwhile lies unread: the pause is taken off everything that waits, and nothing is judged before the next pulse. Waking up must not
 * empty the room. [Lifeguard, DSN 2018, §IV.A: local health]
 */
export class Pulse {
  readonly #environment: Environment
  readonly #target: PulseTarget
  #expectedMs = 0
  #cancel: Cancel | undefined
  #pauses = 0
  #lagMs = 0

  constructor(environment: Environment, target: PulseTarget) {
    this.#environment = environment
    this.#target = target
  }

  get pauses(): number {
    return this.#pauses
  }

  /** How late the last pulse was, in ms. */
  get lagMs(): number {
    return this.#lagMs
  }

  start(): void {
    this.#expectedMs = this.#environment.monotonicMs() + PULSE_MS
    this.#cancel = this.#environment.schedule(PULSE_MS, this.#beat)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #beat = (): void => {
    const nowMs = this.#environment.monotonicMs()
    this.#lagMs = Math.max(0, nowMs - this.#expectedMs)
    if (this.#lagMs > LATE_MS) {
      this.#pauses++
      this.#target.paused(this.#lagMs)
    } else {
      this.#target.tick(nowMs)
    }
    if (this.#cancel !== undefined) {
      this.#expectedMs = this.#environment.monotonicMs() + PULSE_MS
      this.#cancel = this.#environment.schedule(PULSE_MS, this.#beat)
    }
  }
}
