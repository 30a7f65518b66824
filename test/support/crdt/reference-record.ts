import {
  type Cursor,
  createEntry,
  type DeltaInterval,
  type Entry,
  type Mark,
  type MergeResult,
  type ReplicaRef,
  type StateHash
} from '../../../src/crdt/index.ts'

/** What the reference holds of one replica. `repairing` is the head before the repair began. */
export interface ReferenceRecord {
  readonly ref: ReplicaRef
  head: number
  horizon: number
  known: number
  floor: number
  cursor: Cursor | null
  repairing: number | undefined
  live: Map<number, Entry>
  log: Mark[]
  parked: DeltaInterval[]
}

export function newRecord(ref: ReplicaRef): ReferenceRecord {
  return { ref, head: 0, horizon: 0, known: 0, floor: 0, cursor: null, repairing: undefined, live: new Map(), log: [], parked: [] }
}

export function pushMark(record: ReferenceRecord, mark: Mark, limit: number, floorIsEvictedEvent: boolean): void {
  record.log.push(mark)
  if (record.log.length > limit) {
    const evicted = record.log.shift()!
    record.floor = floorIsEvictedEvent ? evicted.event : evicted.event - 1
  }
}

export function withStateOf(entry: Entry, state: Entry['state']): Entry {
  return createEntry(entry, entry.counter, state)
}

/** What changed between two states of a record, told from the states alone; the marks only give the reasons. */
export function netOf(
  before: ReadonlyMap<number, Entry>,
  after: ReadonlyMap<number, Entry>,
  reasons: ReadonlyMap<number, Mark>
): Pick<MergeResult, 'added' | 'changed' | 'removed'> {
  const reasonOf = (dot: number, state: number): number => {
    const mark = reasons.get(dot)
    return mark?.state === state ? mark.reason : 0
  }
  return {
    added: [...after.values()].filter(entry => !before.has(entry.counter)),
    changed: [...after.values()].flatMap(entry => {
      const old = before.get(entry.counter)
      return old === undefined || old === entry ? [] : { before: old, after: entry, reason: reasonOf(entry.counter, entry.state) }
    }),
    removed: [...before.values()].filter(entry => !after.has(entry.counter)).map(entry => ({ entry, reason: reasonOf(entry.counter, 3) }))
  }
}

/** Not the hash of OrMap, but one with its properties: a sum, over dot, content and state. */
export function hashOf(live: ReadonlyMap<number, Entry>, coversState: boolean): StateHash {
  let low = 0
  let high = 0
  for (const entry of live.values()) {
    low = (low + mix(entry.hashLow, entry.counter, coversState ? entry.state : 0)) >>> 0
    high = (high + mix(entry.hashHigh, entry.counter, coversState ? entry.state : 0)) >>> 0
  }
  return { high, low }
}

function mix(...parts: number[]): number {
  return parts.reduce((hash, part) => {
    const mixed = Math.imul(hash ^ part, 0x9e3779b1)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }, 0x2545f491)
}
