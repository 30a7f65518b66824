import type { ReplicaId, ReplicaRef } from '../../crdt/dot.ts'

interface Grave {
  readonly incarnation: number
  readonly untilMs: number
  readonly introducer: ReplicaId
}

export interface GraveyardOptions {
  /** How long a burial lasts: as long as others may still hold the replica. */
  readonly keepMs: number
  /** Graves in all; the oldest make room. */
  readonly limit: number
  /** Graves of ids that one member introduced; its oldest make room. */
  readonly quota: number
}

/**
 * The highest incarnation per id whose state was dropped here for good. Members collect the dead at different times: without it,
 * one who has not yet would bring them back. INV-34: nothing of a buried incarnation is taken from anybody.
 */
export class Graveyard {
  readonly #options: GraveyardOptions
  /** In the order of burial. */
  readonly #graves = new Map<ReplicaId, Grave>()
  readonly #perIntroducer = new Map<ReplicaId, number>()

  constructor(options: GraveyardOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#graves.size
  }

  /** @param introducer who first told of the id: the replica itself, or a relay */
  bury(ref: ReplicaRef, introducer: ReplicaId, nowMs: number): void {
    const incarnation = Math.max(ref.incarnation, this.incarnation(ref.id))
    this.#remove(ref.id)
    if ((this.#perIntroducer.get(introducer) ?? 0) >= this.#options.quota) {
      this.#removeOldest(grave => grave.introducer === introducer)
    }
    if (this.#graves.size >= this.#options.limit) {
      this.#removeOldest(() => true)
    }
    this.#graves.set(ref.id, { incarnation, untilMs: nowMs + this.#options.keepMs, introducer })
    this.#perIntroducer.set(introducer, (this.#perIntroducer.get(introducer) ?? 0) + 1)
  }

  /** The highest buried incarnation, −1 when none is. */
  incarnation(id: ReplicaId): number {
    return this.#graves.get(id)?.incarnation ?? -1
  }

  has(ref: ReplicaRef): boolean {
    return ref.incarnation <= this.incarnation(ref.id)
  }

  /** Graves lie in the order of burial and all last equally long: the walk ends at the first that stays. */
  expire(nowMs: number): void {
    for (const [id, grave] of this.#graves) {
      if (grave.untilMs > nowMs) {
        return
      }
      this.#remove(id)
    }
  }

  #removeOldest(matches: (grave: Grave) => boolean): void {
    for (const [id, grave] of this.#graves) {
      if (matches(grave)) {
        this.#remove(id)
        return
      }
    }
  }

  #remove(id: ReplicaId): void {
    const grave = this.#graves.get(id)
    if (grave === undefined) {
      return
    }
    this.#graves.delete(id)
    const left = (this.#perIntroducer.get(grave.introducer) ?? 1) - 1
    if (left === 0) {
      this.#perIntroducer.delete(grave.introducer)
    } else {
      this.#perIntroducer.set(grave.introducer, left)
    }
  }
}
