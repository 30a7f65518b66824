import { compareRefs } from '../../crdt/dot.ts'
import { type Entry, EntryState } from '../../crdt/entry.ts'
import type { Origin } from './origin.ts'
import type { Slot } from './presence-index.ts'

/**
 * Which of several entries of one identity is visible. INV-20: the rank is a total order on (epoch, closed, replica ref, counter), so replicas that
 * hold the same entries show the same one. Positive when `a` goes before `b`.
 */
export function rank(a: Entry, aOrigin: Origin, b: Entry, bOrigin: Origin): number {
  if (a.epoch !== b.epoch) {
    return a.epoch - b.epoch
  }
  const closed = Number(a.state === EntryState.closed) - Number(b.state === EntryState.closed)
  if (closed !== 0) {
    return closed
  }
  return compareRefs(aOrigin.ref, bOrigin.ref) || a.counter - b.counter
}

/** The first in rank among the candidates whose origin is not hidden. */
export function firstInRank(slot: Slot): { entry: Entry; origin: Origin } | null {
  if (slot.more === null) {
    return slot.entry === null || (slot.origin as Origin).hidden ? null : { entry: slot.entry, origin: slot.origin as Origin }
  }
  let best: { entry: Entry; origin: Origin } | null = null
  slot.each((origin, entry) => {
    if (!origin.hidden && (best === null || rank(entry, origin, best.entry, best.origin) > 0)) {
      best = { entry, origin }
    }
  })
  return best
}

/** The epoch that a new entry of this identity takes: 1 + the highest known, hidden ones included. */
export function nextEpoch(slot: Slot): number {
  let highest = 0
  slot.each((_origin, entry) => {
    highest = Math.max(highest, entry.epoch)
  })
  return highest + 1
}

/** Whether `entry`, of another owner, says that it replaces the entry `counter` of `owner`. */
export function replaces(entry: Entry, owner: Origin, counter: number): boolean {
  return entry.over.some(
    over => over.replica.id === owner.ref.id && over.replica.incarnation === owner.ref.incarnation && over.head >= counter
  )
}
