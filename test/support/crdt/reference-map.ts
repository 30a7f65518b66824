import {
  createEntry,
  type DeltaInterval,
  type Entry,
  type EntryContent,
  type Mark,
  type MergeResult,
  type ReplicaRef,
  refKey,
  sameRef
} from '../../../src/crdt/index.ts'
import { same } from './invariants.ts'
import type { MapLike, MapLimits } from './map-like.ts'
import { show } from './notation.ts'
import { hashOf, netOf, newRecord, pushMark, type ReferenceRecord, withStateOf } from './reference-record.ts'
import { type ReferenceBudget, serveFrom } from './reference-serve.ts'
import type { Rule } from './rules.ts'

/**
 * The map written down once more, from the pseudo-code and with plain arrays, to judge the tests by: each rule can be
 * taken out (`without`), and then the tests must fail. It believes every interval, and asks for no speed.
 */
export class ReferenceMap implements MapLike {
  self: ReplicaRef
  readonly #records = new Map<string, ReferenceRecord>()
  readonly #limits: Required<MapLimits>
  readonly #without: ReadonlySet<Rule>

  constructor(self: ReplicaRef, limits: MapLimits = {}, without: Iterable<Rule> = []) {
    this.self = self
    this.#limits = { logLimit: limits.logLimit ?? Number.POSITIVE_INFINITY, parkLimit: limits.parkLimit ?? 4 }
    this.#without = new Set(without)
    this.#records.set(refKey(self), newRecord(self))
  }

  add(content: EntryContent): Entry {
    return this.#make(content)
  }

  update(counter: number, content: EntryContent, reason = 0): Entry | undefined {
    const own = this.#own()
    if (!own.live.delete(counter)) {
      return undefined
    }
    const entry = this.#make(content)
    this.#log(own, { event: entry.counter, counter, state: 3, reason })
    return entry
  }

  mark(counter: number, state: 1 | 2 | 3, reason: number): Entry | undefined {
    const own = this.#own()
    const before = own.live.get(counter)
    if (before === undefined || state <= before.state) {
      return undefined
    }
    const event = this.#next()
    move(own, counter, state)
    this.#log(own, { event, counter, state, reason })
    return before
  }

  reincarnate(self: ReplicaRef): { before: Entry; after: Entry }[] {
    const old = this.entries(this.self)
    this.#records.delete(refKey(this.self))
    this.self = self
    this.#records.set(refKey(self), newRecord(self))
    return old.map(before => {
      const after = withStateOf(this.#make(before), before.state)
      this.#own().live.set(after.counter, after)
      return { before, after }
    })
  }

  merge(interval: DeltaInterval): MergeResult {
    if (sameRef(interval.replica, this.self)) {
      return { outcome: 'own', added: [], changed: [], removed: [], complete: true, advanced: false }
    }
    const key = refKey(interval.replica)
    const record = this.#records.get(key) ?? newRecord(interval.replica)
    this.#records.set(key, record)
    const before = new Map(record.live)
    const point = pointOf(record)
    const reasons = new Map<number, Mark>()
    const outcome = this.#step(record, interval, reasons)
    if (outcome === 'gap') {
      this.#park(record, interval)
    }
    if (outcome === 'applied') {
      this.#retry(record, reasons)
    }
    return { outcome, ...netOf(before, record.live, reasons), complete: this.#isComplete(record), advanced: pointOf(record) !== point }
  }

  serve(request: Parameters<MapLike['serve']>[0], budget: ReferenceBudget = {}): DeltaInterval | undefined {
    const record = this.#records.get(refKey(request.replica))
    if (record === undefined || (this.#has('only complete records serve') && !this.#isComplete(record))) {
      return undefined
    }
    return serveFrom(record, request, budget, this.#without)
  }

  request(ref: ReplicaRef): ReturnType<MapLike['request']> {
    const record = this.#records.get(refKey(ref))
    return { replica: ref, shard: 0, head: record?.head ?? 0, cursor: record?.cursor ?? null }
  }

  drop(ref: ReplicaRef): number {
    const count = this.#records.get(refKey(ref))?.live.size ?? 0
    this.#records.delete(refKey(ref))
    return count
  }

  invalidate(ref: ReplicaRef): boolean {
    const record = this.#records.get(refKey(ref))
    if (record === undefined || sameRef(ref, this.self)) {
      return false
    }
    const repairing = Math.max(record.head, record.repairing ?? 0)
    this.#records.set(refKey(ref), { ...newRecord(ref), live: record.live, repairing })
    return true
  }

  record(ref: ReplicaRef): ReturnType<MapLike['record']> {
    const record = this.#records.get(refKey(ref))
    if (record === undefined) {
      return undefined
    }
    const { head, horizon, known, floor, cursor, live } = record
    const parked = record.parked.length
    const hash = hashOf(live, this.#has('the hash covers the state'))
    const repairing = record.repairing !== undefined
    return { ref, head, horizon, known, floor, cursor, complete: this.#isComplete(record), repairing, count: live.size, hash, parked }
  }

  entries(ref: ReplicaRef, after = 0): Entry[] {
    return sorted(this.#records.get(refKey(ref))?.live ?? new Map<number, Entry>()).filter(entry => entry.counter > after)
  }

  marksSince(ref: ReplicaRef, event: number): readonly Mark[] | undefined {
    const record = this.#records.get(refKey(ref))
    return record === undefined || event < record.floor ? undefined : record.log.filter(mark => mark.event > event)
  }

  #step(record: ReferenceRecord, m: DeltaInterval, reasons: Map<number, Mark>): MergeResult['outcome'] {
    const repairing = record.repairing !== undefined
    const { cursor } = record
    const newest = this.#has('old intervals are known by asOf, not by to') ? m.asOf : m.to
    if (!repairing && newest <= record.head) {
      return 'old'
    }
    if (repairing && this.#has('a repair never goes back') && m.asOf < Math.max(cursor?.asOf ?? 0, record.repairing!)) {
      return 'old'
    }
    const reaches = (knownTo: number, knownAsOf: number): boolean =>
      !this.#has('from is checked') || (m.from <= knownTo && (m.since <= knownAsOf || !this.#has('since is checked')))
    if (!(m.from === 0 || reaches(record.head, record.head) || (cursor !== null && reaches(cursor.to, cursor.asOf)))) {
      return 'gap'
    }
    const forward = cursor === null || m.asOf > cursor.asOf || (m.asOf === cursor.asOf && m.to > cursor.to)
    if (m.to < m.asOf && !forward && this.#has('a slice must be newer than the cursor')) {
      return 'old'
    }
    this.#apply(record, m, reasons)
    return 'applied'
  }

  #apply(record: ReferenceRecord, m: DeltaInterval, reasons: Map<number, Mark>): void {
    const repairing = record.repairing !== undefined
    this.#logAll(record, m)
    record.horizon = Math.max(record.horizon, m.asOf)
    for (const mark of m.marks) {
      if (mark.state === 3 || this.#has('a mark alone moves a state on')) {
        this.#moveOn(record, mark.counter, mark.state)
        reasons.set(mark.counter, mark)
      }
    }
    const sweepsAnyway = repairing && this.#has('a repair sweeps with plain intervals too')
    if (sweepsAnyway || (m.since > record.head && this.#has('a full state sweeps'))) {
      sweep(record, dot => dot > m.from && dot <= m.to && !m.adds.some(entry => entry.counter === dot))
    }
    for (const entry of m.adds) {
      this.#insert(record, entry)
    }
    record.known = Math.max(record.known, m.to)
    if (m.to < m.asOf) {
      record.cursor = { to: m.to, asOf: m.asOf }
      return
    }
    record.head = Math.max(record.head, m.to)
    if (record.cursor !== null && record.cursor.to <= record.head) {
      record.cursor = null
    }
    if (repairing && record.head >= record.horizon) {
      record.repairing = undefined
      sweep(record, dot => dot > m.to && this.#has('a repair sweeps what is above'))
    }
  }

  #insert(record: ReferenceRecord, entry: Entry): void {
    const held = record.live.get(entry.counter)
    if (held === undefined) {
      if (entry.counter > record.known || !this.#has('only dots above known are inserted')) {
        record.live.set(entry.counter, entry)
      }
    } else if (record.repairing === undefined) {
      this.#moveOn(record, entry.counter, this.#has('a full state moves states on') ? entry.state : held.state)
    } else if (this.#has('a repair overwrites content') && !same(held, entry)) {
      record.live.set(entry.counter, entry)
    }
  }

  #moveOn(record: ReferenceRecord, counter: number, state: Entry['state']): void {
    const held = record.live.get(counter)
    if (held !== undefined && (state > held.state || !this.#has('a state never moves back'))) {
      move(record, counter, state)
    }
  }

  #logAll(record: ReferenceRecord, m: DeltaInterval): void {
    if (m.since > record.horizon && this.#has('a full state resets the log')) {
      record.log = []
      record.floor = m.asOf
      return
    }
    let marks = m.marks.filter(mark => mark.event > record.horizon)
    if (!this.#has('marks carry their event')) {
      const events = marks.map(mark => mark.event)
      marks = marks.toSorted((a, b) => a.counter - b.counter).map((mark, index) => ({ ...mark, event: events[index]! }))
    }
    for (const mark of marks) {
      if (this.#has('a relay logs every mark') || record.live.has(mark.counter)) {
        this.#log(record, mark)
      }
    }
  }

  #log(record: ReferenceRecord, mark: Mark): void {
    if (mark.state === 3 || this.#has('the log keeps every state')) {
      pushMark(record, mark, this.#limits.logLimit, this.#has('the floor is the evicted event'))
    }
  }

  #park(record: ReferenceRecord, interval: DeltaInterval): void {
    const isParked = record.parked.some(other => show(other) === show(interval))
    if (!isParked && record.parked.length < this.#limits.parkLimit) {
      record.parked.push(interval)
    }
  }

  #retry(record: ReferenceRecord, reasons: Map<number, Mark>): void {
    for (;;) {
      record.parked = record.parked.filter(parked => parked.asOf > record.head)
      const index = record.parked.findIndex(parked => this.#step(record, parked, reasons) === 'applied')
      if (index < 0) {
        return
      }
      record.parked.splice(index, 1)
    }
  }

  #isComplete(record: ReferenceRecord): boolean {
    if (record.repairing !== undefined) {
      return false
    }
    return this.#has('complete needs the horizon') ? record.head >= record.horizon : record.cursor === null
  }

  #own(): ReferenceRecord {
    return this.#records.get(refKey(this.self))!
  }

  #next(): number {
    const own = this.#own()
    own.head++
    own.known = own.head
    own.horizon = own.head
    return own.head
  }

  #make(content: EntryContent): Entry {
    const entry = createEntry(content, this.#next())
    this.#own().live.set(entry.counter, entry)
    return entry
  }

  #has(rule: Rule): boolean {
    return !this.#without.has(rule)
  }
}

function move(record: ReferenceRecord, counter: number, state: Entry['state']): void {
  if (state === 3) {
    record.live.delete(counter)
  } else {
    record.live.set(counter, withStateOf(record.live.get(counter)!, state))
  }
}

function sweep(record: ReferenceRecord, isGone: (dot: number) => boolean): void {
  for (const dot of record.live.keys()) {
    if (isGone(dot)) {
      record.live.delete(dot)
    }
  }
}

function sorted(live: ReadonlyMap<number, Entry>): Entry[] {
  return [...live.values()].sort((a, b) => a.counter - b.counter)
}

function pointOf({ head, horizon, cursor }: ReferenceRecord): string {
  return JSON.stringify([head, horizon, cursor])
}
