import type { Mark } from './delta-interval.ts'
import type { Entry, EntryContent } from './entry.ts'
import { createEntry, EntryState, internEntry, withCounter, withState } from './entry.ts'
import { isCount } from './entry-content.ts'
import { InvalidMarkError } from './errors.ts'
import type { ReplicaRecord } from './replica-record.ts'
import type { StringPool } from './string-pool.ts'

/*
 * What an owner does to its own record: each call is one event or none. Arguments are checked before the event is counted, so
 * that a refused call leaves no hole.
 */

/** One event: a new entry. */
export function addEntry(own: ReplicaRecord, content: EntryContent, pool: StringPool): Entry {
  const entry = internEntry(createEntry(content, own.head + 1), pool)
  nextEvent(own)
  own.put(entry)
  return entry
}

/** One event: a new entry in place of an old one. Undefined, and no event, when the old dot is not held. */
export function updateEntry(
  own: ReplicaRecord,
  counter: number,
  content: EntryContent,
  reason: number,
  pool: StringPool
): Entry | undefined {
  checkReason(reason)
  if (own.entries.get(counter) === undefined) {
    return undefined
  }
  const entry = internEntry(createEntry(content, own.head + 1), pool)
  const event = nextEvent(own)
  own.remove(counter)
  own.put(entry)
  own.log.push(event, counter, EntryState.removed, reason)
  return entry
}

/** One event: a dot moves on. Returns the entry as it was; undefined, and no event, when it does not move. */
export function markEntry(own: ReplicaRecord, counter: number, state: Mark['state'], reason: number): Entry | undefined {
  checkReason(reason)
  if (state !== EntryState.lingering && state !== EntryState.closed && state !== EntryState.removed) {
    throw new InvalidMarkError('state', state, '1 (lingering), 2 (closed) or 3 (removed)')
  }
  const before = own.entries.get(counter)
  if (before === undefined || state <= before.state) {
    return undefined
  }
  const event = nextEvent(own)
  if (state === EntryState.removed) {
    own.remove(counter)
  } else {
    own.put(withState(before, state))
  }
  own.log.push(event, counter, state, reason)
  return before
}

/** One event per entry of `old`, in the order of its dots: the same content and state under a new dot of `own`. */
export function renumberEntries(old: ReplicaRecord, own: ReplicaRecord): { before: Entry; after: Entry }[] {
  const pairs: { before: Entry; after: Entry }[] = []
  for (const before of old.entries.after(0)) {
    const after = withCounter(before, nextEvent(own))
    own.put(after)
    pairs.push({ before, after })
  }
  return pairs
}

function nextEvent(own: ReplicaRecord): number {
  own.head++
  own.horizon = own.head
  own.known = own.head
  return own.head
}

function checkReason(reason: number): void {
  if (!isCount(reason) || reason > 255) {
    throw new InvalidMarkError('reason', reason, 'an integer from 0 to 255')
  }
}
