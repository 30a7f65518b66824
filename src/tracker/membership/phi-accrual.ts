import { checkDuration, checkPositive } from '../checks.ts'
import { HeartbeatHistory } from './heartbeat-history.ts'
import { logNormalTail } from './normal-tail.ts'

/** The φ accrual failure detector's knobs. Reasons for the defaults: detector-defaults.ts. */
export interface PhiOptions {
  /**
   * φ(t) is computed with mean + acceptablePauseMs. Higher: stalls of the peer and lost heartbeats are forgiven, and
   * every detection takes just so much longer.
   */
  readonly acceptablePauseMs: number
  /**
   * The deviation is max(that of the window, minDeviationMs). Higher: φ climbs more slowly, so thresholds lie further
   * apart in time (one deviation is about φ 0.8 at first, then ever more), and very regular heartbeats make nobody
   * suspect for a small delay. More than 0.
   */
  readonly minDeviationMs: number
  /**
   * Mean and deviation are those of the last `windowSize` intervals. Higher: steadier estimates, that take longer to
   * follow a change of the network. Costs 8 bytes each, per peer.
   */
  readonly windowSize: number
  /** The interval that is expected of a peer before any was seen: the heartbeat interval of the cluster. */
  readonly firstEstimateMs: number
}

/** φ is never higher: past every threshold, and still a number that can be sent and printed. */
export const MAX_PHI = 1e9

/** Silences that differ by less than this share of a deviation have one φ. */
const STEPS_PER_DEVIATION = 2 ** 20
/** An interval more than so many deviations past an acceptable pause was an outage. */
const OUTAGE_DEVIATIONS = 3
/** Heartbeats closer together than this share of the mean were held up and let go together. */
const BURST_SHARE = 1 / 8

/**
 * How sure one can be that a peer that was silent for so long has failed: −log10(1 − F(silence)), F the normal
 * distribution of its intervals. φ = 1: one in ten such silences is a false alarm; φ = 3: one in a thousand.
 * Hayashibara, Défago, Yared, Katayama, *The φ Accrual Failure Detector*, SRDS 2004: φ(t_now) = −log10 P_later(t_now − T_last).
 *
 * INV-65: for every input it is finite, from 0 to MAX_PHI, and never falls as the silence grows. The silence is taken
 * in steps of 2^−20 deviations, each of which changes φ by far more than rounding does. A deviation of 0 or less is
 * the limit: 0 before the mean, MAX_PHI after it. What is no number counts as no suspicion.
 */
export function phi(silenceMs: number, meanMs: number, deviationMs: number): number {
  const deviations = (silenceMs - meanMs) / Math.min(Math.max(deviationMs, Number.MIN_VALUE), Number.MAX_VALUE)
  const z = Math.floor(deviations * STEPS_PER_DEVIATION) / STEPS_PER_DEVIATION
  return Number.isNaN(z) ? 0 : Math.min(MAX_PHI, Math.max(0, -logNormalTail(z) / Math.LN10))
}

/**
 * The shortest silence with φ ≥ threshold, in ms: 0 when none is needed, Infinity above MAX_PHI. `meanMs` includes the
 * acceptable pause, as for `phi`. By bisection, in about 0.1 ms.
 */
export function silenceForPhi(threshold: number, meanMs: number, deviationMs: number): number {
  const reached = (silenceMs: number): boolean => phi(silenceMs, meanMs, deviationMs) >= threshold
  if (reached(0)) {
    return 0
  }
  let above = 1
  while (!reached(above)) {
    above *= 2
    if (above === Infinity) {
      return Infinity
    }
  }
  let below = above === 1 ? 0 : above / 2
  for (let middle = (below + above) / 2; middle > below && middle < above; middle = (below + above) / 2) {
    if (reached(middle)) {
      above = middle
    } else {
      below = middle
    }
  }
  return above
}

/** Judges one peer by the times at which it was heard. No clock: all times come in, in monotonic milliseconds. */
export class PhiAccrualDetector {
  readonly #history: HeartbeatHistory
  readonly #acceptablePauseMs: number
  readonly #minDeviationMs: number
  #lastHeartbeatMs: number | undefined
  #lastSignMs = -Infinity

  constructor(options: PhiOptions) {
    checkDuration('acceptablePauseMs', options.acceptablePauseMs)
    checkPositive('minDeviationMs', options.minDeviationMs, Number.MAX_VALUE)
    this.#history = new HeartbeatHistory(options)
    this.#acceptablePauseMs = options.acceptablePauseMs
    this.#minDeviationMs = options.minDeviationMs
  }

  /** When the last heartbeat came, moved by `extend`; undefined before the first. */
  get lastHeartbeatMs(): number | undefined {
    return this.#lastHeartbeatMs
  }

  /** The mean interval, and the acceptable pause. */
  get expectedMs(): number {
    return this.#history.meanMs + this.#acceptablePauseMs
  }

  /** The deviation that φ is computed with: at least `minDeviationMs`. */
  get deviationMs(): number {
    return Math.max(this.#history.deviationMs, this.#minDeviationMs)
  }

  /**
   * A heartbeat that was not heard before (each counter once, by whatever path it came), at the time it arrived; a
   * relayed one at the time it was sent. One that is older than the last changes nothing.
   *
   * `sample: false`: the interval it ends is not learnt from; because the peer was judged suspect or down. INV-66: nor
   * is one so long that it was an outage, nor one of a burst, as they come when a link that stood still moves again.
   * Else an outage would teach the detector to wait for the next one.
   */
  heartbeat(nowMs: number, sample = true): void {
    const intervalMs = nowMs - (this.#lastHeartbeatMs ?? nowMs)
    if (!(intervalMs >= 0 && intervalMs < Infinity)) {
      return
    }
    if (sample && this.#lastHeartbeatMs !== undefined && this.#isInterval(intervalMs)) {
      this.#history.record(intervalMs)
    }
    this.#lastHeartbeatMs = nowMs
    this.alive(nowMs)
  }

  /** A sign of life that is no heartbeat, such as any other frame: the silence ends, and nothing is learnt. */
  alive(nowMs: number): void {
    if (nowMs > this.#lastSignMs && nowMs < Infinity) {
      this.#lastSignMs = nowMs
    }
  }

  /** φ of the present silence; 0 before the first sign. */
  phi(nowMs: number): number {
    return this.#lastSignMs === -Infinity ? 0 : phi(nowMs - this.#lastSignMs, this.expectedMs, this.deviationMs)
  }

  /** The silence, in ms from the last sign, at which `phi` will reach a threshold. */
  silenceFor(threshold: number): number {
    return silenceForPhi(threshold, this.expectedMs, this.deviationMs)
  }

  /** This process stood still for `ms`: that is taken off the peer's silence, and off the interval in progress. */
  extend(ms: number): void {
    checkDuration('ms', ms)
    this.#lastSignMs += ms
    if (this.#lastHeartbeatMs !== undefined) {
      this.#lastHeartbeatMs += ms
    }
  }

  #isInterval(intervalMs: number): boolean {
    const longest = this.expectedMs + OUTAGE_DEVIATIONS * this.deviationMs
    return intervalMs >= BURST_SHARE * this.#history.meanMs && intervalMs <= longest
  }
}
