import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'

/** How often links are looked at, in virtual ms: what is shorter excuses nothing. */
const LOOK_MS = 250

/**
 * Since when replicas reach each other without any fault between them.
 *
 * Two who know each other judge each other by their own link: while it is silent and not yet broken, that others hear the peer is no proof.
 */
export class Reachability {
  readonly #sim: Simulation
  /** When a pair was last seen without a good link. */
  readonly #badAtMs = new Map<string, number>()

  constructor(sim: Simulation) {
    this.#sim = sim
    this.#look()
  }

  /** Whether `one` has reached `two` for the last `forMs`: by their link, or, where they have none by design, through others. */
  reached(one: SimReplica, two: SimReplica, forMs: number): boolean {
    if (this.#sim.network.neighbours(one.name).includes(two.name)) {
      return this.#isGood(one, two, forMs)
    }
    const seen = [one]
    for (const at of seen) {
      if (at === two) {
        return true
      }
      seen.push(...this.#sim.replicas.filter(next => !seen.includes(next) && this.#isGood(at, next, forMs)))
    }
    return false
  }

  #isGood(one: SimReplica, two: SimReplica, forMs: number): boolean {
    const badAtMs = this.#badAtMs.get(nameOf(one, two)) ?? 0
    return this.#sim.nowMs - badAtMs >= forMs + LOOK_MS
  }

  #look(): void {
    const { replicas, network, nowMs } = this.#sim
    for (const [index, one] of replicas.entries()) {
      for (const two of replicas.slice(index + 1)) {
        const good =
          one.state === 'running' && two.state === 'running' && network.connected(one.name, two.name) && network.calm(one.name, two.name)
        if (!good) {
          this.#badAtMs.set(nameOf(one, two), nowMs)
        }
      }
    }
    this.#sim.schedule(LOOK_MS, () => this.#look())
  }
}

const nameOf = (one: SimReplica, two: SimReplica): string => (one.name < two.name ? `${one.name} ${two.name}` : `${two.name} ${one.name}`)
