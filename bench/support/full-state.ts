import { PerformanceObserver } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { DeltaInterval, Entry, EntryContent } from '../../src/crdt/index.ts'
import { createEntry, OrMap } from '../../src/crdt/index.ts'
import type { Row } from '../harness.ts'
import { atMost, format, row, timeMs } from '../harness.ts'
import { contentOf } from './interval-source.ts'

const SLICE_BYTES = 60_000

/** Milliseconds, by `busyMs`. */
interface Slice {
  readonly serveMs: number
  readonly makeMs: number
  readonly mergeMs: number
}

/**
 * A newcomer takes all of one replica, in slices of at most 60 kB, and makes each entry anew from its texts, as a decoder does.
 * It yields to the event loop between slices. The collector's longest pause is told beside them: it falls where memory is asked for,
 * mostly into the making of the texts, which is not measured.
 */
export async function fullStateRows(size: number, repetitions: number): Promise<Row[]> {
  const owner = new OrMap({ self: { id: 'owner', incarnation: 1 } })
  for (let n = 1; n <= size; n++) {
    owner.add(contentOf(n))
  }
  const runs: Slice[][] = []
  const pauses = await collectorPausesMs(async () => {
    for (let repetition = 0; repetition < repetitions; repetition++) {
      runs.push(await transfer(owner))
    }
  })
  const name = `full state of ${format(size)}`
  const totals = (part: (slice: Slice) => number): number[] => runs.map(slices => slices.reduce((sum, slice) => sum + part(slice), 0))
  const longest = runs.map(slices => Math.max(...slices.map(wholeMs)))
  return [
    row(
      `${name}: served`,
      'ms',
      totals(slice => slice.serveMs)
    ),
    row(
      `${name}: entries made and hashed`,
      'ms',
      totals(slice => slice.makeMs)
    ),
    row(
      `${name}: merged`,
      'ms',
      totals(slice => slice.mergeMs)
    ),
    atMost(row(`${name}: all three`, 'ms', totals(wholeMs)), 500),
    atMost(row(`${name}: longest of ${runs[0]?.length} slices`, 'ms', longest), 5),
    row(`${name}: pauses of the collector meanwhile`, 'ms', pauses)
  ]
}

async function transfer(owner: OrMap): Promise<Slice[]> {
  const receiver = new OrMap({ self: { id: 'newcomer', incarnation: 1 } })
  const slices: Slice[] = []
  for (;;) {
    let interval: DeltaInterval | undefined
    const serveMs = timeMs(() => {
      interval = owner.serve(receiver.request(owner.self), { bytes: SLICE_BYTES })
    })
    if (interval === undefined) {
      break
    }
    slices.push({ serveMs, ...take(receiver, interval) })
    await setImmediate()
  }
  if (receiver.count !== owner.count || receiver.record(owner.self)?.complete !== true) {
    throw new Error(`The transfer ended with ${receiver.count} of ${owner.count} entries`)
  }
  return slices
}

/** The making of the texts is the decoder's, and not measured here. */
function take(receiver: OrMap, interval: DeltaInterval): { makeMs: number; mergeMs: number } {
  const contents = interval.adds.map(entry => contentOf(entry.counter))
  let adds: Entry[] = []
  const makeMs = timeMs(() => {
    adds = interval.adds.map((entry, i) => createEntry(contents[i] as EntryContent, entry.counter, entry.state))
  })
  return { makeMs, mergeMs: timeMs(() => receiver.merge({ ...interval, adds })) }
}

function wholeMs({ serveMs, makeMs, mergeMs }: Slice): number {
  return serveMs + makeMs + mergeMs
}

async function collectorPausesMs(task: () => Promise<void>): Promise<number[]> {
  const pauses: number[] = []
  const observer = new PerformanceObserver(list => pauses.push(...list.getEntries().map(entry => entry.duration)))
  observer.observe({ entryTypes: ['gc'] })
  await task()
  await setImmediate()
  observer.disconnect()
  return pauses
}
