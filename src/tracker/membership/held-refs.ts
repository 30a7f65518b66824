import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'

/** A retired incarnation whose presences are still listed. */
export interface HeldRef {
  readonly ref: ReplicaRef
  readonly introducer: ReplicaId
  dropAtMs: number
}

/** Retired incarnations in their grace: a newer one of the id is here, and their sessions are about to come back. */
export class HeldRefs {
  readonly #held = new Map<string, HeldRef>()

  get size(): number {
    return this.#held.size
  }

  has(ref: ReplicaRef): boolean {
    return this.#held.has(refKey(ref))
  }

  hold(ref: ReplicaRef, introducer: ReplicaId, dropAtMs: number): void {
    this.#held.set(refKey(ref), { ref, introducer, dropAtMs })
  }

  /** Takes out those whose grace is over. */
  takeDue(nowMs: number): HeldRef[] {
    return this.#take(held => held.dropAtMs <= nowMs)
  }

  takeOf(id: ReplicaId): HeldRef[] {
    return this.#take(held => held.ref.id === id)
  }

  shift(byMs: number): void {
    for (const held of this.#held.values()) {
      held.dropAtMs += byMs
    }
  }

  #take(matches: (held: HeldRef) => boolean): HeldRef[] {
    const taken = [...this.#held.values()].filter(matches)
    for (const { ref } of taken) {
      this.#held.delete(refKey(ref))
    }
    return taken
  }
}
