import type { WorkerEvents, WorkerNumbers, WorkerSnapshot } from './worker-protocol.ts'

/** One point of a curve: seconds since the start, and a value. */
export type Point = readonly [seconds: number, value: number]

/** One replica over the run. */
export interface ReplicaNumbers {
  /** Presences listed, at each check. */
  readonly listed: readonly Point[]
  readonly rssMb: readonly Point[]
  readonly rssMaxMb: number
  readonly loopP99MaxMs: number
  readonly cpuShare: number
  /** The tracker's own counters, as last read. */
  readonly stats: Readonly<Record<string, number>>
}

/** The run as a whole. */
export interface RunNumbers {
  readonly droveSeconds: number
  readonly settledSeconds: number
  /** Operations of clients in each second. */
  readonly operationsPerSecond: readonly Point[]
  /** Over all links, both ways, while driven: libp2p, encryption and heartbeats included. */
  readonly wireBytes: number
  readonly isolatedTimes: number
  readonly replicas: readonly ReplicaNumbers[]
}

interface ReplicaLog {
  readonly listed: Point[]
  readonly rssMb: Point[]
  rssMaxMb: number
  loopP99MaxMs: number
  cpuMs: number
  cpuBefore: number
  stats: Record<string, number>
}

/** Collects what happened over time, for the report. */
export class RunLog {
  readonly #replicas: readonly ReplicaLog[]
  readonly #operations = new Map<number, number>()
  #startMs = 0
  #startBytes = 0
  #droveMs = 0
  #wireBytes = 0
  #settledMs = 0
  #isolated = 0

  constructor(replicas: number) {
    this.#replicas = Array.from({ length: replicas }, () => ({
      listed: [],
      rssMb: [],
      rssMaxMb: 0,
      loopP99MaxMs: 0,
      cpuMs: 0,
      cpuBefore: 0,
      stats: {}
    }))
  }

  /** When driving began. */
  get startMs(): number {
    return this.#startMs
  }

  begin(nowMs: number, bytes: number): void {
    this.#startMs = nowMs
    this.#startBytes = bytes
  }

  drove(nowMs: number, bytes: number): void {
    this.#droveMs = nowMs - this.#startMs
    this.#wireBytes = bytes - this.#startBytes
  }

  settled(ms: number): void {
    this.#settledMs = ms
  }

  operations(nowMs: number, count: number): void {
    const second = Math.floor((nowMs - this.#startMs) / 1_000)
    this.#operations.set(second, (this.#operations.get(second) ?? 0) + count)
  }

  heard(_replica: number, events: WorkerEvents): void {
    this.#isolated += events.isolated.filter(({ isolated }) => isolated).length
  }

  listed(replica: number, snapshot: WorkerSnapshot): void {
    this.#replicas[replica]?.listed.push([this.#seconds(snapshot.atMs), snapshot.topics.length])
  }

  numbers(replica: number, nowMs: number, numbers: WorkerNumbers): void {
    const log = this.#replicas[replica] as ReplicaLog
    const rssMb = numbers.rssBytes / 2 ** 20
    log.rssMb.push([this.#seconds(nowMs), rssMb])
    log.rssMaxMb = Math.max(log.rssMaxMb, rssMb)
    log.loopP99MaxMs = Math.max(log.loopP99MaxMs, numbers.loopP99Ms)
    // A restarted process counts from 0 again.
    log.cpuMs += numbers.cpuMs >= log.cpuBefore ? numbers.cpuMs - log.cpuBefore : numbers.cpuMs
    log.cpuBefore = numbers.cpuMs
    log.stats = { ...numbers.stats }
  }

  summary(): RunNumbers {
    return {
      droveSeconds: this.#droveMs / 1_000,
      settledSeconds: this.#settledMs / 1_000,
      operationsPerSecond: [...this.#operations].sort(([a], [b]) => a - b),
      wireBytes: this.#wireBytes,
      isolatedTimes: this.#isolated,
      replicas: this.#replicas.map(({ listed, rssMb, rssMaxMb, loopP99MaxMs, cpuMs, stats }) => ({
        listed,
        rssMb,
        rssMaxMb,
        loopP99MaxMs,
        cpuShare: cpuMs / Math.max(1, this.#droveMs),
        stats
      }))
    }
  }

  #seconds(atMs: number): number {
    return Math.round(atMs - this.#startMs) / 1_000
  }
}
