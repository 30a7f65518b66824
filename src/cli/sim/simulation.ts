import { setTimeout } from 'node:timers/promises'
import { createRandom } from '../../tracker/environment.ts'
import type { TrackerOptions } from '../../tracker/options.ts'
import { messageOf } from '../errors.ts'
import { Checker } from './checks.ts'
import { compareAll } from './compare.ts'
import { Crowd } from './crowd.ts'
import { FaultDriver } from './fault-driver.ts'
import { type FaultKind, scheduleFaults } from './faults.ts'
import { Fleet, replicaName } from './fleet.ts'
import { Ledger } from './ledger.ts'
import { Measures } from './measures.ts'
import { type Bounds, Oracle } from './oracle.ts'
import { repeat } from './repeat.ts'
import { RunLog } from './run-log.ts'
import { sharedNowMs } from './shared-clock.ts'
import { StallWatch } from './stall-watch.ts'
import type { Trace } from './trace.ts'
import type { WorkerEvents } from './worker-protocol.ts'

/** One run. */
export interface SimulationOptions {
  readonly replicas: number
  readonly trace: Trace
  /** Times faster than the trace's own time. */
  readonly speed: number
  readonly runMs: number
  readonly faults: readonly FaultKind[]
  readonly faultEveryMs: number
  readonly seed: number
  readonly cluster: string
  readonly options: Omit<TrackerOptions, 'transport' | 'environment' | 'cluster'>
  readonly bounds: Bounds
  readonly signal: AbortSignal
  readonly progress: (phase: string, done: number, details: string) => void
}

const TICK_MS = 10
const CHECK_EVERY_MS = 2_000
const NUMBERS_EVERY_MS = 2_000
const ANSWER_MS = 5_000
const CLIENT_HEARTBEAT_MS = 1_000
const SETTLE_POLL_MS = 500

/** Drives a fleet with a trace and faults, and checks it. One use. */
export class Simulation {
  readonly log: RunLog
  readonly checker: Checker
  readonly measures: Measures
  readonly crowd: Crowd
  readonly driver: FaultDriver
  readonly fleet: Fleet
  readonly ledger = new Ledger()
  readonly #stalls = new StallWatch()
  readonly #options: SimulationOptions
  readonly #ready = new Set<number>()
  readonly #allReady = Promise.withResolvers<void>()
  #startMs = 0
  #nextEvent = 0
  #ops = 0

  constructor(options: SimulationOptions) {
    this.#options = options
    const oracle = new Oracle(this.ledger, options.bounds)
    this.checker = new Checker(this.ledger, oracle, replicaName)
    this.measures = new Measures(this.ledger, oracle, replicaName)
    this.crowd = new Crowd({ seed: options.seed, replicas: options.replicas, ledger: this.ledger })
    this.log = new RunLog(options.replicas)
    this.fleet = new Fleet({
      replicas: options.replicas,
      cluster: options.cluster,
      options: options.options,
      clientHeartbeatMs: CLIENT_HEARTBEAT_MS,
      listener: {
        events: (replica, events) => this.#heard(replica, events),
        ready: replica => this.#onReady(replica),
        crashed: (replica, detail) => this.checker.crashes.failed(`${replicaName(replica)} ended by itself: ${detail}`)
      }
    })
    this.driver = new FaultDriver(this.fleet, this.crowd, this.ledger)
  }

  /** Operations that clients were told to do. */
  get operations(): number {
    return this.#ops
  }

  /** Resolves when everything was checked, or `signal` aborted; the processes are gone then. */
  async run(): Promise<void> {
    try {
      this.#options.progress('starting', 0, `${this.#options.replicas} processes`)
      await this.fleet.start()
      await this.#allReady.promise
      this.#startMs = sharedNowMs()
      this.checker.startMs = this.#startMs
      this.log.begin(this.#startMs, this.fleet.totalBytes())
      await this.#drive()
      this.log.drove(sharedNowMs(), this.fleet.totalBytes())
      await this.#settle()
      this.measures.settle(Number.POSITIVE_INFINITY, this.#options.replicas)
      this.checker.crashes.passed(this.#options.replicas + this.driver.log.length)
      this.measures.reportLeaves(this.checker.falseLeaves)
    } finally {
      this.#stalls.stop()
      await this.fleet.stop()
    }
  }

  #onReady(replica: number): void {
    this.driver.ready(replica)
    this.#ready.add(replica)
    if (this.#ready.size === this.#options.replicas) {
      this.#allReady.resolve()
    }
  }

  async #drive(): Promise<void> {
    const { runMs, signal, progress } = this.#options
    const faults = this.#startFaults()
    const checks = repeat(CHECK_EVERY_MS, () => this.#check())
    const numbers = repeat(NUMBERS_EVERY_MS, () => this.#sample())
    for (;;) {
      const elapsedMs = sharedNowMs() - this.#startMs
      if (elapsedMs >= runMs || signal.aborted) {
        break
      }
      this.#feed(elapsedMs)
      progress('running', elapsedMs / runMs, this.#details())
      await setTimeout(TICK_MS)
    }
    checks.stop()
    numbers.stop()
    await Promise.all([checks.done, numbers.done])
    // Interrupted: what is broken stays so.
    await (signal.aborted ? undefined : faults)
  }

  #startFaults(): Promise<unknown> {
    const { faults, replicas, runMs, faultEveryMs, seed, signal } = this.#options
    const random = createRandom(`faults/${seed}`)
    const schedule = scheduleFaults({ kinds: faults, replicas, runMs, everyMs: faultEveryMs, random })
    const wait = (ms: number): Promise<void> => setTimeout(Math.max(0, ms), undefined, { signal }).catch(() => undefined)
    return Promise.all(
      schedule.map(async fault => {
        await wait(this.#startMs + fault.atMs - sharedNowMs())
        if (!signal.aborted) {
          await this.driver.run(fault, wait).catch(error => this.#broken(error))
        }
      })
    )
  }

  // A replica that cannot be started again ends nothing else: the report tells of it.
  #broken(error: unknown): void {
    if (!this.#options.signal.aborted) {
      this.checker.crashes.failed(messageOf(error))
    }
  }

  #feed(elapsedMs: number): void {
    const { trace, speed } = this.#options
    const nowMs = sharedNowMs()
    for (;;) {
      const event = trace.events[this.#nextEvent]
      if (event === undefined || event.ms / speed > elapsedMs) {
        break
      }
      this.#nextEvent++
      this.crowd.follow(event, nowMs)
    }
    this.#noteStalls()
    this.#send(nowMs)
    this.measures.settle(nowMs, this.fleet.size)
  }

  #send(nowMs: number): void {
    this.crowd.tick(nowMs)
    for (let replica = 0; replica < this.fleet.size; replica++) {
      const ops = this.crowd.outbox[replica] ?? []
      if (ops.length > 0) {
        this.crowd.outbox[replica] = []
        this.#ops += ops.length
        this.log.operations(nowMs, ops.length)
        this.fleet.worker(replica)?.run(ops)
      }
    }
  }

  #heard(replica: number, events: WorkerEvents): void {
    for (const { fromMs, toMs } of events.stalls) {
      // What a pause does to a process is in the log already.
      if (!this.driver.wasPaused(replica, fromMs, toMs)) {
        this.ledger.stalled(replica, fromMs, toMs)
      }
    }
    this.crowd.heard(events, sharedNowMs())
    this.measures.heard(replica, events, id => this.fleet.indexOf(id))
    this.log.heard(replica, events)
  }

  async #check(): Promise<void> {
    const { propagationMs, recoveryMs, detectionMs, graceMs } = this.#options.bounds
    const askedMs = sharedNowMs()
    const answers = await Promise.all(
      this.#answering().map(async replica => ({ replica, snapshot: await this.fleet.worker(replica)?.snapshot(ANSWER_MS) }))
    )
    // Judged when all have answered: an answer tells first how the process fared.
    this.#noteStalls()
    for (const { replica, snapshot } of answers) {
      if (snapshot === undefined) {
        this.ledger.stalled(replica, askedMs, sharedNowMs())
      } else {
        this.checker.during(replica, snapshot, `${((snapshot.atMs - this.#startMs) / 1_000).toFixed(1)} s`)
        this.log.listed(replica, snapshot)
      }
    }
    this.ledger.compact(sharedNowMs() - 4 * (propagationMs + recoveryMs + detectionMs + graceMs))
  }

  // All links pass this process.
  #noteStalls(): void {
    for (const { fromMs, toMs } of this.#stalls.take()) {
      this.ledger.stalled(-1, fromMs, toMs)
    }
  }

  async #sample(): Promise<void> {
    await Promise.all(
      this.#answering().map(async replica => {
        const numbers = await this.fleet.worker(replica)?.numbers(ANSWER_MS)
        if (numbers !== undefined) {
          this.log.numbers(replica, sharedNowMs(), numbers)
        }
      })
    )
  }

  // Asks until all are equal to the oracle twice in a row, or the promise is broken. A machine that stands still gets as much longer.
  async #settle(): Promise<void> {
    const { bounds, signal, progress } = this.#options
    const promisedMs = bounds.propagationMs + bounds.recoveryMs + bounds.detectionMs + bounds.graceMs - this.ledger.stallMs
    const beganMs = sharedNowMs()
    let differences: string[] = []
    for (let equalRounds = 0; equalRounds < 2 && !signal.aborted; ) {
      this.#send(sharedNowMs())
      differences = await compareAll(this.fleet, this.checker, this.crowd, ANSWER_MS)
      equalRounds = differences.length === 0 ? equalRounds + 1 : 0
      this.#noteStalls()
      const limitMs = promisedMs + this.ledger.stallMs
      const waitedMs = sharedNowMs() - beganMs
      if (waitedMs > limitMs) {
        break
      }
      progress(
        'settling',
        Math.min(1, waitedMs / limitMs),
        differences.length === 0 ? 'all equal' : `${differences.length} differences left`
      )
      await setTimeout(SETTLE_POLL_MS)
    }
    this.log.settled(sharedNowMs() - beganMs)
    if (!signal.aborted) {
      this.checker.equal.passed(this.fleet.size * this.ledger.spans.size)
    }
    for (const difference of differences) {
      this.checker.equal.failed(difference)
    }
  }

  // A paused process cannot answer, and one that is being started has nothing to say.
  #answering(): number[] {
    return Array.from({ length: this.fleet.size }, (_, replica) => replica).filter(
      replica => this.fleet.worker(replica) !== undefined && !this.driver.isPaused(replica)
    )
  }

  #details(): string {
    const active = this.driver.log.filter(record => record.endedMs === Number.POSITIVE_INFINITY).map(record => record.label)
    const p50 = this.measures.joinP50Ms
    return `${this.crowd.present} present, join p50 ${p50.toFixed(1)} ms${active.length > 0 ? `, ${active.join(', ')}` : ''}`
  }
}
