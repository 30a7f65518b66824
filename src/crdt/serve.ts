import type { DeltaInterval, Mark, PullRequest } from './delta-interval.ts'
import { entryBytes, INTERVAL_BYTES, MARK_BYTES } from './encoded-size.ts'
import type { Entry } from './entry.ts'
import type { ReplicaRecord } from './replica-record.ts'

/** What an answer may be: at least one entry or mark is in it, whatever the budget, unless it has nothing to carry. */
export interface Budget {
  /** Encoded bytes, by the upper bounds of encoded-size.ts. Default 60,000. */
  readonly bytes?: number
  /** Entries. Default: as many as fit. */
  readonly adds?: number
  /** Marks. Default: as many as fit. */
  readonly marks?: number
}

const DEFAULT_BYTES = 60_000

/** The part of a request that decides the answer. */
export type Point = Pick<PullRequest, 'head' | 'cursor'>

/**
 * The next step for one who stands at `head` (and `cursor`), undefined when there is nothing to say.
 *
 * INV-6: owner and relay alike: a function of the request, the head, the entries, the marks and the budget, and only from
 * complete records, only up to their head, only from where their log reaches. An answer is never empty.
 */
export function serve(record: ReplicaRecord, shard: number, { head, cursor }: Point, budget: Budget = {}): DeltaInterval | undefined {
  if (!record.complete || record.head <= head) {
    return undefined
  }
  if (head > 0 && head >= record.floor) {
    const base = step(record, shard, head, head, budget)
    // A part would be older than what stands at the cursor, and be refused for ever.
    if (base.to === base.asOf || cursor === null) {
      return base
    }
  }
  if (cursor !== null) {
    if (cursor.asOf > record.head) {
      return undefined
    }
    if (cursor.asOf >= record.floor) {
      return step(record, shard, cursor.to, cursor.asOf, budget)
    }
  }
  return step(record, shard, 0, record.head, budget)
}

function step(record: ReplicaRecord, shard: number, from: number, since: number, budget: Budget): DeltaInterval {
  const { log, head, ref: replica } = record
  const first = log.indexAfter(since)
  const pending = log.size - first
  const room = (budget.bytes ?? DEFAULT_BYTES) - INTERVAL_BYTES
  const fitting = Math.max(1, Math.min(budget.marks ?? pending, Math.floor(room / MARK_BYTES)))
  if (pending > fitting) {
    const asOf = log.eventAt(first + fitting) - 1
    return { replica, shard, from, to: from, since, asOf, adds: [], marks: log.slice(first, first + fitting) }
  }
  const { adds, next } = fill(record, from, room - pending * MARK_BYTES, budget.adds ?? Number.POSITIVE_INFINITY, pending === 0 ? 1 : 0)
  const to = next === 0 ? head : next - 1
  const plain = since === from && to > from && (to === head || !crosses(record, first, to))
  const asOf = plain ? to : head
  return { replica, shard, from, to, since, asOf, adds, marks: log.slice(first, plain ? log.indexAfter(to) : log.size) }
}

/** Entries above `from`, in order, until full; `next` is the first that found no room, 0 when all did. */
function fill(record: ReplicaRecord, from: number, bytes: number, most: number, least: number): { adds: Entry[]; next: number } {
  const adds: Entry[] = []
  let room = bytes
  let next = 0
  record.entries.walk(from, entry => {
    room -= entryBytes(entry)
    if (adds.length >= least && (room < 0 || adds.length >= most)) {
      next = entry.counter
      return false
    }
    adds.push(entry)
    return true
  })
  return { adds, next }
}

/** Whether an event after `to` marks a dot up to `to`: then the entries up to `to` are no longer as they were as of `to`. */
function crosses(record: ReplicaRecord, first: number, to: number): boolean {
  const { log } = record
  for (let index = Math.max(first, log.indexAfter(to)); index < log.size; index++) {
    if (log.counterAt(index) <= to) {
      return true
    }
  }
  return false
}

/** The marks after `event`, undefined when the log does not reach back. */
export function marksSince(record: ReplicaRecord, event: number): readonly Mark[] | undefined {
  return event < record.floor ? undefined : record.log.slice(record.log.indexAfter(event), record.log.size)
}
