import type { PullRequest } from '../../crdt/delta-interval.ts'
import { MAX_COUNTER, MAX_SHARD } from '../../crdt/dot.ts'
import type { Pull } from '../../tracker/messages.ts'
import { checkedList, checkInteger } from './checks.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'
import type { ReplicaTable } from './replica-table.ts'
import { column, countOf, emptyColumns, readTable, table, writeTable } from './table.ts'

const REQUESTS = table({
  replica: column('requests.replica', 0, 2 ** 32),
  head: column('requests.head', 0, MAX_COUNTER),
  shard: column('requests.shard', 0, MAX_SHARD),
  /** Whether a cursor follows. */
  cursor: column('requests.cursor', 0, 1)
})

const CURSORS = table({
  to: column('requests.cursor.to', 0, MAX_COUNTER),
  /** asOf − to */
  ahead: column('requests.cursor.asOf', 0, MAX_COUNTER)
})

/** Layout: table of replicas, requests. */
export function writePull(payload: PayloadWriter, pull: Pull): void {
  nameRequests(payload, pull.requests)
  payload.replicas.write(payload.writer)
  writeRequests(payload, pull.requests)
}

/** @throws InvalidFrameError */
export function readPull(payload: PayloadReader): Pull {
  return { type: 'pull', requests: readRequests(payload, payload.replicas()) }
}

/** Puts all refs into the table of replicas, which stands first. @throws InvalidFrameError */
export function nameRequests({ replicas, limits }: PayloadWriter, requests: readonly PullRequest[]): void {
  for (const request of checkedList('requests', requests, limits.requests)) {
    replicas.ref(request.replica)
  }
}

/** Layout: number of requests, their table, the cursors of those that have one. */
export function writeRequests({ writer, replicas }: PayloadWriter, requests: readonly PullRequest[]): void {
  const rows = emptyColumns(REQUESTS)
  const cursors = emptyColumns(CURSORS)
  for (const { replica, shard, head, cursor } of requests) {
    rows.replica.push(replicas.ref(replica))
    rows.head.push(head)
    rows.shard.push(shard)
    rows.cursor.push(cursor === null ? 0 : 1)
    if (cursor !== null) {
      checkInteger('requests.cursor.asOf', cursor.asOf, MAX_COUNTER)
      checkInteger('requests.cursor.to', cursor.to, cursor.asOf)
      cursors.to.push(cursor.to)
      cursors.ahead.push(cursor.asOf - cursor.to)
    }
  }
  writer.varint(requests.length)
  writeTable(writer, REQUESTS, rows)
  writeTable(writer, CURSORS, cursors)
}

/** @throws InvalidFrameError */
export function readRequests({ reader, limits }: PayloadReader, replicas: ReplicaTable): PullRequest[] {
  const rows = readTable(reader, REQUESTS, reader.integer('requests', limits.requests))
  const { to, ahead } = readTable(reader, CURSORS, countOf(rows.cursor, 1))
  let next = 0
  const readCursor = (): PullRequest['cursor'] => {
    const cursor = { to: to[next] as number, asOf: (to[next] as number) + (ahead[next] as number) }
    checkInteger('requests.cursor.asOf', cursor.asOf, MAX_COUNTER)
    next++
    return cursor
  }
  return Array.from(rows.head, (head, i) => ({
    replica: replicas.ref(rows.replica[i] as number, 'requests.replica'),
    shard: rows.shard[i] as number,
    head,
    cursor: rows.cursor[i] === 1 ? readCursor() : null
  }))
}
