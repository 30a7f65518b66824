import type { ReplicaId } from '../../crdt/dot.ts'

/** Relays that are asked for one replica at most, while it is not known who is best. */
const MAX_RELAYS = 8
/** So many new counters decide who is best: whoever told most of them first. */
const TRIAL_BEATS = 4
/** How fast long gaps between new counters are forgotten: by a part of twenty with each counter. */
const GAP_MEMORY = 0.95
/** So many times the longest gap is no gap any more. */
const STALE_GAPS = 1.5
/** A gap is no longer than so many times the least one: what an outage taught must not let the next one go on until the replica is judged down. */
const MOST_LEASTS = 1.5

/** Which peers relay one replica: all, until it is known from whom its counters come first; then that one alone. */
export class RelayChoice {
  readonly #firsts = new Map<ReplicaId, number>()
  #best: ReplicaId | undefined
  #heardMs: number
  /** The longest time between two new counters, of late: it grows with the number of relays on the way. */
  #gapMs = 0

  constructor(nowMs: number) {
    this.#heardMs = nowMs
  }

  /** By whom it is heard; undefined while that is not decided. */
  get best(): ReplicaId | undefined {
    return this.#best
  }

  /** Those to ask, of those who hold it. */
  among(able: readonly ReplicaId[]): readonly ReplicaId[] {
    if (this.#best !== undefined && able.includes(this.#best)) {
      return [this.#best]
    }
    this.widen()
    return able.slice(0, MAX_RELAYS)
  }

  /** A counter was new that this peer told. @returns whether that has decided */
  heard(peer: ReplicaId, nowMs: number): boolean {
    this.#gapMs = Math.max(GAP_MEMORY * this.#gapMs, nowMs - this.#heardMs)
    this.#heardMs = nowMs
    if (this.#best !== undefined) {
      return false
    }
    this.#firsts.set(peer, (this.#firsts.get(peer) ?? 0) + 1)
    let trials = 0
    let most = 0
    let best = peer
    for (const [candidate, times] of this.#firsts) {
      trials += times
      if (times > most) {
        most = times
        best = candidate
      }
    }
    if (trials < TRIAL_BEATS) {
      return false
    }
    this.#best = best
    return true
  }

  /** @param leastMs below it no gap is too long */
  isStale(nowMs: number, leastMs: number): boolean {
    return nowMs - this.#heardMs >= Math.min(Math.max(leastMs, STALE_GAPS * this.#gapMs), MOST_LEASTS * leastMs)
  }

  /** Whoever was best is not any more. */
  widen(): void {
    if (this.#best !== undefined) {
      this.#best = undefined
      this.#firsts.clear()
    }
  }
}
