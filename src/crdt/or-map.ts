import type { DeltaInterval, Mark, PullRequest } from './delta-interval.ts'
import type { ReplicaRef } from './dot.ts'
import { compareRefs, refKey, sameRef } from './dot.ts'
import type { Entry, EntryContent } from './entry.ts'
import { EntryState } from './entry.ts'
import { isCount } from './entry-content.ts'
import { InvalidIntervalError, OwnRecordError } from './errors.ts'
import { admit, applyInterval } from './merge-interval.ts'
import type { Effects, MergeOutcome, MergeResult } from './merge-result.ts'
import { startEffects } from './merge-result.ts'
import { addEntry, markEntry, renumberEntries, updateEntry } from './own-events.ts'
import { applyParked, park } from './parking.ts'
import type { RecordView } from './replica-record.ts'
import { ReplicaRecord } from './replica-record.ts'
import type { Budget } from './serve.ts'
import { marksSince, serve } from './serve.ts'
import { StringPool } from './string-pool.ts'
import { validateInterval } from './validate.ts'

export type { MergeOutcome, MergeResult } from './merge-result.ts'
export type { RecordView } from './replica-record.ts'
export type { Budget } from './serve.ts'

export interface OrMapOptions {
  /** The only replica whose events are made here. */
  readonly self: ReplicaRef
  /** The part of every replica's entries that this map holds. Default 0. */
  readonly shard?: number
  /** Marks that are kept per replica; who is further behind gets the full state. Default 16,384 (18 bytes each). */
  readonly logLimit?: number
  /** Intervals per replica that wait for an earlier one; beyond it they are discarded and asked for again. Default 4. */
  readonly parkLimit?: number
}

export const OR_MAP_DEFAULTS = Object.freeze({ shard: 0, logLimit: 16_384, parkLimit: 4 })

/** What a map holds, in numbers. */
export interface OrMapSizes {
  readonly records: number
  readonly entries: number
  readonly logMarks: number
  readonly parked: number
  readonly pooledStrings: number
}

/**
 * An observed-remove map with causal contexts, where each replica writes its own entries only: the heads of all records are
 * its causal context, delta intervals its messages. See docs/algorithm.md, "The map". [ALMEIDA18]
 */
export class OrMap {
  readonly shard: number
  readonly #logLimit: number
  readonly #parkLimit: number
  readonly #records = new Map<string, ReplicaRecord>()
  readonly #pool = new StringPool()
  #own: ReplicaRecord
  #count = 0

  constructor({ self, shard, logLimit, parkLimit }: OrMapOptions) {
    this.shard = shard ?? OR_MAP_DEFAULTS.shard
    this.#logLimit = logLimit ?? OR_MAP_DEFAULTS.logLimit
    this.#parkLimit = parkLimit ?? OR_MAP_DEFAULTS.parkLimit
    this.#own = this.#createRecord(self)
  }

  get self(): ReplicaRef {
    return this.#own.ref
  }

  /** Entries over all records. */
  get count(): number {
    return this.#count
  }

  /** One event: a new entry of this replica. @throws InvalidEntryError */
  add(content: EntryContent): Entry {
    const entry = addEntry(this.#own, content, this.#pool)
    this.#counted(1)
    return entry
  }

  /**
   * One event, which makes the new entry and removes the old, so that nobody ever sees neither.
   *
   * @param reason of the old one's mark, 0 … 255
   * @returns the new entry; undefined, and no event, when the dot is not held
   * @throws InvalidEntryError, InvalidMarkError
   */
  update(counter: number, content: EntryContent, reason = 0): Entry | undefined {
    return updateEntry(this.#own, counter, content, reason, this.#pool)
  }

  /**
   * One event: the dot moves on.
   *
   * @param reason 0 … 255, carried and never read
   * @returns the entry as it was; undefined, and no event, when the dot is not held or stands there already
   * @throws InvalidMarkError
   */
  mark(counter: number, state: Mark['state'], reason: number): Entry | undefined {
    const before = markEntry(this.#own, counter, state, reason)
    if (before !== undefined && state === EntryState.removed) {
      this.#counted(-1)
    }
    return before
  }

  /**
   * The own record starts again under a higher incarnation: each entry gets a new dot, 1 … n in the order of the old ones, and
   * keeps its content and state. The old record is dropped. O(own entries).
   *
   * @throws OwnRecordError when `self` does not supersede the present ref
   */
  reincarnate(self: ReplicaRef): { before: Entry; after: Entry }[] {
    const old = this.#own
    if (self.id !== old.ref.id || !isCount(self.incarnation) || compareRefs(self, old.ref) <= 0) {
      throw new OwnRecordError(
        `${refKey(self)} does not supersede ${refKey(old.ref)}: allowed is the same id with a higher incarnation, up to 2^52`
      )
    }
    this.drop(self)
    this.#records.delete(refKey(old.ref))
    this.#own = this.#createRecord(self)
    return renumberEntries(old, this.#own)
  }

  /**
   * The lattice join with what an interval says; called merge, because *join* is a presence event. O(adds + marks) for a plain
   * interval; O(entries in its span) for a full state over old entries, and under repair.
   *
   * @throws InvalidIntervalError, and nothing has changed
   */
  merge(interval: DeltaInterval): MergeResult {
    validateInterval(interval)
    if (interval.shard !== this.shard) {
      throw new InvalidIntervalError('shard', interval.shard, `${this.shard}, that of this map`)
    }
    const effects = startEffects(this.#pool)
    // INV-9: what others say of us is no news, or a lie.
    if (sameRef(interval.replica, this.#own.ref)) {
      return finish('own', this.#own, effects, false)
    }
    const known = this.#records.get(refKey(interval.replica))
    const record = known ?? new ReplicaRecord(interval.replica, this.#logLimit)
    const admission = admit(record, interval)
    if (admission === 'old') {
      return finish('old', record, effects, false)
    }
    if (admission === 'gap') {
      if (park(record, interval, this.#parkLimit) && known === undefined) {
        this.#records.set(refKey(record.ref), record)
      }
      return finish('gap', record, effects, false)
    }
    if (known === undefined) {
      this.#records.set(refKey(record.ref), record)
    }
    return this.#apply(record, interval, effects)
  }

  /** What this map can tell one who stands at the point of the request; undefined when it has nothing to say. */
  serve(request: PullRequest, budget?: Budget): DeltaInterval | undefined {
    const record = this.#records.get(refKey(request.replica))
    return record === undefined ? undefined : serve(record, this.shard, request, budget)
  }

  /** What to ask for: the point where the record stands. */
  request(ref: ReplicaRef): PullRequest {
    const record = this.#records.get(refKey(ref))
    return { replica: ref, shard: this.shard, head: record?.head ?? 0, cursor: record?.cursor ?? null }
  }

  /**
   * Forgets all of a replica ref. What is still under way about it would make the record anew: refuse it before `merge`.
   *
   * @returns the number of its entries
   * @throws OwnRecordError for the own ref
   */
  drop(ref: ReplicaRef): number {
    if (sameRef(ref, this.#own.ref)) {
      throw new OwnRecordError(`${refKey(ref)} is this replica itself: its record is never dropped`)
    }
    const record = this.#records.get(refKey(ref))
    if (record === undefined) {
      return 0
    }
    this.#records.delete(refKey(ref))
    this.#counted(-record.count)
    return record.count
  }

  /**
   * Hash alarm: the record is loaded again from its owner, its entries stay held meanwhile. False when unknown, or our own.
   *
   * @param head that the owner announced; what anybody else said of events after it was false. Default: the record's
   */
  invalidate(ref: ReplicaRef, head: number = Number.POSITIVE_INFINITY): boolean {
    const record = this.#records.get(refKey(ref))
    if (record === undefined || record === this.#own) {
      return false
    }
    record.startRepair(head)
    return true
  }

  record(ref: ReplicaRef): RecordView | undefined {
    return this.#records.get(refKey(ref))
  }

  /** All records, the own one first. */
  records(): IterableIterator<RecordView> {
    return this.#records.values()
  }

  get(ref: ReplicaRef, counter: number): Entry | undefined {
    return this.#records.get(refKey(ref))?.entries.get(counter)
  }

  /** Entries with dots above `after`, ascending. Safe only while nothing is merged. */
  *entries(ref: ReplicaRef, after = 0): IterableIterator<Entry> {
    const record = this.#records.get(refKey(ref))
    if (record !== undefined) {
      yield* record.entries.after(after)
    }
  }

  /** The marks after an event, ascending; undefined when the log does not reach back, or the ref is unknown. */
  marksSince(ref: ReplicaRef, event: number): readonly Mark[] | undefined {
    const record = this.#records.get(refKey(ref))
    return record === undefined ? undefined : marksSince(record, event)
  }

  /** O(records). */
  sizes(): OrMapSizes {
    let logMarks = 0
    let parked = 0
    for (const record of this.#records.values()) {
      logMarks += record.logSize
      parked += record.parked
    }
    return { records: this.#records.size, entries: this.#count, logMarks, parked, pooledStrings: this.#pool.size }
  }

  #apply(record: ReplicaRecord, interval: DeltaInterval, effects: Effects): MergeResult {
    const { head, horizon, cursor, count } = record
    applyInterval(record, interval, effects)
    applyParked(record, effects)
    this.#counted(record.count - count)
    return finish('applied', record, effects, record.head !== head || record.horizon !== horizon || record.cursor !== cursor)
  }

  #createRecord(ref: ReplicaRef): ReplicaRecord {
    const record = new ReplicaRecord(ref, this.#logLimit)
    this.#records.set(refKey(ref), record)
    return record
  }

  #counted(difference: number): void {
    this.#count += difference
    if (this.#count === 0) {
      this.#pool.clear()
    }
  }
}

function finish(outcome: MergeOutcome, record: ReplicaRecord, effects: Effects, advanced: boolean): MergeResult {
  const { added, changed, removed, touched } = effects
  return { outcome, added, changed, removed, complete: record.complete, advanced, touched }
}
