import type { Message } from '../tracker/messages.ts'
import type { Diff, Presence, Tracker } from '../tracker/types.ts'
import { InvariantError } from './invariant-error.ts'
import { macrotask } from './macrotask.ts'
import { NotSettledError } from './not-settled-error.ts'
import type { SimReplica, SimulatedReplica, Transition } from './simulated-replica.ts'
import { Trace } from './trace.ts'
import type { Finding } from './view-check.ts'
import { VirtualClock } from './virtual-clock.ts'

/** How often a condition is looked at, in virtual ms: at first, and in parts of what has passed. */
const LOOK_MS = 5
const LOOKS = 20

/** Looks on while a simulation runs. What it finds it reports to `fail`; then the run throws. */
export interface SimObserver {
  /** A task of the replica ran, and all promises that it settled. `listed` gives all that it lists now. */
  stepped?(replica: SimReplica, listed: () => Listing): void
  /** The replica told its users of a change; what it lists has changed already. */
  diff?(replica: SimReplica, diff: Diff): void
  transition?(replica: SimReplica, transition: Transition): void
  /** The replica judged another one: `replica:up`, `replica:suspect`, `replica:down` …, or `isolated`. */
  judged?(replica: SimReplica, name: string, detail: object): void
  /** A frame was read. */
  delivered?(from: string, to: string, message: Message): void
}

/** Everything that a replica lists, by topic. */
export type Listing = ReadonlyMap<string, readonly Presence[]>

/** Lets virtual time pass, event by event, and stops at the first thing that is wrong. */
export class Engine {
  readonly seed: number | string
  readonly clock = new VirtualClock()
  readonly trace = new Trace()
  readonly #checksSteps: boolean
  readonly #touched = new Set<SimulatedReplica>()
  #running = false
  #failure: InvariantError | undefined
  readonly observers: SimObserver[] = []

  constructor(seed: number | string, checksSteps: boolean) {
    this.seed = seed
    this.#checksSteps = checksSteps
  }

  /** A task of `replica` ran: it is looked at when the event is over. */
  ran(replica: SimulatedReplica): void {
    this.#touched.add(replica)
  }

  /** The first finding of a run is thrown from it; others are its consequences. */
  report(replica: string, findings: readonly Finding[]): void {
    const first = findings[0]
    if (first !== undefined && this.#failure === undefined) {
      const { invariant, finding } = first
      this.#failure = new InvariantError({
        invariant,
        replica,
        finding,
        atMs: this.clock.nowMs,
        seed: this.seed,
        trace: this.trace.print()
      })
    }
  }

  /** @throws InvariantError what was reported; it stays reported */
  throwFailure(): void {
    if (this.#failure !== undefined) {
      throw this.#failure
    }
  }

  /** Runs all events up to `untilMs`, or until `done`. */
  async runUntil(untilMs: number, done: () => boolean): Promise<void> {
    if (this.#running) {
      throw new Error('time passes already: await the run before')
    }
    this.#running = true
    try {
      await this.#afterEvent()
      while (!done() && this.clock.step(untilMs)) {
        await this.#afterEvent()
      }
    } finally {
      this.#running = false
    }
  }

  /** Runs until `missing` gives undefined, looking ever less often; throws with what is missing after `withinMs`. */
  async lookUntil(withinMs: number, missing: () => string | undefined): Promise<void> {
    const startMs = this.clock.nowMs
    const endMs = startMs + withinMs
    await this.runUntil(this.clock.nowMs, () => false)
    for (;;) {
      const still = missing()
      if (still === undefined) {
        return
      }
      if (this.clock.nowMs >= endMs) {
        throw new NotSettledError({ missing: still, withinMs, atMs: this.clock.nowMs, seed: this.seed, trace: this.trace.print() })
      }
      const pauseMs = Math.max(LOOK_MS, (this.clock.nowMs - startMs) / LOOKS)
      await this.runUntil(Math.min(endMs, this.clock.nowMs + pauseMs), () => false)
    }
  }

  #look(replica: SimulatedReplica): void {
    let listing: Listing | undefined
    const listed = (): Listing => {
      listing ??= listingOf(replica.tracker)
      return listing
    }
    if (this.#checksSteps) {
      this.report(replica.name, replica.view.step(listed))
    }
    for (const observer of this.observers) {
      observer.stepped?.(replica, listed)
    }
  }

  async #afterEvent(): Promise<void> {
    await macrotask()
    for (const replica of this.#touched) {
      if (replica.state !== 'dead') {
        this.#look(replica)
      }
    }
    this.#touched.clear()
    this.throwFailure()
  }
}

/** Asked only once per step: a list costs as much as it is long. */
export function listingOf(tracker: Tracker): Listing {
  return new Map([...tracker.topics().keys()].map(topic => [topic, [...tracker.list(topic).values()].flat()]))
}
