import type { DeltaInterval } from './delta-interval.ts'
import { admit, applyInterval } from './merge-interval.ts'
import type { Effects } from './merge-result.ts'
import { foldEffects, startEffects } from './merge-result.ts'
import type { ReplicaRecord } from './replica-record.ts'

/**
 * Keeps an interval that does not fit yet, until what comes before it is there. Of too many, those that start earliest are
 * kept: they are the first that can be used. Losing any of them costs a pull, never more.
 *
 * @returns whether it is kept
 */
export function park(record: ReplicaRecord, interval: DeltaInterval, limit: number): boolean {
  const { waiting } = record
  if (waiting.some(other => sameSpan(other, interval))) {
    return true
  }
  if (waiting.length < limit) {
    waiting.push(interval)
    return true
  }
  let latest = -1
  for (let i = 0; i < waiting.length; i++) {
    if (latest < 0 || (waiting[i] as DeltaInterval).from > (waiting[latest] as DeltaInterval).from) {
      latest = i
    }
  }
  if (latest < 0 || (waiting[latest] as DeltaInterval).from <= interval.from) {
    return false
  }
  waiting[latest] = interval
  return true
}

/** Applies what fits by now, and discards what is known by now. */
export function applyParked(record: ReplicaRecord, effects: Effects): void {
  const { waiting } = record
  for (let i = 0; i < waiting.length; ) {
    const interval = waiting[i] as DeltaInterval
    const admission = admit(record, interval)
    if (admission === 'gap') {
      i++
      continue
    }
    waiting.splice(i, 1)
    if (admission === 'apply') {
      const later = startEffects(effects.pool)
      applyInterval(record, interval, later)
      foldEffects(effects, later)
      i = 0
    }
  }
}

function sameSpan(a: DeltaInterval, b: DeltaInterval): boolean {
  return a.from === b.from && a.to === b.to && a.since === b.since && a.asOf === b.asOf
}
