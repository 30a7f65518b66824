import { MAX_COUNTER } from '../../crdt/dot.ts'
import type { Heartbeat, RelayedCounter } from '../../tracker/messages.ts'
import { checkedList } from './checks.ts'
import { readHash, readLane, writeHash, writeLane } from './hashes.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'
import { incarnationBytes, type ReplicaTable, readIncarnation } from './replica-table.ts'
import { column, emptyColumns, readTable, table, writeTable } from './table.ts'

/** Flags 0 … 7 are the number of bytes of the sender's incarnation. */
const LENGTHS = 8
/** Of a named replica, the first in the table, and not of the sender. The length is 0. */
const NAMED = 8
/** It waited before it was sent: its age stands after the hashes. */
const AGED = 16
const RELAYS = 32
const MAX_FLAGS = 63

const RELAYED = table({
  replica: column('relayed.replica', 0, 2 ** 32),
  counter: column('relayed.counter', 0, MAX_COUNTER),
  ageMs: column('relayed.ageMs', 0, MAX_COUNTER)
})

/**
 * Layout: flags, incarnation, counter, head, hash, digest hash; then, when the flags say so: age, table of replicas, relayed counters.
 *
 * An idle one of the sender takes at most 32 bytes as a frame, the container's 4 included, while counter and head are below 2^28.
 */
export function writeHeartbeat({ writer, replicas, limits }: PayloadWriter, heartbeat: Heartbeat): void {
  const { replica, counter, ageMs, head, hash, digestHash } = heartbeat
  const named = replicas.mustName(replica)
  const bytes = named ? 0 : incarnationBytes(replica.incarnation)
  if (named) {
    replicas.ref(replica)
  }
  const relayed = checkedList('relayed', heartbeat.relayed, limits.relayed)
  writer.byte(bytes + (named ? NAMED : 0) + (ageMs === 0 ? 0 : AGED) + (relayed.length === 0 ? 0 : RELAYS))
  writer.littleEndian(replica.incarnation, bytes)
  writer.integer('counter', counter, MAX_COUNTER)
  writer.integer('head', head, MAX_COUNTER)
  writeHash(writer, 'hash', hash)
  writeLane(writer, 'digestHash', digestHash)
  if (ageMs !== 0) {
    writer.integer('ageMs', ageMs, MAX_COUNTER, 1)
  }
  const rows = emptyColumns(RELAYED)
  for (const one of relayed) {
    rows.replica.push(replicas.ref(one.replica))
    rows.counter.push(one.counter)
    rows.ageMs.push(one.ageMs)
  }
  if (named || relayed.length > 0) {
    replicas.write(writer)
  }
  if (relayed.length > 0) {
    writer.varint(relayed.length)
    writeTable(writer, RELAYED, rows)
  }
}

/** @throws InvalidFrameError */
export function readHeartbeat(payload: PayloadReader): Heartbeat {
  const { reader } = payload
  const flags = reader.integer('flags', MAX_FLAGS)
  const named = (flags & NAMED) !== 0
  if (named && flags % LENGTHS !== 0) {
    throw new InvalidFrameError('flags', flags, 'no length of an incarnation beside a named replica')
  }
  const incarnation = readIncarnation(reader, flags % LENGTHS)
  const counter = reader.integer('counter', MAX_COUNTER)
  const head = reader.integer('head', MAX_COUNTER)
  const hash = readHash(reader, 'hash')
  const digestHash = readLane(reader, 'digestHash')
  const ageMs = (flags & AGED) === 0 ? 0 : reader.integer('ageMs', MAX_COUNTER)
  const replicas = named || (flags & RELAYS) !== 0 ? payload.replicas() : undefined
  const replica = named ? (replicas as ReplicaTable).ref(0, 'replica') : { id: payload.sender(), incarnation }
  const relayed = (flags & RELAYS) === 0 ? [] : readRelayed(payload, replicas as ReplicaTable)
  return { type: 'heartbeat', replica, counter, ageMs, head, hash, digestHash, relayed }
}

function readRelayed({ reader, limits }: PayloadReader, replicas: ReplicaTable): RelayedCounter[] {
  const rows = readTable(reader, RELAYED, reader.integer('relayed', limits.relayed))
  return Array.from(rows.counter, (counter, i) => ({
    replica: replicas.ref(rows.replica[i] as number, 'relayed.replica'),
    counter,
    ageMs: rows.ageMs[i] as number
  }))
}
