import type { ReplicaId } from '../../crdt/dot.ts'

/** Relays that are asked for one replica at most, while it is not known who is best. */
const MAX_RELAYS = 8
/** So many new counters decide who is best. */
const TRIAL_BEATS = 3

/** Which peers relay one replica: all, until it is known from whom its counters come first; then that one alone. */
export class RelayChoice {
  readonly #firsts = new Map<ReplicaId, number>()
  #best: ReplicaId | undefined
  #heardMs: number

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
    this.#heardMs = nowMs
    if (this.#best !== undefined) {
      return false
    }
    const times = (this.#firsts.get(peer) ?? 0) + 1
    this.#firsts.set(peer, times)
    if (times < TRIAL_BEATS) {
      return false
    }
    this.#best = peer
    return true
  }

  isStale(nowMs: number, staleMs: number): boolean {
    return nowMs - this.#heardMs >= staleMs
  }

  /** Whoever was best is not, or no longer. */
  widen(): void {
    this.#best = undefined
    this.#firsts.clear()
  }
}
