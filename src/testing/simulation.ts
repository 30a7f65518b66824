import { SimulatedNetwork } from '../net/simulated-network.ts'
import { type Cancel, createRandom, type Random } from '../tracker/environment.ts'
import type { Diff, StopOptions } from '../tracker/types.ts'
import { Engine, type SimObserver } from './engine.ts'
import { whatDiffers, whatIsMissing } from './level.ts'
import { messageLine } from './message-line.ts'
import { NetworkScript } from './network-script.ts'
import { type SimReplica, type SimReplicas, SimulatedReplica, type Transition } from './simulated-replica.ts'
import { replicaName, resolveTopology, type SimTrackerOptions, type SimulationOptions, WALL_CLOCK_MS } from './simulation-options.ts'

/**
 * Several real trackers in one process, under virtual time and on a simulated network. The same seed and the same calls give the same run, to
 * the byte: `traceHash`.
 *
 * Time passes only in `run`, `settle`, `converge`, `until` and `stop`; all other calls take effect at once.
 */
export class Simulation extends NetworkScript {
  readonly seed: number | string
  /** In the order of their names. A replica stays the same object over all its lives. */
  readonly replicas: SimReplicas
  readonly network: SimulatedNetwork
  /** For the script: draws from it do not disturb the replicas. */
  readonly random: Random
  readonly engine: Engine
  readonly #replicas: SimulatedReplica[] = []
  readonly #names: string[] = []
  readonly #options: SimulationOptions
  readonly #wallClockMs: number

  /** Use `createSimulation`. */
  constructor(options: SimulationOptions) {
    super()
    this.seed = options.seed ?? 1
    this.replicas = this.#replicas as readonly SimReplica[] as SimReplicas
    this.#options = options
    this.#wallClockMs = options.wallClockMs ?? WALL_CLOCK_MS
    this.random = createRandom(this.seed).fork('script')
    this.engine = new Engine(this.seed, options.checks !== 'manual')
    this.network = this.#createNetwork()
    const count = options.replicas ?? 3
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new RangeError(`replicas is ${count}, allowed is an integer from 1`)
    }
    for (let index = 0; index < count; index++) {
      this.#names.push(replicaName(index))
    }
    for (const name of this.#names) {
      this.#join(name, name, {})
    }
  }

  /** Virtual ms since the simulation began. */
  get nowMs(): number {
    return this.engine.clock.nowMs
  }

  /** Its process stands still. */
  pause(replica: SimReplica): void {
    own(replica).process.pause()
  }

  resume(replica: SimReplica): void {
    own(replica).process.resume()
  }

  /** SIGKILL: no goodbye. Its links close shortly after, unless its machine dies with it (`silent`). */
  kill(replica: SimReplica, { silent = false }: { silent?: boolean } = {}): void {
    own(replica).kill(silent)
  }

  /** Stops the tracker with a goodbye, and ends the process. */
  async stop(replica: SimReplica, options?: StopOptions): Promise<void> {
    await this.until(replica.tracker.stop(options))
    this.end(replica)
  }

  /** Its process exits, after its tracker was stopped. */
  end(replica: SimReplica): void {
    own(replica).end()
  }

  /** A new process in its place, after killing the one there is. Its wall clock: as if nothing had happened, or `wallClockMs`. */
  restart(replica: SimReplica, { wallClockMs, newId = false }: { wallClockMs?: number; newId?: boolean | string } = {}): void {
    if (replica.state !== 'dead') {
      this.kill(replica)
    }
    own(replica).restart(newId, wallClockMs ?? replica.wall())
  }

  /** One more replica, under the next name. With the `id` of another it is that one's twin. */
  add({ options = {}, id }: { options?: SimTrackerOptions; id?: string } = {}): SimReplica {
    const name = replicaName(this.#replicas.length)
    this.#names.push(name)
    return this.#join(name, id ?? name, options)
  }

  /** Its wall clock jumps, forwards or back. */
  shiftWallClock(replica: SimReplica, byMs: number): void {
    own(replica).process.shiftWallClock(byMs)
  }

  /**
   * Virtual time passes: `ms` of it.
   *
   * @throws InvariantError when a replica showed what it must not show; or what the code of a replica threw
   */
  run(ms: number): Promise<void> {
    return this.engine.runUntil(this.nowMs + ms, () => false)
  }

  /** Runs until `promise` is settled, and gives what it gives. Throws when it is not after `withinMs` (60,000). */
  async until<T>(promise: Promise<T>, { withinMs = 60_000 }: { withinMs?: number } = {}): Promise<T> {
    let settled = false
    const settle = (): void => {
      settled = true
    }
    promise.then(settle, settle)
    await this.engine.runUntil(this.nowMs + withinMs, () => settled)
    if (!settled) {
      throw new Error(`the promise is not settled after ${withinMs} ms of virtual time`)
    }
    return promise
  }

  /**
   * Heals nothing; runs until no state is in flight: all frames read, all possible links open, and all replicas that reach each other
   * on the same events. Throws NotSettledError when that is not so after `withinMs` (60,000).
   */
  settle({ withinMs = 60_000 }: { withinMs?: number } = {}): Promise<void> {
    return this.engine.lookUntil(withinMs, () => this.missing())
  }

  /** As `settle`, and until all replicas that reach each other list the same (I1). Throws NotSettledError with the difference after `withinMs` (60,000). */
  converge({ withinMs = 60_000 }: { withinMs?: number } = {}): Promise<void> {
    return this.engine.lookUntil(withinMs, () => this.missing() ?? this.differing())
  }

  /** What `settle` still waits for, in words; undefined when nothing is in flight. */
  missing(): string | undefined {
    return whatIsMissing(this.network, this.#replicas)
  }

  /** What replicas that reach each other list differently, in words; undefined when nothing. */
  differing(): string | undefined {
    return whatDiffers(this.network, this.#replicas)
  }

  /** Every diff that the replica told in its present life. */
  diffs(replica: SimReplica): readonly Diff[] {
    return own(replica).diffs
  }

  /** Who came online and went offline, as the replica told it in its present life. */
  transitions(replica: SimReplica): readonly Transition[] {
    return own(replica).transitions
  }

  /** Counts of what a replica keeps: its tracker's `stats()`, `timers`, `links`, and `queuedBytes` in those. */
  sizes(replica: SimReplica): Readonly<Record<string, number>> {
    return own(replica).sizes()
  }

  /** Compares, on every running replica, what it lists with what it told (I2, I3). @throws InvariantError */
  checkInvariants(): void {
    for (const replica of this.#replicas) {
      if (replica.state === 'running') {
        this.engine.report(replica.name, replica.view.all())
      }
    }
    this.engine.throwFailure()
  }

  /** Looks on from now on: invariants of your own. */
  observe(observer: SimObserver): void {
    this.engine.observers.push(observer)
  }

  /** The script found something wrong: the run throws it as an InvariantError. */
  fail(replica: SimReplica, invariant: string, finding: string): void {
    this.engine.report(replica.name, [{ invariant, finding }])
  }

  /** Runs `task` after `delayMs`, as the outside world: no process has to be running. */
  schedule(delayMs: number, task: () => void): Cancel {
    return this.engine.clock.after(delayMs, task)
  }

  /** Something reaches the process from outside, as a client's request does: `task` runs now, when it goes on, or never. */
  request(replica: SimReplica, task: () => void): void {
    own(replica).process.input(task)
  }

  /** Of all frames that were read, and all that was told, so far: 16 hexadecimal digits. */
  traceHash(): string {
    return this.engine.trace.hash
  }

  #createNetwork(): SimulatedNetwork {
    const { clock, trace } = this.engine
    return new SimulatedNetwork({
      ...this.#options.network,
      topology: resolveTopology(this.#options.topology ?? 'mesh', this.#names),
      environment: {
        monotonicMs: () => clock.nowMs,
        wallClockMs: () => this.#wallClockMs + clock.nowMs,
        random: createRandom(this.seed).fork('network'),
        schedule: (delayMs, task) => clock.after(delayMs, task)
      },
      onDelivered: ({ from, to, message, bytes }) => {
        trace.mix(clock.nowMs, from, to, bytes)
        trace.remember(to, clock.nowMs, () => `${from}: ${messageLine(message)}`)
        for (const observer of this.engine.observers) {
          observer.delivered?.(from, to, message)
        }
      }
    })
  }

  #join(name: string, id: string, options: SimTrackerOptions): SimulatedReplica {
    const { options: given = {} } = this.#options
    const replica = new SimulatedReplica({
      name,
      id,
      network: this.network,
      engine: this.engine,
      random: createRandom(this.seed).fork(`replica/${name}`),
      options: { ...(typeof given === 'function' ? given(name) : given), ...options },
      wallClockMs: this.#wallClockMs + this.nowMs
    })
    this.#replicas.push(replica)
    return replica
  }
}

const own = (replica: SimReplica): SimulatedReplica => replica as SimulatedReplica

/**
 * A simulation with its replicas started.
 *
 * @example
 * const sim = createSimulation({ seed: 1, replicas: 3 })
 * const [a, b] = sim.replicas
 */
export function createSimulation(options: SimulationOptions = {}): Simulation {
  return new Simulation(options)
}
