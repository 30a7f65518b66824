import type { Random } from '../tracker/environment.ts'
import type { Presence, WatchEvent } from '../tracker/types.ts'
import type { Listing, SimObserver } from './engine.ts'
import { differences } from './fold.ts'
import { watchLine } from './message-line.ts'
import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'
import { WatchFold } from './watch-fold.ts'

/** How often a replica is looked at that told nothing. */
const EVERY_SILENT = 8

/** Somebody who follows one topic by `watch`, and hops from replica to replica with the token of the last event. */
class Watcher {
  readonly name: string
  readonly topic: string
  readonly fold = new WatchFold()
  replica: SimReplica
  tracker: SimReplica['tracker']
  #last: WatchEvent | undefined
  #abort = new AbortController()
  /** It was told where it stands, by the replica that it watches now. */
  level = false

  /** Told of every event, with a line that describes it. */
  readonly #note: (watcher: Watcher, line: () => string) => void

  constructor(name: string, topic: string, replica: SimReplica, note: (watcher: Watcher, line: () => string) => void) {
    this.name = name
    this.topic = topic
    this.#note = note
    this.replica = replica
    this.tracker = replica.tracker
  }

  /** Watches at `replica` from where it stands; `fresh`: as one who has no token. */
  watch(replica: SimReplica, fresh: boolean): void {
    // With a reason of its own: a DOMException costs its stack.
    this.#abort.abort('hopped')
    this.#abort = new AbortController()
    this.replica = replica
    this.tracker = replica.tracker
    this.level = false
    // The token is built when it is read: it must be that of its event however late that is.
    const since = fresh ? undefined : this.#last?.token
    this.#note(this, () => (since === undefined ? 'comes without a token' : 'comes with a token'))
    void this.#follow(replica.tracker.watch(this.topic, { signal: this.#abort.signal, ...(since !== undefined && { since }) }))
  }

  async #follow(events: AsyncIterable<WatchEvent>): Promise<void> {
    try {
      for await (const event of events) {
        this.fold.apply(event)
        this.#note(this, () => watchLine(event))
        this.#last = event
        this.level = true
      }
    } catch (error) {
      if ((error as { code?: string }).code !== 'BEHIND') {
        throw error
      }
    }
    this.level = false
  }
}

export interface WatchersOptions {
  readonly watchers: number
  readonly topics: number
  /** A watcher hops after at most so long. */
  readonly hopWithinMs: number
}

/**
 * Watchers of a run. After every step of the replica that one watches, what it was told is what that replica lists: over any number of hops, with
 * diffs only (E1, E4).
 */
export class Watchers implements SimObserver {
  readonly #sim: Simulation
  readonly #random: Random
  readonly #all: Watcher[]
  readonly #hopWithinMs: number
  readonly #told = new Set<SimReplica>()
  #steps = 0

  constructor(sim: Simulation, options: WatchersOptions) {
    this.#sim = sim
    this.#random = sim.random.fork('watchers')
    this.#hopWithinMs = options.hopWithinMs
    this.#all = Array.from(
      { length: options.watchers },
      (_, index) => new Watcher(`w${index}`, `t${index % options.topics}`, sim.replicas[0], (watcher, line) => this.#note(watcher, line))
    )
    for (const watcher of this.#all) {
      this.#hop(watcher)
    }
    sim.observe(this)
  }

  diff(replica: SimReplica): void {
    this.#told.add(replica)
  }

  stepped(replica: SimReplica, listed: () => Listing): void {
    if (!this.#told.delete(replica) && ++this.#steps % EVERY_SILENT !== 0) {
      return
    }
    for (const watcher of this.#all) {
      if (watcher.replica === replica && watcher.tracker === replica.tracker && watcher.level) {
        const listing = listed().get(watcher.topic) ?? []
        if (!watcher.fold.shows(listing)) {
          const difference = differences(watcher.fold.presences(), listing, lineWithoutPrev)
          this.#sim.fail(replica, 'E4', `watcher ${watcher.name} of ${watcher.topic} was told (+) and the list is (-):\n${difference}`)
        }
      }
    }
  }

  #note({ name, replica }: Watcher, line: () => string): void {
    this.#sim.engine.trace.remember(replica.name, this.#sim.nowMs, () => `${name} ${line()}`)
  }

  #hop(watcher: Watcher): void {
    const replica = this.#sim.replicas[this.#random.below(this.#sim.replicas.length)] as SimReplica
    const fresh = this.#random.below(10) === 0
    if (replica.state === 'running') {
      this.#sim.request(replica, () => watcher.watch(replica, fresh))
    }
    this.#sim.schedule(this.#random.below(this.#hopWithinMs), () => this.#hop(watcher))
  }
}

/** Which ref was there before the last update is known only to those who saw the update. */
const lineWithoutPrev = ({ key, ref, user, meta, replica, state, joinedAt }: Presence): string =>
  `${key} ${ref} user ${user} at ${replica} ${state} since ${joinedAt} ${JSON.stringify(meta)}`
