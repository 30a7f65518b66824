import type { DeltaInterval } from '../../src/crdt/index.ts'
import { timeMs } from '../harness.ts'
import type { IntervalSource } from './interval-source.ts'

/** What is measured: our map, and its peers. */
export interface Merging {
  merge(interval: DeltaInterval): unknown
}

export const KINDS = ['joins', 'leaves', 'updates'] as const
export type Kind = (typeof KINDS)[number]

const BATCH = 1_000
const BATCHES_PER_SAMPLE = 50
const ENTRIES_PER_SAMPLE = 10_000
const DELTAS_MAX = 500

/**
 * Merges batches of 1,000 until `size` entries are held.
 *
 * @returns entries per second, one number per 50 batches: made from their texts (hashed) and merged, without the making of the texts
 */
export function fill(map: Merging, source: IntervalSource, size: number): number[] {
  const rates: number[] = []
  let ms = 0
  for (let batch = 1; batch * BATCH <= size; batch++) {
    const contents = source.nextContents(BATCH)
    ms += timeMs(() => map.merge(source.joinsOf(contents)))
    if (batch % BATCHES_PER_SAMPLE === 0) {
      rates.push((BATCHES_PER_SAMPLE * BATCH * 1_000) / ms)
      ms = 0
    }
  }
  return rates
}

/** The intervals are made first, then merged in one go; what they did to the size is undone. */
export function microsecondsPerDelta(map: Merging, source: IntervalSource, kind: Kind, deltaSize: number, deltas?: number): number {
  const count = deltas ?? Math.min(DELTAS_MAX, Math.ceil(ENTRIES_PER_SAMPLE / deltaSize))
  if (kind === 'leaves') {
    map.merge(source.joins(count * deltaSize))
  }
  const intervals: DeltaInterval[] = []
  for (let i = 0; i < count; i++) {
    intervals.push(source[kind](deltaSize))
  }
  const ms = timeMs(() => {
    for (const interval of intervals) {
      map.merge(interval)
    }
  })
  if (kind === 'joins') {
    map.merge(source.leaves(count * deltaSize))
  }
  return (ms * 1_000) / count
}
