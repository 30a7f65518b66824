import type { BenchOptions, Row } from './harness.ts'
import { atLeast, atMost, collectGarbage, heldBytes, median, row, timeMs } from './harness.ts'
import { type Add, createWorkload, type Fleet, SPREAD_MS, TTL_MS, type Workload } from './support/fleet.ts'
import { NaiveFleet } from './support/naive-fleet.ts'
import { TableFleet } from './support/table-fleet.ts'

export const name = 'connections'
export const description = 'heartbeat, connect, disconnect and expiry of 1 M connections of 500 k users; beside Maps of objects with a heap'

/** What a sweep may take before it returns to the event loop. */
const SLICE_MS = 5
const HEARTBEAT_PASSES = 3
/** A process that serves a million connections has run all this often: its code is compiled. */
const WARM_UP_ROUNDS = 6
const WARM_UP_COUNT = 50_000
/** Names that are let go in one slice; one costs up to a microsecond. */
const FORGET_SLICE = 2_000

/**
 * How much longer the naive design takes than the reference in Rust (a hash map, a heap of timers), measured side by side for the
 * project's choice of design: bench/README.md. The naive time of this run divided by it stands for Rust on this machine.
 */
const NAIVE_TO_RUST = { 'heartbeat, by what the caller holds': 1.6, 'expire all': 4.3, 'connect, warm': 7.1, disconnect: 5.9 } as const

/** Nanoseconds per connection, or what the name says, one number per repetition. */
type Samples = Map<string, number[]>

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  const count = quick ? 100_000 : 1_000_000
  const repetitions = 3
  const [table, naive]: [Samples, Samples] = [new Map(), new Map()]
  const both = (ofNaive: Samples, ofTable: Samples, size: number, seed: string): void => {
    measure(ofNaive, createWorkload(size, size / 2, seed), work => new NaiveFleet(work))
    measure(ofTable, createWorkload(size, size / 2, seed), work => new TableFleet(work), measureTable)
  }
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    both(new Map(), new Map(), WARM_UP_COUNT, `warm-up ${round}`)
  }
  for (let repetition = 0; repetition < repetitions; repetition++) {
    both(naive, table, count, `connections ${repetition}`)
  }
  return [...comparisons(table, naive), ...rustRows(table, naive), ...ownRows(table)]
}

function measure<F extends Fleet>(
  samples: Samples,
  work: Workload,
  create: (work: Workload) => F,
  more?: (add: Add, fleet: F, work: Workload) => void
): void {
  const add: Add = (name, value) => {
    samples.set(name, [...(samples.get(name) ?? []), value])
  }
  const nsEach = (name: string, task: () => void): void => add(name, (timeMs(task) * 1e6) / work.count)
  const before = heldBytes()
  const fleet = create(work)
  nsEach('connect, growing', () => fleet.connectAll(0))
  add('memory per connection', (heldBytes() - before) / work.count)
  prepare(fleet)
  nsEach('disconnect', () => fleet.disconnectAll())
  nsEach('forget users who are offline', () => fleet.forgetUsers())
  collectGarbage()
  nsEach('connect, warm', () => fleet.connectAll(0))
  prepare(fleet)
  heartbeats(add, fleet, work)
  nsEach('all due, none expired', () => check(0, fleet.expire(SPREAD_MS + TTL_MS)))
  nsEach('expire all', () => check(work.count, fleet.expire(30_000 + SPREAD_MS + TTL_MS)))
  fleet.forgetUsers()
  more?.(add, fleet, work)
}

function prepare(fleet: Fleet): void {
  if (fleet instanceof TableFleet) {
    fleet.shuffle()
  }
  collectGarbage()
}

/** The first pass warms up. */
function heartbeats(add: Add, fleet: Fleet, work: Workload): void {
  const texts = fleet.freshTexts()
  collectGarbage()
  add('heartbeat, by the text of its id', (timeMs(() => check(work.count, fleet.heartbeatTexts(texts, 15_000))) * 1e6) / work.count)
  const passes = Array.from({ length: 1 + HEARTBEAT_PASSES }, (_, pass) =>
    timeMs(() => check(work.count, fleet.heartbeatAll(16_000 + pass)))
  )
  add('heartbeat, by what the caller holds', (median(passes.slice(1)) * 1e6) / work.count)
}

/** What only the table can do: an idle sweep, and expiry in slices. */
function measureTable(add: Add, fleet: TableFleet, work: Workload): void {
  fleet.connectAll(100_000)
  fleet.expire(100_000)
  fleet.shuffle()
  collectGarbage()
  const heapBefore = process.memoryUsage().heapUsed
  check(work.count, fleet.heartbeatAll(115_000))
  add('heap allocated per heartbeat', Math.max(0, process.memoryUsage().heapUsed - heapBefore) / work.count)
  add('sweep with nothing due', timeMs(() => check(0, fleet.expire(100_001))) * 1_000)
  collectGarbage()
  const expiry = slices(() => {
    const start = performance.now()
    return fleet.expire(115_000 + SPREAD_MS + TTL_MS, () => performance.now() - start > SLICE_MS)
  }, work.count)
  add('expire all in slices, total', expiry.totalMs)
  add('expire all in slices, longest', expiry.longestMs)
  add('forget users in slices, longest', slices(() => fleet.forgetUsers(FORGET_SLICE), Infinity).longestMs)
  add('a loop of such slices that does nothing, longest', idleSlices(expiry.totalMs))
}

/** Until `wanted` things were done, or nothing is left to do. */
function slices(slice: () => number, wanted: number): { totalMs: number; longestMs: number } {
  let [totalMs, longestMs, done] = [0, 0, 0]
  for (let last = 1; done < wanted && last > 0; ) {
    const ms = timeMs(() => {
      last = slice()
    })
    done += last
    totalMs += ms
    longestMs = Math.max(longestMs, ms)
  }
  return { totalMs, longestMs }
}

/** The longest slice of a loop that only waits: what other processes on the machine add. */
function idleSlices(totalMs: number): number {
  let longestMs = 0
  for (const start = performance.now(); performance.now() - start < totalMs; ) {
    const ms = timeMs(() => {
      for (const from = performance.now(); performance.now() - from <= SLICE_MS; );
    })
    longestMs = Math.max(longestMs, ms)
  }
  return longestMs
}

function comparisons(table: Samples, naive: Samples): Row[] {
  return [...naive.keys()].flatMap(what => {
    const unit = what.startsWith('memory') ? 'B' : 'ns'
    const ratio = row(`${what}: naive ÷ Rollcall`, '×', ratios(naive, table, what))
    const floor = what.startsWith('heartbeat') ? 5 : what === 'expire all' ? 20 : undefined
    const ours = row(`${what}: Rollcall`, unit, table.get(what) as number[])
    return [
      unit === 'B' ? atMost(ours, 64) : what.startsWith('heartbeat') ? atMost(ours, 250) : ours,
      row(`${what}: naive`, unit, naive.get(what) as number[]),
      floor === undefined ? ratio : atLeast(ratio, floor)
    ]
  })
}

function rustRows(table: Samples, naive: Samples): Row[] {
  const floors: Record<string, number> = { 'heartbeat, by what the caller holds': 2.5, 'expire all': 10 }
  return Object.entries(NAIVE_TO_RUST).map(([what, naiveToRust]) => {
    const ratio = row(
      `${what}: Rust (naive ÷ ${naiveToRust}) ÷ Rollcall`,
      '×',
      ratios(naive, table, what).map(value => value / naiveToRust)
    )
    const floor = floors[what]
    return floor === undefined ? ratio : atLeast(ratio, floor)
  })
}

function ownRows(table: Samples): Row[] {
  const of = (name: string, unit: string, what: string): Row => row(name, unit, table.get(what) as number[])
  return [
    atMost(lowest(of('heartbeat: heap allocated, best run', 'B', 'heap allocated per heartbeat')), 0.1),
    of('expire all in slices: total', 'ms', 'expire all in slices, total'),
    atMost(lowest(of('expire all in slices: longest slice, best run', 'ms', 'expire all in slices, longest')), 10),
    of('slices that do nothing: longest (what the machine adds)', 'ms', 'a loop of such slices that does nothing, longest'),
    of('forget users in slices of 2,000: longest slice', 'ms', 'forget users in slices, longest'),
    of('sweep with nothing due', 'µs', 'sweep with nothing due')
  ]
}

/** Other processes that take the core for a while, and code that is compiled anew, show in all runs but the best. */
function lowest(measured: Row): Row {
  return { ...measured, value: measured.spread?.[0] ?? Number.NaN }
}

/** Repetition by repetition: what slows one down mostly slows the other down too. */
function ratios(above: Samples, below: Samples, what: string): number[] {
  const divisors = below.get(what) as number[]
  return (above.get(what) as number[]).map((value, repetition) => value / (divisors[repetition] as number))
}

function check(expected: number, actual: number): void {
  if (actual !== expected) {
    throw new Error(`${actual} connections, expected were ${expected}: the bench measures something else than it says`)
  }
}
