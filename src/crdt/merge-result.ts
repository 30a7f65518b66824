import type { Entry } from './entry.ts'
import type { StringPool } from './string-pool.ts'

/** No mark says why: a sweep, or a correction. */
export const REASON_NONE = 0

/** `gap`: it does not fit what is known; it is parked or discarded, nothing changed; ask with `request`. */
export type MergeOutcome = 'applied' | 'old' | 'gap' | 'own'

/** A dot whose state moved on; under repair also one whose content was wrong here. */
export interface Changed {
  readonly before: Entry
  readonly after: Entry
  /** That of the last mark; 0 when no mark says it. */
  readonly reason: number
}

export interface Removed {
  /** As it was held before the merge. */
  readonly entry: Entry
  /** 0 when no mark says it. */
  readonly reason: number
}

export interface MergeResult {
  readonly outcome: MergeOutcome
  /** New dots, in the order in which they came. One that was added and removed within this merge appears nowhere. */
  readonly added: Entry[]
  readonly changed: Changed[]
  readonly removed: Removed[]
  /** Whether the record is, after the merge. */
  readonly complete: boolean
  /** Head, cursor or horizon moved. */
  readonly advanced: boolean
  /** Entries that were looked at or written, the cost of the merge; always set by OrMap. INV-8: at most 2 · (adds + marks) + 1 for a plain interval. */
  readonly touched?: number
}

/** What a merge did, as it goes. */
export interface Effects {
  readonly added: Entry[]
  readonly changed: Changed[]
  readonly removed: Removed[]
  touched: number
  /** Where texts that come to be held have their one copy. */
  readonly pool: StringPool
}

export function startEffects(pool: StringPool): Effects {
  return { added: [], changed: [], removed: [], touched: 0, pool }
}

/** What several intervals did in one merge, per dot: first what was held before, last what is held now. */
export function foldEffects(into: Effects, later: Effects): void {
  const added = new Map<number, Entry>()
  const changed = new Map<number, Changed>()
  const removed = new Map<number, Removed>()
  for (const effects of [into, later]) {
    foldRemoved(effects, added, changed, removed)
    foldChanged(effects, added, changed)
    foldAdded(effects, added, changed, removed)
  }
  into.touched += later.touched
  refill(into.added, added.values())
  refill(into.changed, changed.values())
  refill(into.removed, removed.values())
}

function foldRemoved(
  { removed: list }: Effects,
  added: Map<number, Entry>,
  changed: Map<number, Changed>,
  removed: Map<number, Removed>
): void {
  for (const item of list) {
    const counter = item.entry.counter
    if (!added.delete(counter)) {
      removed.set(counter, { entry: changed.get(counter)?.before ?? item.entry, reason: item.reason })
      changed.delete(counter)
    }
  }
}

function foldChanged({ changed: list }: Effects, added: Map<number, Entry>, changed: Map<number, Changed>): void {
  for (const item of list) {
    const counter = item.after.counter
    if (added.has(counter)) {
      added.set(counter, item.after)
    } else {
      changed.set(counter, { before: changed.get(counter)?.before ?? item.before, after: item.after, reason: item.reason })
    }
  }
}

/** Only under repair, and only where two answers of the owner differ, does a removed dot come again. */
function foldAdded(
  { added: list }: Effects,
  added: Map<number, Entry>,
  changed: Map<number, Changed>,
  removed: Map<number, Removed>
): void {
  for (const entry of list) {
    const gone = removed.get(entry.counter)
    if (gone === undefined) {
      added.set(entry.counter, entry)
    } else {
      removed.delete(entry.counter)
      changed.set(entry.counter, { before: gone.entry, after: entry, reason: REASON_NONE })
    }
  }
}

/** One by one: as arguments of one call, a large interval's entries would overflow the stack. */
function refill<T>(list: T[], items: Iterable<T>): void {
  list.length = 0
  for (const item of items) {
    list.push(item)
  }
}
