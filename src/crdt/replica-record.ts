import type { Cursor, DeltaInterval, StateHash } from './delta-interval.ts'
import type { ReplicaRef } from './dot.ts'
import { DotSequence } from './dot-sequence.ts'
import type { Entry } from './entry.ts'
import { MarkLog } from './mark-log.ts'
import { StateSum } from './state-hash.ts'

/** What is known here of one replica ref: a live view, never a copy. */
export interface RecordView {
  readonly ref: ReplicaRef
  /** Every event up to this one is known. 0 under repair. */
  readonly head: number
  /** The newest event that anything merged spoke of. */
  readonly horizon: number
  /** The highest dot whose fate is known; that of every dot up to it is. */
  readonly known: number
  /** The marks after this event are all in the log: requests from heads ≥ floor are served without a full state. */
  readonly floor: number
  /** Where an interrupted transfer goes on. */
  readonly cursor: Cursor | null
  /** INV-1: then the entries are exactly the owner's as of `head`, and so is the log in (floor, head]. */
  readonly complete: boolean
  readonly repairing: boolean
  /** The number of entries held. */
  readonly count: number
  /** Of the entries held. Says something about a head only while `complete`. */
  readonly hash: StateHash
  /** Intervals that wait for an earlier one. */
  readonly parked: number
  /** Marks in the log. */
  readonly logSize: number
}

/** The state behind a view. Only merge-interval.ts, or-map.ts and serve.ts see it. */
export class ReplicaRecord implements RecordView {
  readonly ref: ReplicaRef
  readonly log: MarkLog
  readonly entries = new DotSequence()
  readonly waiting: DeltaInterval[] = []
  head = 0
  horizon = 0
  known = 0
  cursor: Cursor | null = null
  /** The head before the repair, below which no interval is taken; null when not under repair. */
  repairFrom: number | null = null
  readonly #sum: StateSum

  constructor(ref: ReplicaRef, logLimit: number) {
    this.ref = ref
    this.log = new MarkLog(logLimit)
    this.#sum = new StateSum(ref)
  }

  get complete(): boolean {
    return this.head >= this.horizon && this.repairFrom === null
  }

  get repairing(): boolean {
    return this.repairFrom !== null
  }

  get floor(): number {
    return this.log.floor
  }

  get count(): number {
    return this.entries.size
  }

  get hash(): StateHash {
    return this.#sum.value
  }

  get parked(): number {
    return this.waiting.length
  }

  get logSize(): number {
    return this.log.size
  }

  /** Holds the entry, in place of one with the same dot. INV-5: the hash follows every entry in and out. */
  put(entry: Entry): void {
    const held = this.entries.put(entry)
    if (held !== undefined) {
      this.#sum.subtract(held.counter, held.hashHigh, held.hashLow, held.state)
    }
    this.#sum.add(entry.counter, entry.hashHigh, entry.hashLow, entry.state)
  }

  /** Holds the dot no more. Returns its entry, undefined when there was none. */
  remove(counter: number): Entry | undefined {
    const held = this.entries.remove(counter)
    if (held !== undefined) {
      this.#sum.subtract(held.counter, held.hashHigh, held.hashLow, held.state)
    }
    return held
  }

  /** From here on only the owner's word counts; what is held stays until it is contradicted. */
  startRepair(head: number): void {
    this.repairFrom = Math.min(head, Math.max(this.head, this.repairFrom ?? 0))
    this.head = 0
    this.known = 0
    this.horizon = 0
    this.cursor = null
    this.log.reset(0)
    this.waiting.length = 0
  }
}
