import { MAX_COUNTER } from '../../crdt/dot.ts'
import type { Environment } from '../environment.ts'

/** Incarnations per millisecond of wall clock: two starts within one millisecond still differ, most likely. */
const PER_MS = 1_024

/** How far ahead of the receiver's wall clock an incarnation may lie, in ms: a day. Looser than any clock that is kept at all. */
export const MAX_AHEAD_MS = 86_400_000

/**
 * The number under which this process starts: its wall clock · 1024 + random. Nothing depends on the clock being right: where a higher number
 * is known, the peers say so, and the next one above it is taken.
 */
export function newIncarnation(environment: Environment): number {
  return Math.min(MAX_COUNTER, wallIncarnation(environment.wallClockMs()) + 1 + environment.random.below(PER_MS))
}

/** The lowest incarnation of a process that starts at this wall clock. */
export function wallIncarnation(wallClockMs: number): number {
  return Math.min(MAX_COUNTER, Math.max(0, Math.floor(wallClockMs)) * PER_MS)
}

/** INV-36: an incarnation from the far future would shut out every later start of its id; it is refused. */
export function isTooFarAhead(incarnation: number, wallClockMs: number): boolean {
  return incarnation > wallIncarnation(wallClockMs + MAX_AHEAD_MS)
}

/** The next number above `known`, undefined when there is none. Twins that choose at the same time choose differently, most likely. */
export function incarnationAbove(known: number, environment: Environment): number | undefined {
  const next = known + 1 + environment.random.below(PER_MS)
  return next > MAX_COUNTER ? undefined : next
}
