import { MAX_COUNTER, MAX_SHARD, type ReplicaId } from '../../crdt/dot.ts'
import type { Digest, DigestEntry } from '../../tracker/messages.ts'
import { bitOf, checkedList } from './checks.ts'
import { readHash, writeHash } from './hashes.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'
import type { ReplicaTable } from './replica-table.ts'
import { column, emptyColumns, readTable, table, writeTable } from './table.ts'

/** The longest grace that options accept, in ms. */
export const MAX_GRACE_MS = 2 ** 31

const REPLY = 1

/** The fallbacks are a complete record of shard 0. */
const ENTRIES = table({
  replica: column('digest.replica', 0, 2 ** 32),
  head: column('digest.head', 0, MAX_COUNTER),
  floor: column('digest.floor', 0, MAX_COUNTER),
  graceMs: column('digest.graceMs', 0, MAX_GRACE_MS),
  shard: column('digest.shard', 0, MAX_SHARD),
  /** Whether a hash follows. */
  complete: column('digest.hash', 1, 1)
})

const UNREACHED = table({ id: column('unreached', 0, 2 ** 32) })

/** Layout: flags, table of replicas, entries, ids without a stream. */
export function writeDigest(payload: PayloadWriter, digest: Digest): void {
  payload.writer.byte(bitOf('reply', digest.reply) * REPLY)
  nameDigest(payload, digest.entries, digest.unreached)
  payload.replicas.write(payload.writer)
  writeDigestEntries(payload, digest.entries)
  writeUnreached(payload, digest.unreached)
}

/** @throws InvalidFrameError */
export function readDigest(payload: PayloadReader): Digest {
  const flags = payload.reader.integer('flags', REPLY)
  const replicas = payload.replicas()
  const entries = readDigestEntries(payload, replicas)
  return { type: 'digest', entries, unreached: readUnreached(payload, replicas), reply: flags === REPLY }
}

/** Puts all refs and ids into the table of replicas, which stands first. @throws InvalidFrameError */
export function nameDigest({ replicas, limits }: PayloadWriter, entries: readonly DigestEntry[], unreached: readonly ReplicaId[]): void {
  for (const entry of checkedList('digest', entries, limits.digestEntries)) {
    replicas.ref(entry.replica)
  }
  for (const id of checkedList('unreached', unreached, limits.replicas)) {
    replicas.id(id)
  }
}

/** Layout: number of entries, their table, the hashes of the complete ones. */
export function writeDigestEntries({ writer, replicas }: PayloadWriter, entries: readonly DigestEntry[]): void {
  const rows = emptyColumns(ENTRIES)
  for (const entry of entries) {
    rows.replica.push(replicas.ref(entry.replica))
    rows.head.push(entry.head)
    rows.floor.push(entry.floor)
    rows.graceMs.push(entry.graceMs)
    rows.shard.push(entry.shard)
    rows.complete.push(entry.hash === null ? 0 : 1)
  }
  writer.varint(entries.length)
  writeTable(writer, ENTRIES, rows)
  for (const { hash } of entries) {
    if (hash !== null) {
      writeHash(writer, 'digest.hash', hash)
    }
  }
}

/** @throws InvalidFrameError */
export function readDigestEntries({ reader, limits }: PayloadReader, replicas: ReplicaTable): DigestEntry[] {
  const rows = readTable(reader, ENTRIES, reader.integer('digest', limits.digestEntries))
  return Array.from(rows.head, (head, i) => ({
    replica: replicas.ref(rows.replica[i] as number, 'digest.replica'),
    shard: rows.shard[i] as number,
    head,
    hash: rows.complete[i] === 1 ? readHash(reader, 'digest.hash') : null,
    floor: rows.floor[i] as number,
    graceMs: rows.graceMs[i] as number
  }))
}

/** Layout: number of ids, their places in the table of replicas. */
export function writeUnreached({ writer, replicas }: PayloadWriter, unreached: readonly ReplicaId[]): void {
  writer.varint(unreached.length)
  writeTable(writer, UNREACHED, { id: unreached.map(id => replicas.id(id)) })
}

/** @throws InvalidFrameError */
export function readUnreached({ reader, limits }: PayloadReader, replicas: ReplicaTable): ReplicaId[] {
  const { id } = readTable(reader, UNREACHED, reader.integer('unreached', limits.replicas))
  return Array.from(id, index => replicas.id(index))
}
