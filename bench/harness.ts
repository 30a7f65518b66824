import { execFileSync } from 'node:child_process'
import { openSync, readSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** One measured number. */
export interface Row {
  readonly name: string
  /** The median over the repetitions, where there are several. */
  readonly value: number
  readonly unit: string
  /** Lowest and highest over the repetitions. */
  readonly spread?: readonly [low: number, high: number]
  /** What the value has to reach, in words. */
  readonly bar?: string
  /** Whether it does. */
  readonly ok?: boolean
}

export interface BenchOptions {
  /** A short run on small sizes: to see that the bench works, not to quote. */
  readonly quick: boolean
}

/** What a file in bench/ exports. */
export interface Bench {
  readonly name: string
  /** One line for the list of benches. */
  readonly description: string
  run(options: BenchOptions): Promise<Row[]>
}

/** What `--json` prints as one line. */
export interface Report {
  readonly bench: string
  readonly machine: string
  readonly commit: string
  readonly rows: readonly Row[]
}

/** A row of several samples of one thing: their median and spread. */
export function row(name: string, unit: string, samples: readonly number[]): Row {
  const sorted = [...samples].sort((a, b) => a - b)
  return { name, unit, value: median(sorted), spread: [sorted[0] ?? Number.NaN, sorted.at(-1) ?? Number.NaN] }
}

/** The row with a ceiling. */
export function atMost(measured: Row, limit: number): Row {
  return { ...measured, bar: `≤ ${format(limit)}`, ok: measured.value <= limit }
}

/** The row with a floor. */
export function atLeast(measured: Row, limit: number): Row {
  return { ...measured, bar: `≥ ${format(limit)}`, ok: measured.value >= limit }
}

export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/**
 * A clock in milliseconds that stands still while this thread waits for a processor, so that a neighbour's load is not measured.
 * Where the kernel does not tell (it does on Linux), the monotonic clock. A call takes about 6 µs.
 */
export function busyMs(): number {
  if (schedule === undefined) {
    return performance.now()
  }
  // Both clocks are read as of one time slice: a wait between the two reads would be counted on one side only.
  for (let waited = waitedMs(schedule); ; ) {
    const now = performance.now()
    const waitedSince = waitedMs(schedule)
    if (waitedSince === waited) {
      return now - waited
    }
    waited = waitedSince
  }
}

/** Milliseconds that `task` takes, by `busyMs`. */
export function timeMs(task: () => void): number {
  const start = busyMs()
  task()
  return busyMs() - start
}

/** Collects garbage, twice: what the first round only finalises the second one frees. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  gc()
}

/** Bytes held by the heap and by array buffers, after a collection. */
export function heldBytes(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

export function createReport(bench: Bench, rows: readonly Row[]): Report {
  const cpu = cpus()
  const machine = `${cpu.length} × ${cpu[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`
  return { bench: bench.name, machine, commit: currentCommit(), rows }
}

/** The table that a person reads. */
export function formatReport({ bench, machine, commit, rows }: Report): string {
  const cells = rows.map(({ name, value, unit, spread, bar, ok }) => [
    name,
    format(value),
    unit,
    spread === undefined ? '' : `${format(spread[0])} … ${format(spread[1])}`,
    bar ?? '',
    ok === undefined ? '' : ok ? 'ok' : 'SHORT'
  ])
  const table = [['', 'median', 'unit', 'spread', 'bar', ''], ...cells]
  const widths = table[0]?.map((_, column) => Math.max(...table.map(line => (line[column] as string).length))) ?? []
  const lines = table.map(line =>
    line
      .map((cell, column) => (column === 1 ? cell.padStart(widths[column] as number) : cell.padEnd(widths[column] as number)))
      .join('  ')
      .trimEnd()
  )
  return [`${bench}: ${machine}, commit ${commit}`, ...lines].join('\n')
}

/** Three significant digits, thousands apart. */
export function format(value: number): string {
  if (!Number.isFinite(value)) {
    return String(value)
  }
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

/** Nanoseconds on a processor, nanoseconds of waiting for one, time slices; of the main thread. */
const schedule = openSchedule()
const scheduleText = Buffer.alloc(128)

function waitedMs(file: number): number {
  const length = readSync(file, scheduleText, 0, scheduleText.length, 0)
  return Number(scheduleText.toString('latin1', 0, length).split(' ')[1]) / 1e6
}

function openSchedule(): number | undefined {
  try {
    return openSync('/proc/thread-self/schedstat', 'r')
  } catch {
    return undefined
  }
}

function currentCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'unknown'
  }
}
