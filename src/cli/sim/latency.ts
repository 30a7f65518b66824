import { build, type Histogram } from 'hdr-histogram-js'

/** Percentiles and a histogram; zeros and no buckets when nothing was recorded. */
export interface LatencySummary {
  readonly count: number
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Upper bound in ms and how many lie at or below it and above the one before, in ascending order. */
  readonly buckets: readonly { readonly toMs: number; readonly count: number }[]
}

const MAX_MS = 3_600_000
const FIRST_BUCKET_MS = 0.125
const STEPS_PER_DOUBLING = 3

/** Latencies with a resolution of one microsecond and three digits. */
export class LatencyHistogram {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: MAX_MS * 1_000,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false
  })
  readonly #steps = new Map<number, number>()

  get count(): number {
    return this.#histogram.totalCount
  }

  record(ms: number): void {
    this.#histogram.recordValue(Math.round(Math.min(MAX_MS, Math.max(0, ms)) * 1_000))
    const step = Math.max(0, Math.ceil(Math.log2(Math.max(ms, FIRST_BUCKET_MS) / FIRST_BUCKET_MS) * STEPS_PER_DOUBLING))
    this.#steps.set(step, (this.#steps.get(step) ?? 0) + 1)
  }

  percentileMs(percentile: number): number {
    return this.count === 0 ? 0 : this.#histogram.getValueAtPercentile(percentile) / 1_000
  }

  summary(): LatencySummary {
    return {
      count: this.count,
      p50Ms: this.percentileMs(50),
      p90Ms: this.percentileMs(90),
      p99Ms: this.percentileMs(99),
      maxMs: this.count === 0 ? 0 : this.#histogram.maxValue / 1_000,
      buckets: this.#buckets()
    }
  }

  // Empty ones between the first and the last are kept, so that they are drawn as gaps.
  #buckets(): LatencySummary['buckets'] {
    const steps = [...this.#steps.keys()]
    if (steps.length === 0) {
      return []
    }
    const first = Math.min(...steps)
    return Array.from({ length: Math.max(...steps) - first + 1 }, (_, index) => ({
      toMs: FIRST_BUCKET_MS * 2 ** ((first + index) / STEPS_PER_DOUBLING),
      count: this.#steps.get(first + index) ?? 0
    }))
  }
}
