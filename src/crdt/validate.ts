import type { DeltaInterval, Mark } from './delta-interval.ts'
import { MAX_REPLICA_ID_LENGTH, MAX_SHARD } from './dot.ts'
import type { Entry } from './entry.ts'
import { EntryState, isEntry } from './entry.ts'
import { isCount, isReplicaId } from './entry-content.ts'
import { InvalidIntervalError } from './errors.ts'

const INTEGER = 'an integer from 0 to 2^52'

/**
 * Refuses everything that no correct owner or relay sends. One pass, and nothing is allocated unless several marks are not
 * in the order of their dots. Of an entry it checks the place only: the content was checked when it was made.
 *
 * @throws InvalidIntervalError
 */
export function validateInterval(value: unknown): asserts value is DeltaInterval {
  checkFields('interval', value, isIntervalField, 'a plain object')
  const interval = value as DeltaInterval
  checkReplica(interval.replica)
  if (!isCount(interval.shard) || interval.shard > MAX_SHARD) {
    throw new InvalidIntervalError('shard', interval.shard, `an integer from 0 to ${MAX_SHARD}`)
  }
  checkSpan(interval)
  if (!Array.isArray(interval.adds)) {
    throw new InvalidIntervalError('adds', interval.adds, 'an array')
  }
  if (!Array.isArray(interval.marks)) {
    throw new InvalidIntervalError('marks', interval.marks, 'an array')
  }
  checkAdds(interval)
  if (interval.marks.length > 0) {
    const ordered = checkEachMark(interval)
    checkMarksTogether(interval, ordered)
  }
}

function checkReplica(value: unknown): void {
  checkFields('replica', value, isRefField, '{ id, incarnation }')
  const { id, incarnation } = value as Record<string, unknown>
  if (!isReplicaId(id)) {
    throw new InvalidIntervalError('replica.id', id, `well-formed text of 1 to ${MAX_REPLICA_ID_LENGTH} characters`)
  }
  checkCount('replica.incarnation', incarnation)
}

function checkSpan({ from, to, since, asOf }: DeltaInterval): void {
  checkCount('from', from)
  checkCount('to', to)
  checkCount('since', since)
  checkCount('asOf', asOf)
  if (since < from || since > asOf) {
    throw new InvalidIntervalError('since', since, `from (${from}) to asOf (${asOf})`)
  }
  if (to < from || to > asOf) {
    throw new InvalidIntervalError('to', to, `from (${from}) to asOf (${asOf})`)
  }
  if (to === from && asOf === since) {
    throw new InvalidIntervalError('asOf', asOf, 'a step: the interval ends where it starts')
  }
}

function checkAdds({ adds, from, to }: DeltaInterval): void {
  let last = from
  for (let i = 0; i < adds.length; i++) {
    const entry: unknown = adds[i]
    if (!isEntry(entry)) {
      throw new InvalidIntervalError(`adds[${i}]`, entry, 'an entry made by createEntry')
    }
    if (entry.counter <= last || entry.counter > to) {
      throw new InvalidIntervalError(`adds[${i}].counter`, entry.counter, `above ${last} and up to ${to}, ascending`)
    }
    last = entry.counter
  }
}

/** Checks each mark by itself; returns whether the marks are in the order of their dots, so that no dot is named twice. */
function checkEachMark({ marks, since, asOf }: DeltaInterval): boolean {
  let event = since
  let counter = 0
  let ordered = true
  for (let i = 0; i < marks.length; i++) {
    const mark = marks[i] as Mark
    checkFields(`marks[${i}]`, mark, isMarkField, '{ event, counter, state, reason }')
    if (!isCount(mark.event) || mark.event <= event || mark.event > asOf) {
      throw new InvalidIntervalError(`marks[${i}].event`, mark.event, `an integer above ${event} and up to ${asOf}, ascending`)
    }
    event = mark.event
    if (!isCount(mark.counter) || mark.counter < 1 || mark.counter >= event) {
      throw new InvalidIntervalError(`marks[${i}].counter`, mark.counter, `an integer from 1 to below the event (${event})`)
    }
    ordered = ordered && mark.counter > counter
    counter = mark.counter
    if (mark.state !== EntryState.lingering && mark.state !== EntryState.closed && mark.state !== EntryState.removed) {
      throw new InvalidIntervalError(`marks[${i}].state`, mark.state, '1 (lingering), 2 (closed) or 3 (removed)')
    }
    if (!isCount(mark.reason) || mark.reason > 255) {
      throw new InvalidIntervalError(`marks[${i}].reason`, mark.reason, 'an integer from 0 to 255')
    }
  }
  return ordered
}

/** From the last mark back: the last of a dot agrees with the entries, those before it have lower states. */
function checkMarksTogether(interval: DeltaInterval, ordered: boolean): void {
  const { marks } = interval
  const later = ordered ? undefined : new Map<number, EntryState>()
  for (let i = marks.length - 1; i >= 0; i--) {
    const { counter, state } = marks[i] as Mark
    const next = later?.get(counter)
    later?.set(counter, state)
    if (next === undefined) {
      checkAgainstAdds(interval, i)
    } else if (state >= next) {
      throw new InvalidIntervalError(`marks[${i}].state`, state, `below ${next}, to which dot ${counter} is moved after it`)
    }
  }
}

function checkAgainstAdds({ adds, from, to, marks }: DeltaInterval, index: number): void {
  const { counter, state } = marks[index] as Mark
  if (counter <= from || counter > to) {
    return
  }
  const entry = find(adds, counter)
  if (entry === undefined && state !== EntryState.removed) {
    throw new InvalidIntervalError(`marks[${index}].state`, state, `3 (removed): dot ${counter} is not among the entries`)
  }
  if (entry !== undefined && entry.state !== state) {
    throw new InvalidIntervalError(`marks[${index}].state`, state, `${entry.state}, the state of the entry with dot ${counter}`)
  }
}

function find(adds: readonly Entry[], counter: number): Entry | undefined {
  let low = 0
  let high = adds.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((adds[middle] as Entry).counter < counter) {
      low = middle + 1
    } else {
      high = middle
    }
  }
  const entry = adds[low]
  return entry !== undefined && entry.counter === counter ? entry : undefined
}

function checkCount(field: string, value: unknown): void {
  if (!isCount(value)) {
    throw new InvalidIntervalError(field, value, INTEGER)
  }
}

/** A plain object with known fields only, inherited ones included. */
function checkFields(field: string, value: unknown, isKnown: (name: string) => boolean, allowed: string): void {
  if (typeof value !== 'object' || value === null) {
    throw new InvalidIntervalError(field, value, allowed)
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new InvalidIntervalError(field, value, `${allowed}, without a prototype of its own`)
  }
  for (const name in value) {
    if (!isKnown(name)) {
      throw new InvalidIntervalError(`${field}.${name.slice(0, 40)}`, (value as Record<string, unknown>)[name], 'no such field')
    }
  }
}

function isIntervalField(name: string): boolean {
  switch (name) {
    case 'replica':
    case 'shard':
    case 'from':
    case 'to':
    case 'since':
    case 'asOf':
    case 'adds':
    case 'marks':
      return true
    default:
      return false
  }
}

function isRefField(name: string): boolean {
  return name === 'id' || name === 'incarnation'
}

function isMarkField(name: string): boolean {
  return name === 'event' || name === 'counter' || name === 'state' || name === 'reason'
}
