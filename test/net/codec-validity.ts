import { type DeltaInterval, isEntry, MAX_COUNTER, MAX_REPLICA_ID_LENGTH, type ReplicaRef } from '../../src/crdt/index.ts'
import { DEFAULT_FRAME_LIMITS } from '../../src/net/codec.ts'
import type { Message } from '../../src/tracker/messages.ts'

/**
 * What a decoded message promises to those who read it, said once more and independently of the decoder.
 *
 * @throws Error that names the broken promise
 */
export function assertValid(message: Message): void {
  walk(message, '')
  if (message.type === 'delta') {
    assert(sum(message.intervals, one => one.adds.length) <= DEFAULT_FRAME_LIMITS.adds, 'number of adds')
    assert(sum(message.intervals, one => one.marks.length) <= DEFAULT_FRAME_LIMITS.marks, 'number of marks')
    message.intervals.forEach(assertInterval)
  }
  const requests = message.type === 'pull' ? message.requests : message.type === 'hello' && message.want !== 'all' ? message.want : []
  for (const { cursor } of requests) {
    assert(cursor === null || cursor.to <= cursor.asOf, 'cursor')
  }
}

function assertInterval({ shard, from, to, since, asOf, adds, marks }: DeltaInterval): void {
  assert(shard <= 65_535, 'shard')
  assert(from <= to && to <= asOf && from <= since && since <= asOf, 'the four numbers of an interval')
  let dot = from
  for (const entry of adds) {
    assert(isEntry(entry) && entry.counter > dot && entry.counter <= to && entry.state <= 2, 'dot or state of an entry')
    assert(/^[\w-]{16}$/.test(entry.session), 'session')
    assert(
      [entry.topic, entry.key, entry.user].every(text => Buffer.byteLength(text) <= 1_024),
      'length of a name'
    )
    assert(entry.over.length <= DEFAULT_FRAME_LIMITS.oversPerEntry, 'number of replaced owners')
    dot = entry.counter
  }
  let event = since
  for (const mark of marks) {
    assert(mark.event > event && mark.event <= asOf && mark.counter >= 1 && mark.counter < mark.event, 'event or dot of a mark')
    assert(mark.state >= 1 && mark.state <= 3 && mark.reason <= 255, 'state or reason of a mark')
    event = mark.event
  }
}

/** Every number is a counter but the lanes of entries' hashes, every text well-formed, every ref a ref. */
function walk(value: unknown, name: string): void {
  if (typeof value === 'number') {
    assert(name.startsWith('hash') || (Number.isInteger(value) && value >= 0 && value <= MAX_COUNTER), `number ${name}`)
  } else if (typeof value === 'string') {
    assert(value.isWellFormed(), `text ${name}`)
  } else if (typeof value === 'object' && value !== null) {
    if ('incarnation' in value) {
      const { id } = value as ReplicaRef
      assert(id.length > 0 && id.length <= MAX_REPLICA_ID_LENGTH, 'length of an id')
    }
    for (const [key, item] of Object.entries(value)) {
      walk(item, key)
    }
  }
}

function sum<T>(items: readonly T[], size: (item: T) => number): number {
  return items.reduce((total, item) => total + size(item), 0)
}

function assert(condition: boolean, promise: string): void {
  if (!condition) {
    throw new Error(`broken promise: ${promise}`)
  }
}
