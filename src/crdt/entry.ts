import type { ReplicaRef } from './dot.ts'

/** A dot's life only moves on: live < lingering < closed < removed. A removed dot has no entry. */
export const EntryState = { live: 0, lingering: 1, closed: 2, removed: 3 } as const
export type EntryState = (typeof EntryState)[keyof typeof EntryState]

/** An owner whose entries this one replaces, and the head up to which they were known when it was made. */
export interface Over {
  readonly replica: ReplicaRef
  readonly head: number
}

/** What an entry says. It never changes under a dot. */
export interface EntryContent {
  readonly topic: string
  readonly key: string
  readonly user: string
  /** 96 bits as 16 characters of base64url. */
  readonly session: string
  /** The number of the connection at its owner, 0 … 2^52. */
  readonly connection: number
  /** A plain object as canonical JSON text: keys sorted, no white space. */
  readonly meta: string
  /** Wall clock of the first `track`, in ms since 1970; kept by updates and adoption. */
  readonly joinedAt: number
  /** 0 at the first `track`; each update adds one; kept by adoption. */
  readonly revision: number
  /** 1 + the highest epoch known for its (topic, key, session) when it was made. */
  readonly epoch: number
  readonly over: readonly Over[]
}

/**
 * One presence in the map, under the dot (owner, counter).
 *
 * Immutable: a mark that moves the state on puts a new object in its place, so an entry may be shared between
 * an interval, a record and a diff.
 */
export interface Entry extends EntryContent {
  readonly counter: number
  readonly state: EntryState
  /** Two lanes of 32 bits over the content, without counter and state. */
  readonly hashHigh: number
  readonly hashLow: number
}
