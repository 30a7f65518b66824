import type { DeltaInterval } from '../../crdt/delta-interval.ts'
import { MAX_COUNTER, MAX_SHARD } from '../../crdt/dot.ts'
import type { Delta } from '../../tracker/messages.ts'
import { AddsReader, AddsWriter } from './adds.ts'
import { bitOf, checkCount, checkedList, checkInteger } from './checks.ts'
import { MarksReader, MarksWriter } from './marks.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'
import type { ReplicaTable } from './replica-table.ts'
import { type Columns, column, emptyColumns, readTable, table, writeTable } from './table.ts'

const ANSWER = 1
/** Bits of the flags that version 1 knows; bit 1 is kept for a frame with bare adds. */
const FLAGS = ANSWER

const COUNT = 2 ** 32

/** The fallbacks are a plain interval of the sender without marks: since = from, asOf = to. */
const INTERVALS = table({
  from: column('intervals.from', 0, MAX_COUNTER),
  /** to − from */
  span: column('intervals.to', 0, MAX_COUNTER),
  adds: column('adds', 0, COUNT),
  marks: column('marks', 0, COUNT),
  replica: column('intervals.replica', 0, COUNT),
  shard: column('intervals.shard', 0, MAX_SHARD),
  /** since − from */
  since: column('intervals.since', 0, MAX_COUNTER),
  /** asOf − max(to, since) */
  asOf: column('intervals.asOf', 0, MAX_COUNTER)
})

/** Layout: flags, replicas, number of intervals, their table, adds, marks. */
export function writeDelta(payload: PayloadWriter, delta: Delta): void {
  const { writer, replicas, limits } = payload
  const rows = emptyColumns(INTERVALS)
  const adds = new AddsWriter(payload)
  const marks = new MarksWriter(limits)
  for (const interval of checkedList('intervals', delta.intervals, limits.intervals)) {
    checkSpan(interval)
    rows.replica.push(replicas.ref(interval.replica))
    adds.take(interval)
    marks.take(interval)
    takeInterval(rows, interval)
  }
  writer.byte(bitOf('answer', delta.answer) * ANSWER)
  replicas.write(writer)
  writer.varint(delta.intervals.length)
  writeTable(writer, INTERVALS, rows)
  adds.write(writer)
  marks.write(writer)
}

/** @throws InvalidFrameError */
export function readDelta(payload: PayloadReader): Delta {
  const { reader, limits } = payload
  const flags = reader.integer('flags', FLAGS)
  const replicas = payload.replicas()
  const count = reader.integer('intervals', limits.intervals)
  const rows = readTable(reader, INTERVALS, count)
  const adds = new AddsReader(payload, total('adds', rows.adds, limits.adds), replicas)
  const marks = new MarksReader(reader, total('marks', rows.marks, limits.marks))
  const intervals: DeltaInterval[] = []
  for (let i = 0; i < count; i++) {
    intervals.push(readInterval(rows, i, replicas, adds, marks))
  }
  return { type: 'delta', intervals, answer: flags === ANSWER }
}

function takeInterval(rows: Columns<typeof INTERVALS>, interval: DeltaInterval): void {
  rows.shard.push(interval.shard)
  rows.from.push(interval.from)
  rows.span.push(interval.to - interval.from)
  rows.since.push(interval.since - interval.from)
  rows.asOf.push(interval.asOf - Math.max(interval.to, interval.since))
  rows.adds.push(interval.adds.length)
  rows.marks.push(interval.marks.length)
}

function readInterval(
  rows: Columns<typeof INTERVALS>,
  row: number,
  replicas: ReplicaTable,
  adds: AddsReader,
  marks: MarksReader
): DeltaInterval {
  const from = rows.from[row] as number
  const to = from + (rows.span[row] as number)
  const since = from + (rows.since[row] as number)
  const asOf = Math.max(to, since) + (rows.asOf[row] as number)
  checkSpan({ from, to, since, asOf })
  return {
    replica: replicas.ref(rows.replica[row] as number, 'intervals.replica'),
    shard: rows.shard[row] as number,
    from,
    to,
    since,
    asOf,
    adds: adds.take(rows.adds[row] as number, from, to),
    marks: marks.take(rows.marks[row] as number, since, asOf)
  }
}

function checkSpan({ from, to, since, asOf }: Pick<DeltaInterval, 'from' | 'to' | 'since' | 'asOf'>): void {
  checkInteger('intervals.from', from, MAX_COUNTER)
  checkInteger('intervals.asOf', asOf, MAX_COUNTER, from)
  checkInteger('intervals.to', to, asOf, from)
  checkInteger('intervals.since', since, asOf, from)
}

function total(field: string, counts: readonly number[], max: number): number {
  let sum = 0
  for (const count of counts) {
    sum += count
    checkCount(field, sum, max)
  }
  return sum
}
