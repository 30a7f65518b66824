import type { DeltaInterval, Mark } from './delta-interval.ts'
import type { Entry } from './entry.ts'
import { EntryState, internEntry, sameContent, withState } from './entry.ts'
import type { Changed, Effects, Removed } from './merge-result.ts'
import { foldEffects, REASON_NONE, startEffects } from './merge-result.ts'
import type { ReplicaRecord } from './replica-record.ts'

/** `old`: everything in it is known. `gap`: something before it is missing. */
export type Admission = 'apply' | 'old' | 'gap'

/** Decides before anything changes. INV-2: a head is a prefix, so an interval counts only on top of what it needs. */
export function admit(record: ReplicaRecord, interval: DeltaInterval): Admission {
  const { head, cursor, repairFrom } = record
  const { from, to, since, asOf } = interval
  if (repairFrom === null ? asOf <= head : asOf < Math.max(cursor === null ? 0 : cursor.asOf, repairFrom)) {
    return 'old'
  }
  const onBase = from === 0 || (from <= head && since <= head)
  const onCursor = cursor !== null && from <= cursor.to && since <= cursor.asOf
  if (!onBase && !onCursor) {
    return 'gap'
  }
  if (to < asOf && cursor !== null && !(asOf > cursor.asOf || (asOf === cursor.asOf && to > cursor.to))) {
    return 'old'
  }
  return 'apply'
}

/** Merges an admitted interval: O(adds + marks), and O(entries in (from, to]) for a full state or a repair. */
export function applyInterval(record: ReplicaRecord, interval: DeltaInterval, effects: Effects): void {
  const sweeps = interval.since > record.head || record.repairing
  recordMarks(record, interval)
  applyMarks(record, interval.marks, effects)
  if (!sweeps) {
    insertNew(record, interval.adds, effects)
  } else if (effects.changed.length === 0) {
    reconcile(record, interval, effects)
  } else {
    // Under repair a dot that a mark moved on may be overwritten too: it changes once.
    const corrections = startEffects(effects.pool)
    reconcile(record, interval, corrections)
    foldEffects(effects, corrections)
  }
  advance(record, interval, effects)
}

/** INV-3: the log takes every mark, also of dots that were never seen here; a full state comes without the history. */
function recordMarks(record: ReplicaRecord, { since, asOf, marks }: DeltaInterval): void {
  const { log, horizon } = record
  if (since > horizon) {
    log.reset(asOf)
  } else {
    for (let i = 0; i < marks.length; i++) {
      const mark = marks[i] as Mark
      if (mark.event > horizon) {
        log.push(mark.event, mark.counter, mark.state, mark.reason)
      }
    }
  }
  record.horizon = Math.max(horizon, asOf)
}

/** Newest first: of several marks of one dot the last decides, and the earlier ones no longer move it on. */
function applyMarks(record: ReplicaRecord, marks: readonly Mark[], effects: Effects): void {
  const changed: Changed[] = []
  const removed: Removed[] = []
  for (let i = marks.length - 1; i >= 0; i--) {
    const { counter, state, reason } = marks[i] as Mark
    effects.touched++
    if (state === EntryState.removed) {
      const entry = record.remove(counter)
      if (entry !== undefined) {
        removed.push({ entry, reason })
      }
      continue
    }
    const before = record.entries.get(counter)
    if (before !== undefined && state > before.state) {
      const after = withState(before, state)
      record.put(after)
      effects.touched++
      changed.push({ before, after, reason })
    }
  }
  for (let i = changed.length - 1; i >= 0; i--) {
    effects.changed.push(changed[i] as Changed)
  }
  for (let i = removed.length - 1; i >= 0; i--) {
    effects.removed.push(removed[i] as Removed)
  }
}

/** INV-4: a dot up to `known` is held already or gone for ever; only those above it are new. */
function insertNew(record: ReplicaRecord, adds: readonly Entry[], effects: Effects): void {
  for (let i = 0; i < adds.length; i++) {
    const entry = adds[i] as Entry
    effects.touched++
    if (entry.counter > record.known) {
      insert(record, entry, effects)
    }
  }
}

/** A full state over old entries, or a repair: in (from, to] exactly `adds` are held. */
function reconcile(record: ReplicaRecord, interval: DeltaInterval, effects: Effects): void {
  const { adds, from, to } = interval
  const held: Entry[] = []
  record.entries.walk(from, entry => entry.counter <= to && held.push(entry) > 0)
  effects.touched += held.length + adds.length
  let next = 0
  for (const entry of adds) {
    while (next < held.length && (held[next] as Entry).counter < entry.counter) {
      sweep(record, held[next++] as Entry, effects)
    }
    const before = held[next]
    if (before !== undefined && before.counter === entry.counter) {
      next++
      adopt(record, before, entry, effects)
    } else if (entry.counter > record.known) {
      insert(record, entry, effects)
    }
  }
  while (next < held.length) {
    sweep(record, held[next++] as Entry, effects)
  }
}

function insert(record: ReplicaRecord, entry: Entry, effects: Effects): void {
  record.put(internEntry(entry, effects.pool))
  effects.added.push(entry)
}

/** No mark says why. */
function sweep(record: ReplicaRecord, entry: Entry, effects: Effects): void {
  record.remove(entry.counter)
  effects.removed.push({ entry, reason: REASON_NONE })
}

/** What a full state says of a held dot: that it has moved on; under repair, what it should have been. */
function adopt(record: ReplicaRecord, before: Entry, told: Entry, effects: Effects): void {
  const overwrites = record.repairing && told.counter > record.known && !(before.state === told.state && sameContent(before, told))
  if (overwrites || told.state > before.state) {
    const after = overwrites ? internEntry(told, effects.pool) : withState(before, told.state)
    record.put(after)
    effects.changed.push({ before, after, reason: REASON_NONE })
  }
}

function advance(record: ReplicaRecord, { to, asOf }: DeltaInterval, effects: Effects): void {
  record.known = Math.max(record.known, to)
  if (to < asOf) {
    record.cursor = { to, asOf }
    return
  }
  record.head = Math.max(record.head, to)
  if (record.cursor !== null && record.cursor.to <= record.head) {
    record.cursor = null
  }
  if (record.repairing && record.head >= record.horizon) {
    record.repairFrom = null
    for (const entry of [...record.entries.after(to)]) {
      sweep(record, entry, effects)
    }
  }
}
