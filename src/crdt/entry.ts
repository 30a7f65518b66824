import type { ReplicaRef } from './dot.ts'
import { checkContent, checkInteger, hashContent, sameOver } from './entry-content.ts'
import { InvalidEntryError } from './errors.ts'
import { Hasher } from './state-hash.ts'
import type { StringPool } from './string-pool.ts'

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
  /** Two signed lanes of 32 bits over the content, without counter and state. */
  readonly hashHigh: number
  readonly hashLow: number
}

/**
 * The entry of a dot. Computes the hash of the content, once.
 *
 * @param counter the event that makes it, 1 … 2^52
 * @param state default: live. A removed dot has no entry
 * @throws InvalidEntryError
 */
export function createEntry(content: EntryContent, counter: number, state: EntryState = EntryState.live): Entry {
  checkContent(content)
  checkInteger('counter', counter)
  if (counter === 0) {
    throw new InvalidEntryError('counter', counter, 'an integer from 1 to 2^52')
  }
  checkState(state)
  hashContent(hasher, content)
  return new StoredEntry(content, counter, state, hasher.high, hasher.low)
}

/**
 * The same content under the same dot, in another state.
 *
 * @throws InvalidEntryError when `state` is removed, or no state
 */
export function withState(entry: Entry, state: EntryState): Entry {
  checkState(state)
  return new StoredEntry(entry, entry.counter, state, entry.hashHigh, entry.hashLow)
}

/** The same content and state under another dot: an owner that starts again numbers its entries anew. */
export function withCounter(entry: Entry, counter: number): Entry {
  return new StoredEntry(entry, counter, entry.state, entry.hashHigh, entry.hashLow)
}

/**
 * Swaps the entry's texts for equal ones of the pool. The only write to an entry there is, and no reader can tell: strings have
 * no identity. A frozen entry keeps its own.
 */
export function internEntry(entry: Entry, pool: StringPool): Entry {
  if (Object.isExtensible(entry)) {
    const writable = entry as { -readonly [K in keyof Entry]: Entry[K] }
    writable.topic = pool.intern(entry.topic)
    writable.key = pool.intern(entry.key)
    writable.user = pool.intern(entry.user)
    writable.session = pool.intern(entry.session)
    writable.meta = pool.intern(entry.meta)
  }
  return entry
}

/** Whether `value` was made by this file, and so was checked and hashed. */
export function isEntry(value: unknown): value is Entry {
  return value instanceof StoredEntry
}

export function sameContent(a: EntryContent, b: EntryContent): boolean {
  return (
    a.topic === b.topic &&
    a.key === b.key &&
    a.user === b.user &&
    a.session === b.session &&
    a.connection === b.connection &&
    a.meta === b.meta &&
    a.joinedAt === b.joinedAt &&
    a.revision === b.revision &&
    a.epoch === b.epoch &&
    sameOver(a.over, b.over)
  )
}

const hasher = new Hasher()
const NOTHING: readonly Over[] = Object.freeze([])

/**
 * The one place where entries are made, so that they all share one hidden class: a million of them are held, and every
 * hot path reads them. Fields are declared only; a field with an initialiser would be written twice.
 */
class StoredEntry implements Entry {
  declare readonly counter: number
  declare readonly state: EntryState
  declare readonly hashHigh: number
  declare readonly hashLow: number
  declare readonly topic: string
  declare readonly key: string
  declare readonly user: string
  declare readonly session: string
  declare readonly meta: string
  declare readonly connection: number
  declare readonly joinedAt: number
  declare readonly revision: number
  declare readonly epoch: number
  declare readonly over: readonly Over[]

  constructor(content: EntryContent, counter: number, state: EntryState, hashHigh: number, hashLow: number) {
    this.counter = counter
    this.state = state
    this.hashHigh = hashHigh
    this.hashLow = hashLow
    this.topic = content.topic
    this.key = content.key
    this.user = content.user
    this.session = content.session
    this.meta = content.meta
    this.connection = content.connection
    this.joinedAt = content.joinedAt
    this.revision = content.revision
    this.epoch = content.epoch
    this.over = content.over.length === 0 ? NOTHING : content.over
  }
}

function checkState(state: EntryState): void {
  if (state !== EntryState.live && state !== EntryState.lingering && state !== EntryState.closed) {
    throw new InvalidEntryError('state', state, '0 (live), 1 (lingering) or 2 (closed): a removed dot has no entry')
  }
}
