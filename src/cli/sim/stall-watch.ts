import { sharedNowMs } from './shared-clock.ts'

/** A time in which this process did not run: it waited for a processor, collected garbage, or was stopped. Shared clock, in ms. */
export interface Stall {
  readonly fromMs: number
  readonly toMs: number
}

const LOOK_EVERY_MS = 100
/** As for the tracker's pulse: less is jitter. */
const STALL_MS = 250

/** Notes when the event loop stood still. For a replica that is a pause as good as SIGSTOP, whoever caused it. */
export class StallWatch {
  readonly #timer: NodeJS.Timeout
  #expectedMs = sharedNowMs() + LOOK_EVERY_MS
  #stalls: Stall[] = []

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  /** Those since the last call, one that has only just ended included. */
  take(): Stall[] {
    this.#look()
    const stalls = this.#stalls
    this.#stalls = []
    return stalls
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const nowMs = sharedNowMs()
    if (nowMs - this.#expectedMs > STALL_MS) {
      this.#stalls.push({ fromMs: this.#expectedMs - LOOK_EVERY_MS, toMs: nowMs })
    }
    this.#expectedMs = nowMs + LOOK_EVERY_MS
  }
}
