import { setTimeout } from 'node:timers/promises'
import { Fleet } from '../../src/cli/sim/fleet.ts'
import { sharedNowMs } from '../../src/cli/sim/shared-clock.ts'
import { type Op, type OpKind, SAW_JOIN, type WorkerEvents, type WorkerNumbers } from '../../src/cli/sim/worker-protocol.ts'

export interface Judgement {
  readonly observer: number
  readonly replica: number
  readonly status: string
  readonly atMs: number
}

export interface ClusterRunOptions {
  readonly replicas: number
  /** How many of them to start. Default all. */
  readonly running?: number
  readonly direct: boolean
  readonly clientHeartbeatMs?: number
  readonly flushWindowMs?: number
}

const PATIENCE_MS = 60_000

/** A fleet with default options, and what its replicas report. Times are of the shared clock, in ms. */
export class ClusterRun {
  readonly fleet: Fleet
  readonly judged: Judgement[] = []
  /** When each operation was done. */
  readonly doneMs = new Map<number, number>()
  /** Joins seen on other replicas than the owner: observer, topic and key, time. */
  readonly joins: { readonly observer: number; readonly place: string; readonly atMs: number }[] = []
  readonly #running: number
  readonly #ready = new Set<number>()
  #nextSeq = 1

  constructor({ replicas, running = replicas, direct, clientHeartbeatMs = 15_000, flushWindowMs }: ClusterRunOptions) {
    this.#running = running
    this.fleet = new Fleet({
      replicas,
      cluster: `bench-${process.pid}`,
      options: flushWindowMs === undefined ? {} : { gossip: { flushWindowMs } },
      clientHeartbeatMs,
      direct,
      listener: {
        events: (replica, events) => this.#heard(replica, events),
        ready: replica => this.#ready.add(replica),
        crashed: (replica, detail) => {
          throw new Error(`replica ${replica} ended by itself: ${detail}`)
        }
      }
    })
  }

  /** Resolves when all that were to run are ready, and know each other. */
  async start(): Promise<void> {
    await this.fleet.start(this.#running)
    await this.until('all are ready', () => this.#ready.size === this.#running)
  }

  async startLater(replica: number): Promise<void> {
    this.#ready.delete(replica)
    await this.fleet.startReplica(replica)
    await this.until(`replica ${replica} is ready`, () => this.#ready.has(replica))
  }

  op(atMs: number, kind: OpKind, user: string, topic?: string): Op {
    return { seq: this.#nextSeq++, atMs, kind, user, ...(topic !== undefined && { topic }) }
  }

  run(replica: number, ops: readonly Op[]): void {
    this.fleet.worker(replica)?.run(ops)
  }

  async numbers(replica: number): Promise<WorkerNumbers | undefined> {
    return this.fleet.worker(replica)?.numbers(PATIENCE_MS)
  }

  /** Until every running replica lists so many presences. */
  async untilListed(replicas: readonly number[], presences: number): Promise<void> {
    for (const replica of replicas) {
      await this.until(`replica ${replica} lists ${presences}`, async () => (await this.numbers(replica))?.presences === presences)
    }
  }

  async until(what: string, holds: () => boolean | Promise<boolean>, patienceMs = PATIENCE_MS): Promise<void> {
    const startMs = sharedNowMs()
    while (!(await holds())) {
      if (sharedNowMs() - startMs > patienceMs) {
        throw new Error(`waited ${patienceMs / 1_000} s in vain until ${what}`)
      }
      await setTimeout(20)
    }
  }

  #heard(observer: number, events: WorkerEvents): void {
    for (const [index, seq] of events.didSeqs.entries()) {
      this.doneMs.set(seq, events.didAtMs[index] as number)
    }
    for (const [index, topic] of events.topics.entries()) {
      if (events.kinds[index] === SAW_JOIN) {
        this.joins.push({ observer, place: `${topic} ${events.keys[index]}`, atMs: events.sawAtMs[index] as number })
      }
    }
    for (const { id, status, atMs } of events.judged) {
      this.judged.push({ observer, replica: this.fleet.indexOf(id), status, atMs })
    }
    if (events.failures.length > 0) {
      throw new Error(`an operation failed: ${JSON.stringify(events.failures[0])}`)
    }
  }
}
