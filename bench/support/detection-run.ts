import { PhiAccrualDetector, type PhiOptions, silenceForPhi } from '../../src/tracker/membership/phi-accrual.ts'
import { heartbeatStream, type LinkProfile } from './heartbeat-stream.ts'

/** What one threshold gives on one kind of link. */
export interface Outcome {
  readonly threshold: number
  /** Peers that live, and whose silence reached the threshold, per day of one peer seen by one observer. */
  readonly falseAlarmsPerDay: number
  /** From a crash to the threshold. */
  readonly detectionMs: { readonly mean: number; readonly min: number; readonly max: number }
}

export interface DetectionRun {
  readonly profile: LinkProfile
  readonly options: PhiOptions
  readonly thresholds: readonly number[]
  /** An interval that ended in a higher φ is not learnt from. */
  readonly suspectPhi: number
  readonly hours: number
}

/** One stream of heartbeats: then the peer is new to its observer again. */
const HOURS_PER_STREAM = 20
/** A crash is tried after every so many heartbeats: a prime, so that no rhythm is met. */
const HEARTBEATS_PER_CRASH = 499

/** Plays streams of heartbeats to the detector. The same run gives the same outcome. */
export function detect(run: DetectionRun): Outcome[] {
  const tally = new Tally(run)
  for (let hours = 0, stream = 0; hours < run.hours; hours += HOURS_PER_STREAM, stream++) {
    const detector = new PhiAccrualDetector(run.options)
    let heartbeats = 0
    let lastMs = Number.NaN
    for (const { sentMs, arrivedMs, nextSendMs } of heartbeatStream(run.profile, HOURS_PER_STREAM, `${run.profile.name} ${stream}`)) {
      const silenceMs = arrivedMs - lastMs
      const suspected = heartbeats > 0 && tally.silence(detector, silenceMs)
      detector.heartbeat(arrivedMs, !suspected)
      heartbeats++
      lastMs = arrivedMs
      if (heartbeats % HEARTBEATS_PER_CRASH === 0) {
        // After this heartbeat, and before the next: where exactly moves on by the golden ratio.
        const crashMs = sentMs + ((0.618 * heartbeats) % 1) * (nextSendMs - sentMs)
        tally.crash(detector, arrivedMs - crashMs)
      }
    }
  }
  return tally.outcomes()
}

class Tally {
  readonly #run: DetectionRun
  /** φ depends on (silence − mean) / deviation alone: this many deviations reach each threshold. */
  readonly #deviations: readonly number[]
  readonly #suspectDeviations: number
  readonly #alarms: number[]
  readonly #sums: number[]
  readonly #lows: number[]
  readonly #highs: number[]
  #crashes = 0

  constructor(run: DetectionRun) {
    this.#run = run
    this.#deviations = run.thresholds.map(deviationsFor)
    this.#suspectDeviations = deviationsFor(run.suspectPhi)
    this.#alarms = run.thresholds.map(() => 0)
    this.#sums = run.thresholds.map(() => 0)
    this.#lows = run.thresholds.map(() => Infinity)
    this.#highs = run.thresholds.map(() => -Infinity)
  }

  /** A silence of a peer that lives; returns whether it was suspected. */
  silence(detector: PhiAccrualDetector, silenceMs: number): boolean {
    if (silenceMs <= detector.expectedMs) {
      return false
    }
    const deviations = (silenceMs - detector.expectedMs) / detector.deviationMs
    for (let at = 0; at < this.#deviations.length && deviations >= (this.#deviations[at] as number); at++) {
      this.#alarms[at] = (this.#alarms[at] as number) + 1
    }
    return deviations >= this.#suspectDeviations
  }

  /** A crash, `lastAfterMs` before the last heartbeat arrives (negative: after it had). */
  crash(detector: PhiAccrualDetector, lastAfterMs: number): void {
    this.#crashes++
    for (const [at, deviations] of this.#deviations.entries()) {
      const detectedMs = lastAfterMs + detector.expectedMs + deviations * detector.deviationMs
      this.#sums[at] = (this.#sums[at] as number) + detectedMs
      this.#lows[at] = Math.min(this.#lows[at] as number, detectedMs)
      this.#highs[at] = Math.max(this.#highs[at] as number, detectedMs)
    }
  }

  outcomes(): Outcome[] {
    const days = this.#run.hours / 24
    return this.#run.thresholds.map((threshold, at) => ({
      threshold,
      falseAlarmsPerDay: (this.#alarms[at] as number) / days,
      detectionMs: { mean: (this.#sums[at] as number) / this.#crashes, min: this.#lows[at] as number, max: this.#highs[at] as number }
    }))
  }
}

/** Far from 0, where silences cannot be negative. */
function deviationsFor(threshold: number): number {
  return silenceForPhi(threshold, 100, 1) - 100
}
