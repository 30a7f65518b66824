import { setTimeout } from 'node:timers/promises'
import type { TrackerOptions } from '../../tracker/options.ts'
import { CommandError } from '../errors.ts'
import { Crowd } from '../sim/crowd.ts'
import { FaultDriver } from '../sim/fault-driver.ts'
import type { Fault } from '../sim/faults.ts'
import { Fleet, replicaName } from '../sim/fleet.ts'
import { Ledger, placeOf } from '../sim/ledger.ts'
import { Measures } from '../sim/measures.ts'
import { Oracle } from '../sim/oracle.ts'
import { sharedNowMs } from '../sim/shared-clock.ts'
import type { WorkerEvents, WorkerSnapshot } from '../sim/worker-protocol.ts'
import { type LivePage, openLivePage } from './live-page.ts'
import { Narrator, type Sentence } from './narrator.ts'
import { People } from './people.ts'
import type { DemoView, ReplicaCondition, SeenPerson } from './view.ts'

/** One run of the demo. */
export interface DemoOptions {
  readonly users: number
  readonly seed: number
  /** 0: until `signal` aborts. */
  readonly runMs: number
  readonly signal: AbortSignal
  readonly draw: (view: DemoView) => void
  readonly tell: (sentence: Sentence) => void
}

const REPLICAS = 3
/** Short, so that one sees a whole story in half a minute. */
const GRACE_MS = 6_000
const TRACKER_OPTIONS: Omit<TrackerOptions, 'transport' | 'environment' | 'cluster'> = { graceMs: GRACE_MS }
const TICK_MS = 50
const DRAW_EVERY_MS = 250
const STEP_EVERY_MS = 900
const FAULT_EVERY_MS = 9_000
const FIRST_FAULT_MS = 4_000
const ANSWER_MS = 1_000
const FAULTS: readonly { readonly kind: 'kill' | 'pause' | 'stop'; readonly lastsMs: number; readonly replica: number }[] = [
  { kind: 'kill', replica: 1, lastsMs: 4_000 },
  { kind: 'pause', replica: 2, lastsMs: 6_000 },
  { kind: 'stop', replica: 0, lastsMs: 4_000 },
  { kind: 'kill', replica: 2, lastsMs: 4_000 },
  { kind: 'pause', replica: 1, lastsMs: 6_000 },
  { kind: 'kill', replica: 0, lastsMs: 4_000 }
]

/** Three replicas as processes, people who come and go, faults in turn, and a live page. One use. */
export class Demo {
  readonly narrator: Narrator
  readonly #options: DemoOptions
  readonly #ledger = new Ledger()
  readonly #crowd: Crowd
  readonly #fleet: Fleet
  readonly #driver: FaultDriver
  readonly #measures: Measures
  readonly #people: People
  readonly #conditions: ReplicaCondition[] = Array.from({ length: REPLICAS }, () => 'starting')
  /** When the run is over, whatever ended it: no replica is started any more. */
  readonly #over = new AbortController()
  readonly #ready = Promise.withResolvers<void>()
  #opening: Promise<LivePage> | undefined
  #page: LivePage | undefined
  #snapshots: (WorkerSnapshot | undefined)[] = []
  #startMs = sharedNowMs()
  #faults = 0
  #isAsking = false

  constructor(options: DemoOptions) {
    this.#options = options
    const oracle = new Oracle(this.#ledger, { propagationMs: 5_000, recoveryMs: 15_000, detectionMs: 10_000, graceMs: GRACE_MS })
    this.#crowd = new Crowd({ seed: options.seed, replicas: REPLICAS, ledger: this.#ledger })
    this.#measures = new Measures(this.#ledger, oracle, replicaName)
    this.#people = new People(options.users, options.seed)
    this.narrator = new Narrator(this.#crowd, options.tell)
    this.#fleet = new Fleet({
      replicas: REPLICAS,
      cluster: `demo-${process.pid}`,
      options: TRACKER_OPTIONS,
      clientHeartbeatMs: 1_000,
      listener: {
        events: (replica, events) => this.#heard(replica, events),
        ready: replica => this.#onReady(replica),
        crashed: (replica, detail) => this.#ready.reject(new CommandError(`${replicaName(replica)} ended by itself: ${detail}`))
      }
    })
    this.#driver = new FaultDriver(this.#fleet, this.#crowd, this.#ledger)
  }

  /** Resolves when it is over and the processes are gone. */
  async run(): Promise<void> {
    const { signal } = this.#options
    signal.addEventListener('abort', () => this.#over.abort(), { once: true })
    try {
      await Promise.race([this.#start(), aborted(signal)])
      if (!signal.aborted) {
        await Promise.race([this.#drive(), aborted(signal)])
      }
    } finally {
      this.#over.abort()
      // A run that ended early may have begun to open it; one that failed by it has told so.
      const page = await this.#opening?.catch(() => undefined)
      await page?.stop()
      await this.#fleet.stop()
    }
  }

  async #start(): Promise<void> {
    this.#draw()
    await this.#fleet.start()
    await this.#ready.promise
    if (this.#over.signal.aborted) {
      return
    }
    this.#opening = this.#fleet.openObserver().then(openLivePage)
    this.#page = await this.#opening
    this.#draw()
    this.#startMs = sharedNowMs()
    this.narrator.say(0, 'good', 'Three servers run and know each other. People come in; each connects to one of them.')
    for (const step of this.#people.arrive()) {
      this.#crowd.follow(step, this.#startMs)
    }
  }

  async #drive(): Promise<void> {
    let nextStepMs = STEP_EVERY_MS
    let nextFaultMs = FIRST_FAULT_MS
    let nextDrawMs = 0
    for (let elapsedMs = 0; !this.#isOver(elapsedMs); elapsedMs = this.#elapsedMs) {
      if (elapsedMs >= nextStepMs) {
        nextStepMs = elapsedMs + STEP_EVERY_MS
        this.#step(elapsedMs)
      }
      if (elapsedMs >= nextFaultMs) {
        nextFaultMs = elapsedMs + FAULT_EVERY_MS
        void this.#breakSomething(elapsedMs)
      }
      this.#send()
      this.narrator.tick(elapsedMs)
      this.#measures.settle(sharedNowMs(), REPLICAS)
      if (elapsedMs >= nextDrawMs) {
        nextDrawMs = elapsedMs + DRAW_EVERY_MS
        void this.#look()
        this.#draw()
      }
      await setTimeout(TICK_MS)
    }
  }

  get #elapsedMs(): number {
    return sharedNowMs() - this.#startMs
  }

  #isOver(elapsedMs: number): boolean {
    return this.#options.signal.aborted || (this.#options.runMs > 0 && elapsedMs >= this.#options.runMs)
  }

  #step(elapsedMs: number): void {
    const steps = this.#people.step()
    for (const step of steps) {
      this.#crowd.follow(step, sharedNowMs())
    }
    const [first, second] = steps
    if (first === undefined) {
      return
    }
    const where = replicaName(Math.max(0, this.#crowd.replicaOf(first.user)))
    const words =
      second !== undefined
        ? `${first.user} goes from #${second.topic} to #${first.topic}`
        : first.kind === 'join'
          ? `${first.user} comes to #${first.topic}${this.#crowd.replicaOf(first.user) < 0 ? '' : `, by ${where}`}`
          : `${first.user} leaves #${first.topic}`
    this.narrator.say(elapsedMs, 'life', words)
  }

  async #breakSomething(elapsedMs: number): Promise<void> {
    const plan = FAULTS[this.#faults % FAULTS.length] as (typeof FAULTS)[number]
    if (this.#conditions.some(condition => condition !== 'up')) {
      return
    }
    this.#faults++
    const fault: Fault = { kind: plan.kind, replica: plan.replica, atMs: elapsedMs, untilMs: elapsedMs + plan.lastsMs }
    const observers = [0, 1, 2].filter(replica => replica !== plan.replica)
    this.narrator.begins(fault as Extract<Fault, { replica: number }>, observers, elapsedMs)
    this.#conditions[plan.replica] = plan.kind === 'kill' ? 'killed' : plan.kind === 'stop' ? 'stopped' : 'paused'
    const { signal } = this.#over
    const wait = (ms: number): Promise<void> => setTimeout(ms, undefined, { signal }).catch(() => undefined)
    await this.#driver.run(fault, wait).catch(() => undefined)
    if (signal.aborted) {
      return
    }
    this.#conditions[plan.replica] = 'up'
    const snapshot = await this.#fleet.worker(plan.replica)?.snapshot(ANSWER_MS)
    this.narrator.ends(fault as Extract<Fault, { replica: number }>, this.#elapsedMs, new Set(snapshot?.keys).size)
  }

  #onReady(replica: number): void {
    this.#driver.ready(replica)
    this.#conditions[replica] = 'up'
    if (this.#conditions.every(condition => condition === 'up')) {
      this.#ready.resolve()
    }
  }

  #heard(replica: number, events: WorkerEvents): void {
    this.#crowd.heard(events, sharedNowMs())
    this.#measures.heard(replica, events, id => this.#fleet.indexOf(id))
    const shifted = { ...events, judged: events.judged.map(judged => ({ ...judged, atMs: judged.atMs - this.#startMs })) }
    this.narrator.heard(replica, shifted, id => this.#fleet.indexOf(id))
  }

  #send(): void {
    this.#crowd.tick(sharedNowMs())
    for (let replica = 0; replica < REPLICAS; replica++) {
      const ops = this.#crowd.outbox[replica] ?? []
      if (ops.length > 0) {
        this.#crowd.outbox[replica] = []
        this.#fleet.worker(replica)?.run(ops)
      }
    }
  }

  async #look(): Promise<void> {
    if (this.#isAsking) {
      return
    }
    this.#isAsking = true
    const asked = this.#conditions.map((condition, replica) =>
      condition === 'up' ? this.#fleet.worker(replica)?.snapshot(ANSWER_MS) : undefined
    )
    this.#snapshots = await Promise.all(asked)
    this.#isAsking = false
  }

  #draw(): void {
    const seenBy = this.#snapshots.findIndex(snapshot => snapshot !== undefined)
    const views = this.#snapshots.filter(snapshot => snapshot !== undefined).map(snapshot => fingerprint(snapshot as WorkerSnapshot))
    this.#options.draw({
      elapsedMs: this.#startMs === 0 ? 0 : this.#elapsedMs,
      page: this.#page?.url,
      replicas: this.#conditions.map((condition, replica) => ({
        condition,
        connections: this.#crowd.usersOn(replica).length,
        listed: condition === 'up' ? this.#snapshots[replica]?.topics.length : undefined
      })),
      seenBy,
      topics: this.#topics(this.#snapshots[seenBy]),
      agree: new Set(views).size <= 1,
      joinP50Ms: this.#measures.joinP50Ms,
      story: this.narrator.sentences
    })
  }

  #topics(snapshot: WorkerSnapshot | undefined): Map<string, SeenPerson[]> {
    const topics = new Map<string, SeenPerson[]>()
    for (const [index, topic] of (snapshot?.topics ?? []).entries()) {
      const people = topics.get(topic) ?? []
      topics.set(topic, people)
      people.push({
        user: snapshot?.keys[index] as string,
        replica: this.#fleet.indexOf(snapshot?.replicas[index] as string),
        unknown: snapshot?.unknown[index] === true
      })
    }
    for (const people of topics.values()) {
      people.sort((a, b) => (a.user < b.user ? -1 : 1))
    }
    return new Map([...topics].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

const fingerprint = ({ topics, keys }: WorkerSnapshot): string =>
  topics
    .map((topic, index) => placeOf(topic, keys[index] as string))
    .sort()
    .join('\n')

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) {
      resolve()
    } else {
      signal.addEventListener('abort', () => resolve(), { once: true })
    }
  })
