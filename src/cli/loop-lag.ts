import { monitorEventLoopDelay } from 'node:perf_hooks'

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>

/** How late the event loop is. */
export interface LoopLag {
  /** How late timers ran, over the last one to two minutes, in ms. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const RESOLUTION_MS = 10
const WINDOW_MS = 60_000

/** Measures how late this process's event loop is. A late loop looks like a dead replica to its peers. */
export class LoopLagMeter {
  #current = started()
  #previous: IntervalHistogram | undefined
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#rotate(), WINDOW_MS)
    this.#timer.unref()
  }

  read(): LoopLag {
    const window = [this.#current, this.#previous].filter(
      histogram => histogram !== undefined && histogram.count > 0
    ) as IntervalHistogram[]
    const worst = (of: (histogram: IntervalHistogram) => number): number =>
      Math.max(0, ...window.map(histogram => of(histogram) / 1e6 - RESOLUTION_MS))
    return { p50Ms: worst(h => h.percentile(50)), p99Ms: worst(h => h.percentile(99)), maxMs: worst(h => h.max) }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#current.disable()
  }

  #rotate(): void {
    this.#current.disable()
    this.#previous = this.#current
    this.#current = started()
  }
}

function started(): IntervalHistogram {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return histogram
}
