import type { SimulatedTransport } from '../net/simulated/simulated-transport.ts'
import type { SimulatedNetwork } from '../net/simulated-network.ts'
import type { Random } from '../tracker/environment.ts'
import { createTracker } from '../tracker/tracker.ts'
import type { Diff, Tracker } from '../tracker/types.ts'
import type { Engine } from './engine.ts'
import { diffLine } from './message-line.ts'
import type { SimTrackerOptions } from './simulation-options.ts'
import { ViewCheck } from './view-check.ts'
import { VirtualProcess } from './virtual-process.ts'

/** A user came or went, as one replica told its own users. */
export interface Transition {
  readonly type: 'online' | 'offline'
  readonly user: string
  /** Virtual time in ms. */
  readonly atMs: number
}

/** One replica of a simulation, over all its lives. */
export interface SimReplica {
  /** `a`, `b`, `c` …: its address in the network. */
  readonly name: string
  /** Its id: the name, until it is restarted with `newId`. */
  readonly id: string
  /** The tracker of its current life, or of the last one when it is dead. */
  readonly tracker: Tracker
  /** What its process is doing. */
  readonly state: 'running' | 'paused' | 'dead'
  /** Its monotonic clock, in ms from an origin of its own. */
  mono(): number
  /** Its wall clock, in ms since 1970. */
  wall(): number
}

/**
 * The replicas of a simulation. Typed so that `const [a, b, c] = sim.replicas` gives replicas, not perhaps undefined; those beyond the
 * number that was asked for are undefined all the same.
 */
export type SimReplicas = readonly SimReplica[] & { readonly [I in 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9]: SimReplica }

export interface SimulatedReplicaInit {
  readonly name: string
  readonly id: string
  readonly network: SimulatedNetwork
  readonly engine: Engine
  readonly random: Random
  readonly options: SimTrackerOptions
  readonly wallClockMs: number
}

interface Life {
  readonly id: string
  readonly process: VirtualProcess
  readonly transport: SimulatedTransport
  readonly tracker: Tracker
  readonly diffs: Diff[]
  readonly transitions: Transition[]
  readonly view: ViewCheck
}

const REPLICA_EVENTS = [
  'replica:up',
  'replica:suspect',
  'replica:down',
  'replica:permdown',
  'replica:duplicate',
  'replica:diverged',
  'isolated'
] as const

/** Without the token, which is costly and built only for those who read it. */
function partsOf({ topic, cause, joins, leaves, updates, moves, replicas }: Diff): object {
  return { topic, cause, joins, leaves, updates, moves, replicas }
}

/** Runs the real tracker in a virtual process, and writes down what it tells its users. */
export class SimulatedReplica implements SimReplica {
  readonly name: string
  readonly #init: SimulatedReplicaInit
  #life: Life
  #lives = 0

  constructor(init: SimulatedReplicaInit) {
    this.name = init.name
    this.#init = init
    this.#life = this.#live(init.id, init.wallClockMs)
  }

  get id(): string {
    return this.#life.id
  }

  get tracker(): Tracker {
    return this.#life.tracker
  }

  get state(): 'running' | 'paused' | 'dead' {
    return this.#life.process.state
  }

  get process(): VirtualProcess {
    return this.#life.process
  }

  get transport(): SimulatedTransport {
    return this.#life.transport
  }

  get diffs(): readonly Diff[] {
    return this.#life.diffs
  }

  get transitions(): readonly Transition[] {
    return this.#life.transitions
  }

  get view(): ViewCheck {
    return this.#life.view
  }

  mono(): number {
    return this.#life.process.monotonicMs()
  }

  wall(): number {
    return this.#life.process.wallClockMs()
  }

  kill(silent: boolean): void {
    this.#life.process.kill()
    this.#init.network.crash(this.#life.transport, { silent })
    this.#note('killed')
  }

  /** The process exits by itself. */
  end(): void {
    this.#life.process.kill()
    this.#note('ended')
  }

  /** A new process; the one before must be dead. `newId`: a name, or true for one that was not there yet. */
  restart(newId: boolean | string, wallClockMs: number): void {
    const id = typeof newId === 'string' ? newId : newId ? `${this.name}.${this.#lives}` : this.id
    this.#life = this.#live(id, wallClockMs)
    this.#note(`restarted as ${id}`)
  }

  sizes(): Readonly<Record<string, number>> {
    const { tracker, process, transport } = this.#life
    const links = [...transport.ends]
    const queuedBytes = links.reduce((sum, end) => sum + end.queuedBytes, 0)
    return { ...tracker.stats(), timers: process.timers, links: links.length, queuedBytes }
  }

  #note(what: string, detail?: object, line?: () => string): void {
    const { trace, clock } = this.#init.engine
    const text = detail === undefined ? what : `${what} ${JSON.stringify(detail)}`
    trace.mix(clock.nowMs, this.name, text)
    trace.remember(this.name, clock.nowMs, line ?? (() => text))
  }

  #live(id: string, wallClockMs: number): Life {
    const { engine, network, options } = this.#init
    const random = this.#init.random.fork(String(this.#lives++))
    const process = new VirtualProcess({ clock: engine.clock, random, wallClockMs, onRan: () => engine.ran(this) })
    const transport = network.join(this.name, id, process)
    const tracker = createTracker({ ...options, transport, environment: process.environment })
    const life: Life = { id, process, transport, tracker, diffs: [], transitions: [], view: new ViewCheck(tracker) }
    this.#listen(life)
    void tracker.start()
    return life
  }

  #listen({ tracker, diffs, transitions, view }: Life): void {
    const { engine } = this.#init
    tracker.addEventListener('diff', ({ detail }) => {
      diffs.push(detail)
      this.#note('diff', partsOf(detail), () => diffLine(detail))
      engine.report(this.name, view.diff(detail))
      for (const observer of engine.observers) {
        observer.diff?.(this, detail)
      }
    })
    for (const type of ['online', 'offline'] as const) {
      tracker.addEventListener(type, ({ detail: { user } }) => {
        const transition = { type, user, atMs: engine.clock.nowMs }
        transitions.push(transition)
        this.#note(type, { user })
        engine.report(this.name, view.transition(transition))
        for (const observer of engine.observers) {
          observer.transition?.(this, transition)
        }
      })
    }
    for (const name of REPLICA_EVENTS) {
      tracker.addEventListener(name, ({ detail }) => {
        this.#note(name, detail)
        for (const observer of engine.observers) {
          observer.judged?.(this, name, detail)
        }
      })
    }
    tracker.addEventListener('replica:diverged', ({ detail: { id } }) => {
      engine.report(this.name, [{ invariant: 'I6', finding: `the record of ${id} is not what ${id} says, at the same head` }])
    })
    tracker.addEventListener('error', ({ detail: { error } }) => {
      this.#note('error', { error: String(error) })
      // What the tracker has to tell carries a code; all else was thrown by something that should not throw.
      if (!String((error as { code?: unknown })?.code).startsWith('ERR_')) {
        engine.report(this.name, [{ invariant: 'error', finding: error instanceof Error ? String(error.stack) : String(error) }])
      }
    })
  }
}
