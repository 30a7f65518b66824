import { OrMap } from '../src/crdt/index.ts'
import type { BenchOptions, Row } from './harness.ts'
import { atLeast, atMost, heldBytes, row } from './harness.ts'
import { fullStateRows } from './support/full-state.ts'
import { IntervalSource } from './support/interval-source.ts'
import type { Kind, Merging } from './support/merge-cost.ts'
import { fill, KINDS, microsecondsPerDelta } from './support/merge-cost.ts'
import { ScanningMap } from './support/scanning-map.ts'

export const name = 'merge'
export const description = 'the map: deltas merged into 1 k … 1 M resident entries, memory, full states; beside a table-scanning map'

const SELF = { id: 'receiver', incarnation: 1 }
const DELTA_SIZES = [1, 100, 1_000]

interface Subject {
  readonly size: number
  readonly map: Merging
  readonly source: IntervalSource
  /** Microseconds per delta, one number per repetition, by kind and size of the delta. */
  readonly costs: Map<string, number[]>
}

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  const sizes = quick ? [1_000, 10_000, 100_000] : [1_000, 10_000, 100_000, 1_000_000]
  const repetitions = quick ? 3 : 9
  warmUp()
  const fillRows: Row[] = []
  const ours = sizes.map(size => createOurs(size, fillRows))
  // Sizes take turns, so that neither the compiler's warm-up nor a neighbour's load favours one of them.
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const subject of ours) {
      for (const deltaSize of DELTA_SIZES) {
        for (const kind of KINDS) {
          sample(subject, kind, deltaSize)
        }
      }
    }
  }
  const costs = ours.flatMap(costRows)
  const flatness = flatnessRows(ours[0] as Subject, ours.at(-1) as Subject)
  const peers = sizes.flatMap((size, i) => peerRows(size, ours[i] as Subject))
  ours.length = 0
  return [...fillRows, ...costs, ...flatness, ...peers, ...(await fullStateRows(quick ? 20_000 : 100_000, repetitions))]
}

/** A filled map; adds the rows of speed and memory while it grew. */
function createOurs(size: number, rows: Row[]): Subject {
  const before = heldBytes()
  const map = new OrMap({ self: SELF })
  const source = new IntervalSource('owner')
  const rates = fill(map, source, size)
  if (size >= 100_000) {
    // The source keeps one number per entry, which is not the map's.
    const bytes = (heldBytes() - before - 8 * size) / size
    rows.push(
      atLeast(row(`${label(size)}: entries hashed and merged in batches of 1,000`, 'entries/s', rates), 300_000),
      atMost(row(`${label(size)}: memory per entry`, 'B', [bytes]), 350)
    )
  }
  return { size, map, source, costs: new Map() }
}

function sample({ map, source, costs }: Subject, kind: Kind, deltaSize: number, deltas?: number): void {
  const key = `${deltaSize} ${kind}`
  const samples = costs.get(key) ?? []
  samples.push(microsecondsPerDelta(map, source, kind, deltaSize, deltas))
  costs.set(key, samples)
}

function costRows({ size, costs }: Subject): Row[] {
  return [...costs].map(([key, samples]) => {
    const measured = row(`${label(size)}: delta of ${key}`, 'µs', samples)
    return key === '1 joins' ? atMost(measured, 10) : measured
  })
}

/** What a delta of one costs in the largest map, as a multiple of what it costs in the smallest; pairs of neighbours in time. */
function flatnessRows(smallest: Subject, largest: Subject): Row[] {
  return KINDS.map(kind => {
    const small = smallest.costs.get(`1 ${kind}`) as number[]
    const large = largest.costs.get(`1 ${kind}`) as number[]
    const ratios = large.map((us, i) => us / (small[i] as number))
    const measured = row(`delta of 1 ${kind}: ${label(largest.size)} over ${label(smallest.size)}`, '×', ratios)
    return kind === 'joins' ? atMost(measured, 5) : measured
  })
}

/** The table-scanning map on the same kind of intervals, and ours again beside it: how many times as long it takes. */
function peerRows(size: number, ours: Subject): Row[] {
  const rows: Row[] = []
  for (const scansAlways of [true, false]) {
    const peer: Subject = { size, map: new ScanningMap({ scansAlways }), source: new IntervalSource('owner'), costs: new Map() }
    fill(peer.map, peer.source, size)
    const title = `${label(size)}: ${scansAlways ? 'scanning map' : 'scan skipped without leaves'}`
    for (const kind of ['joins', 'leaves'] as const) {
      const scans = scansAlways || kind === 'leaves'
      const ratios: number[] = []
      for (let repetition = 0; repetition < 5; repetition++) {
        sample(ours, kind, 1)
        sample(peer, kind, 1, scans ? Math.ceil(200_000 / size) : undefined)
        ratios.push(last(peer.costs, kind) / last(ours.costs, kind))
      }
      rows.push(row(`${title}, delta of 1 ${kind}`, 'µs', peer.costs.get(`1 ${kind}`) as number[]))
      rows.push(row(`${title}, delta of 1 ${kind}, over ours`, '×', ratios))
    }
  }
  return rows
}

function last(costs: Subject['costs'], kind: Kind): number {
  return costs.get(`1 ${kind}`)?.at(-1) as number
}

/** Until the compiler has seen everything often enough: the first size must not pay for all. */
function warmUp(): void {
  const subject: Subject = { size: 0, map: new OrMap({ self: SELF }), source: new IntervalSource('owner'), costs: new Map() }
  fill(subject.map, subject.source, 20_000)
  for (let round = 0; round < 100; round++) {
    for (const kind of KINDS) {
      sample(subject, kind, 1)
      sample(subject, kind, 100)
    }
  }
}

function label(size: number): string {
  return size >= 1_000_000 ? `${size / 1_000_000} M` : `${size / 1_000} k`
}
