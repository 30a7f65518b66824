import type { ReplicaRef } from './dot.ts'
import type { Entry, EntryState } from './entry.ts'

/**
 * A dot moved on: `event` is the owner's event that did it, `counter` the dot, `reason` a number 0 … 255 that
 * the map carries and never reads.
 */
export interface Mark {
  readonly event: number
  readonly counter: number
  readonly state: Exclude<EntryState, 0>
  readonly reason: number
}

/**
 * A step in the plane of (dots, events) of one replica ref: the receiver, who knows all dots ≤ `from` as of
 * an event ≥ `since`, learns all dots ≤ `to` as of `asOf`. Plain: since = from and to = asOf. Whole: to = asOf.
 * Slice: to < asOf. See docs/algorithm.md.
 */
export interface DeltaInterval {
  readonly replica: ReplicaRef
  readonly shard: number
  readonly from: number
  readonly to: number
  readonly since: number
  readonly asOf: number
  /** Entries with a dot in (from, to] that are still held as of `asOf`, with their state then; ascending. */
  readonly adds: readonly Entry[]
  /** Every mark with an event in (since, asOf], ascending by event. */
  readonly marks: readonly Mark[]
}

/** Dots ≤ `to` are known as of event `asOf`, which is ahead of the head. */
export interface Cursor {
  readonly to: number
  readonly asOf: number
}

/** What a receiver holds of one replica ref, and asks to have completed. `head` is 0 under repair. */
export interface PullRequest {
  readonly replica: ReplicaRef
  readonly shard: number
  readonly head: number
  readonly cursor: Cursor | null
}

/** 64 bits in two unsigned lanes. */
export interface StateHash {
  readonly high: number
  readonly low: number
}
